package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/versions"
)

// Nodes is a driver that executes nothing, and agents. All are in this process.
type Nodes struct {
	// Parents names, for agent0, agent1 and so on, the agent above each; those of the driver have
	// none.
	Parents []string
	Workers int   // of each agent; 0 means 1
	HTTP    bool  // they are connected by HTTP on the loopback address, and not within the process
	Memory  int64 // the cap of each agent, 0 for none
	Ops     []*versions.Op
}

// Run is what a program was on nodes.
type Run struct {
	Tasks int           // that the driver had
	Took  time.Duration // from the first submission to the end of Wait
	Peak  int64         // the bytes of operands of the agent that had most of them
}

// Run starts the nodes, has the driver execute what submit submits, and ends them.
func (n *Nodes) Run(ctx context.Context, submit func(exec.Job) error) (r Run, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	var agents sync.WaitGroup
	defer agents.Wait()
	defer cancel()
	connect := n.connect()
	opt, err := n.node("driver", connect)
	if err != nil {
		return r, err
	}
	defer opt.Runtime.Close()
	opt.Idle = true
	driver, err := cluster.NewDriver(opt)
	if err != nil {
		return r, err
	}
	defer driver.Close()
	direct := 0
	for i, parent := range n.Parents {
		opt, err := n.node(fmt.Sprintf("agent%d", i), connect)
		if err != nil {
			return r, err
		}
		if opt.Memory, opt.Parent = n.Memory, parent; parent == "" {
			direct++
		}
		agents.Go(func() {
			defer opt.Runtime.Close()
			_ = cluster.Serve(ctx, opt) // which ends with ctx
		})
	}
	if err := driver.Await(ctx, direct); err != nil {
		return r, err
	}
	for below := -1; below != (len(n.Parents)-direct)*max(n.Workers, 1); { // they have said to whom they belong
		below = 0
		for _, u := range driver.Usage() {
			below += u.Below
		}
		time.Sleep(time.Millisecond)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
	}
	began := time.Now()
	job := driver.NewJob(ctx)
	if err := errors.Join(submit(job), job.Wait()); err != nil {
		return r, err
	}
	r.Tasks, r.Took = job.Completed(), time.Since(began)
	for _, u := range driver.Usage() {
		if u.Node != opt.Transport.Self() { // the driver has what the program is to have
			r.Peak = max(r.Peak, u.Peak)
		}
	}
	return r, nil
}

// connect returns what makes the transports of the nodes, first that of the driver.
func (n *Nodes) connect() func(name string) (transport.Transport, error) {
	if !n.HTTP {
		return transport.NewNetwork().Node
	}
	var first []string
	return func(name string) (transport.Transport, error) {
		t, err := web.New(web.Options{Name: name, Listen: "127.0.0.1:0", Plain: true, Peers: first,
			Greet: 100 * time.Millisecond, Timeout: 30 * time.Second})
		if err == nil && first == nil {
			first = []string{web.Address(t)}
		}
		return t, err
	}
}

func (n *Nodes) node(name string, connect func(string) (transport.Transport, error)) (opt cluster.Options, err error) {
	if opt.Transport, err = connect(name); err != nil {
		return opt, err
	}
	workers := max(n.Workers, 1)
	opt.Ops, opt.Values = n.Ops, []versions.Value{&Row{}}
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: workers, Float: true, Target: versions.Target{Units: workers}})
	return opt, err
}
