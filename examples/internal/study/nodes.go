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

// Nodes is a driver that executes nothing, and its agents. All are in this process.
type Nodes struct {
	// Parents has the parent of agent0, agent1 and so on. It is empty for agents that belong to the driver.
	Parents []string
	Workers int   // of each agent; 0 means 1
	HTTP    bool  // connect by HTTP on the loopback address instead of within the process
	Memory  int64 // memory limit of each agent; 0 for none
	Ops     []*versions.Op
}

// Run is the result of running a program on nodes.
type Run struct {
	Tasks int           // tasks of the driver
	Took  time.Duration // from the first submission to the end of Wait
	Peak  int64         // operand bytes of the agent that had the most
}

// Run starts the nodes, executes on them what submit submits, and stops them.
func (n *Nodes) Run(ctx context.Context, submit func(exec.Job) error) (r Run, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	var agents sync.WaitGroup
	defer agents.Wait()
	defer stop(nil)
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
			if err := cluster.Serve(ctx, opt); ctx.Err() == nil { // it has ended before ctx
				stop(fmt.Errorf("agent%d: %w", i, err))
			}
		})
	}
	if err := driver.Await(ctx, direct); err != nil {
		return r, err
	}
	for below := -1; below != (len(n.Parents)-direct)*max(n.Workers, 1); { // until all agents have reported
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
		if u.Node != opt.Transport.Self() { // the program's results go to the driver
			r.Peak = max(r.Peak, u.Peak)
		}
	}
	return r, nil
}

// connect returns a function that makes the transports of the nodes, that of the driver first.
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

// node returns the options of a node with a runtime and a transport of its own.
func (n *Nodes) node(name string, connect func(string) (transport.Transport, error)) (opt cluster.Options, err error) {
	if opt.Transport, err = connect(name); err != nil {
		return opt, err
	}
	workers := max(n.Workers, 1)
	opt.Ops, opt.Values = n.Ops, []versions.Value{&Row{}}
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: workers, Float: true, Target: versions.Target{Units: workers}})
	if err != nil {
		return opt, errors.Join(err, opt.Transport.Close())
	}
	return opt, nil
}
