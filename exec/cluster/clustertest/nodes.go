package clustertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/transport"
)

// Cluster is a driver, named "driver", and its agents, "agent0" and so on. They end with the test,
// or before it by Close and Kill.
type Cluster struct {
	*cluster.Driver
	Kill []context.CancelFunc // of agents

	t       testing.TB
	options func(name string) cluster.Options
	served  sync.WaitGroup
}

// Start starts a driver and agents, and waits until it knows those that have no other parent. Node
// connects them. Set completes the options of each, which gets a runtime of two workers if it has
// none.
func Start(t testing.TB, node func(name string) (transport.Transport, error), agents int, set func(*cluster.Options)) *Cluster {
	t.Helper()
	direct := 0
	n := &Cluster{t: t, options: func(name string) cluster.Options {
		t.Helper()
		tr, err := node(name)
		if err != nil {
			t.Fatal(err)
		}
		o := cluster.Options{Transport: tr}
		if set(&o); o.Parent == "" {
			direct++
		}
		if o.Runtime == nil {
			rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { rt.Close() })
			o.Runtime = rt
		}
		return o
	}}
	t.Cleanup(func() {
		if n.Driver != nil {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, kill := range n.Kill {
			kill()
		}
		n.served.Wait()
	})
	for range agents {
		n.More()
	}
	var err error
	if n.Driver, err = cluster.NewDriver(n.options("driver")); err != nil {
		t.Fatal(err)
	}
	if err := n.Await(t.Context(), direct-1); err != nil { // one is the driver
		t.Fatal(err)
	}
	return n
}

// More starts another agent.
func (n *Cluster) More() {
	n.t.Helper()
	o := n.options(fmt.Sprint("agent", len(n.Kill)))
	ctx, cancel := context.WithCancel(context.Background())
	n.Kill = append(n.Kill, cancel)
	n.served.Go(func() {
		if err := cluster.Serve(ctx, o); !errors.Is(err, context.Canceled) {
			n.t.Errorf("Serve: %v", err)
		}
	})
}

// Traffic returns the bytes that the nodes of d have fetched, and those from the driver and to it.
func Traffic(d *cluster.Driver) (all, driver int64) {
	for _, u := range d.Usage() {
		if all += u.In; u.Node == "driver" {
			driver += u.In + u.Out
		}
	}
	return all, driver
}
