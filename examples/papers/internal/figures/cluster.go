package figures

import (
	"context"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/exec/trace"
)

// What PyCOMPSs costs is not published, but for what SplIter's figure 11 says: 18,432 tasks that
// are short take 10 s, which is 0.54 ms for each, of the binding and the master together. The rest
// are round numbers.
const (
	// pickling is the seconds of a core for a byte: each task reads its operands from files that
	// Pickle has written, and writes its results so (section 2.1). Measured it is 1.2 ns
	// (testdata/python27.py), and 4.8 if it is as much longer on MareNostrum III as a copy of memory:
	// of round numbers between these, the one with which figure 15 is the nearest to the 200 GFLOP/s
	// of section 4.3.
	pickling = 2.5e-9
	// lustre is the bytes a second of COBI's file system, through which its nodes exchange blocks
	// (sections 4.2 and 4.6), and host the seconds that the scheduler takes for one host of the
	// operands of a task: see looking. The two are set by the two numbers that section 4.6 publishes
	// of the LU of figure 29: with these it takes 380 s, and nine tasks in ten take 0.7 to 2.0 s.
	lustre = 12e9
	host   = 3.6e-7
	// spread is how far times of tasks are from one another. Without it all tasks of a node would
	// read their files at once, and compute at once, for ever.
	spread = 0.05
)

// How blocks come from one task to another one, as series of figures.
const (
	nodeToNode = "from node to node"
	fromLustre = "files, 12 GB/s"
)

// often returns the mean of the seconds of some runs under different seeds: one schedule of few
// tasks is some percent better than another one.
func often(run func(seed uint64) (outcome, error)) (seconds float64, err error) {
	const runs = 7
	for seed := range uint64(runs) {
		x, err := run(seed)
		if err != nil {
			return 0, err
		}
		seconds += x.Seconds / runs
	}
	return seconds, nil
}

// costs returns what a task costs beside: the binding, the master, the worker's processes.
func costs() sim.Costs {
	return sim.Costs{Submit: 3e-4, Task: 5e-3, Driver: 3e-4, Give: 1.2e-4, Message: 2e-5, End: 1e-4, Serial: pickling}
}

// machine returns one of machinefile.Names with what PyCOMPSs costs. That it is there is tested.
func machine(name string) (*sim.Machine, error) {
	m, err := machinefile.Open(name)
	if err != nil {
		return nil, err
	}
	m.Costs = costs()
	m.Noise = sim.Noise{Spread: spread, Seed: 1}
	return m, nil
}

// rates is how many flops a second all cores of a node make of an op, as far as that is not what a
// product makes: published ones.
type rates map[string]float64

// waits is [sim.Kind.Waits] of a BLAS, and losses the part of its speed that it loses where its threads
// are so many times the cores that a task has: both as measured on two cores (testdata/measured.py).
const waits = 0.3

var losses = map[float64]float64{4: 0.02, 8: 0.06}

// slots has a kind execute so many tasks on each socket, each of so many times as many threads as its
// share of the cores: over.
//
// An op of which a rate is known is as fast as a product on one core, and on more of them by Amdahl's
// law, such that all together make that rate.
func slots(k *sim.Kind, perSocket int, over float64, r rates) {
	cores, sockets := float64(k.Cores), max(k.Sockets, 1)
	own := cores / float64(perSocket)
	most := min(own*over, cores)
	all := cores * float64(sockets)
	for _, op := range []string{"init", "dot", "gemm", "multiply", "trsm", "trtri", "potrf", "getrf", "qr", "littleqr"} {
		serial := 0.0 // part
		if rate, known := r[op]; known {
			serial = (k.Rate/rate - 1/all) / (1 - 1/all)
		}
		seconds := func(cores float64) float64 { return (serial + (1-serial)/cores) / k.Rate / (1 - losses[over]) }
		k.Speeds = append(k.Speeds, sim.Speed{Op: op + "/f64", Points: []sim.Point{{Work: 1, Alone: seconds(most), All: seconds(own)}}})
	}
	k.Threads, k.Waits, k.Workers, k.Cache = int(own*over), waits, perSocket*sockets, 0
	k.Memory = 0 // values are files
}

// comparing is a policy as the one of PyCOMPSs, which looks at all ready tasks whenever a node is to
// get one. FIFOData does not, if one is there that the node's last task has freed.
type comparing struct {
	dispatch.Policy
	score float64
	spent *float64
	freed [][]*graph.Task // by the last task of each node; nil: it makes no difference
}

// Push implements [dispatch.Policy].
func (c *comparing) Push(ready []*graph.Task, from int) {
	if c.freed != nil && from >= 0 {
		c.freed[from] = append(c.freed[from][:0], ready...)
	}
	c.Policy.Push(ready, from)
}

// Pop implements [dispatch.Policy].
func (c *comparing) Pop(node int) *graph.Task {
	ready := c.Len()
	t := c.Policy.Pop(node)
	if t != nil && (c.freed == nil || !slices.Contains(c.freed[node], t)) {
		*c.spent += c.score * float64(ready)
	}
	return t
}

// looking returns the seconds that the scheduler takes to look at a ready task when a node is to get
// one (section 2.3). As published (ReadyScheduler of 2017) it scores the task for that node, and for
// each node as it tries to have the task executed; and each time it goes through all nodes that have
// the operands, which are all of them where a file system is shared.
func looking(m *sim.Machine) float64 {
	nodes := float64(m.Count())
	if m.Apart {
		nodes--
	}
	return host * nodes * (nodes + 1)
}

// options returns those of PyCOMPSs with a scheduler, locality or FIFOData, and what it takes to
// look at a task.
func options(m *sim.Machine, policy dispatch.Kind, score float64) sim.Options {
	var spent float64
	const all = 1 << 30 // as many tasks in flight as there are
	return sim.Options{Machine: m, Window: all,
		Decided: func() float64 {
			s := spent
			spent = 0
			return s
		},
		Nodes: cluster.Options{Policy: policy, NewPolicy: func(d dispatch.Machine) dispatch.Policy {
			c := &comparing{Policy: dispatch.New(policy, d), score: score, spent: &spent}
			if policy == dispatch.FIFOData {
				c.freed = make([][]*graph.Task, len(d.Locations))
			}
			return c
		}},
	}
}

// outcome is a run.
type outcome struct {
	*sim.Prediction
	tasks  int // without those that make the blocks
	flops  float64
	gflops float64
	record *trace.Recording // with sim.Options.Record
}

// run makes the blocks, as the paper does, and then has a program executed, which alone counts.
func run(ctx context.Context, opt sim.Options, side int, plan func(p *program) (fill []grid, submit func())) (outcome, error) {
	var rt interface {
		exec.Runtime
		Reset()
		Prediction() *sim.Prediction
		Recording() *trace.Recording
	}
	var err error
	if opt.Machine.Count() > 1 {
		rt, err = sim.NewCluster(opt)
	} else {
		rt, err = sim.New(opt)
	}
	if err != nil {
		return outcome{}, err
	}
	p := newProgram(side)
	fill, submit := plan(p)
	p.begin(ctx, rt)
	p.fill(fill...)
	if err := p.end(); err != nil {
		return outcome{}, err
	}
	rt.Reset()
	p.begin(ctx, rt)
	submit()
	if err := p.end(); err != nil {
		return outcome{}, err
	}
	x := rt.Prediction()
	o := outcome{x, p.tasks, p.flops, p.flops / x.Seconds / 1e9, nil}
	if opt.Record {
		o.record = rt.Recording()
	}
	return o, nil
}
