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

// The overhead of PyCOMPSs is not published, except for SplIter's figure 11: 18,432 short tasks take 10 s,
// which is 0.54 ms per task for the binding and the master together. The other values are round numbers.
const (
	// pickling is the seconds of a core per byte: each task reads its operands from files that Pickle has
	// written, and writes its results likewise (section 2.1). Measured values are 1.2 ns (testdata/python27.py),
	// and 4.8 ns if it is slower on MareNostrum III by the same factor as a copy of memory. This is the round
	// number in between that brings figure 15 closest to the 200 GFLOP/s of section 4.3.
	pickling = 2.5e-9
	// lustre is the bytes per second of COBI's file system, through which its nodes exchange blocks (sections
	// 4.2 and 4.6). host is the seconds that the scheduler takes for one host of a task's operands: see looking.
	// The two are fitted to the two numbers that section 4.6 publishes for the LU of figure 29: it takes 380 s,
	// and nine tasks in ten take 0.7 to 2.0 s.
	lustre = 12e9
	host   = 3.6e-7
	// spread is how much the times of tasks vary. Without it all tasks of a node would always read their files
	// at the same time, and compute at the same time.
	spread = 0.05
)

// How blocks move from one task to another, as series of figures.
const (
	nodeToNode = "from node to node"
	fromLustre = "files, 12 GB/s"
)

// often returns the mean seconds of several runs with different seeds, since schedules of few tasks differ by
// some percent.
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

// costs returns the overhead of a task: the binding, the master and the worker's processes.
func costs() sim.Costs {
	return sim.Costs{Submit: 3e-4, Task: 5e-3, Driver: 3e-4, Give: 1.2e-4, Message: 2e-5, End: 1e-4, Serial: pickling}
}

// machine returns one of machinefile.Names with the costs of PyCOMPSs. A test ensures that it exists.
func machine(name string) *sim.Machine {
	m, err := machinefile.Open(name)
	if err != nil {
		panic(err) // the files are embedded
	}
	m.Costs = costs()
	m.Noise = sim.Noise{Spread: spread, Seed: 1}
	return m
}

// rates is the flop/s of an op on all cores of a node, where published. Other ops have the rate of a product.
type rates map[string]float64

// waits is [sim.Kind.Waits] of a BLAS. losses is the part of its speed that it loses if it has that many times
// more threads than a task has cores. Both were measured on two cores (testdata/measured.py).
const waits = 0.3

var losses = map[float64]float64{4: 0.02, 8: 0.06}

// slots makes a kind execute perSocket tasks on each socket. Each task has over times as many threads as its
// share of the cores.
//
// An op with a known rate is as fast as a product on one core. On more cores its speed follows Amdahl's law, so
// that all cores together reach that rate.
func slots(k *sim.Kind, perSocket int, over float64, r rates) {
	cores, sockets := float64(k.Cores), max(k.Sockets, 1)
	own := cores / float64(perSocket)
	most := min(own*over, cores)
	all := cores * float64(sockets)
	for _, op := range []string{"init", "dot", "gemm", "multiply", "trsm", "trtri", "potrf", "getrf", "qr", "littleqr"} {
		serial := 0.0 // serial part
		if rate, known := r[op]; known {
			serial = (k.Rate/rate - 1/all) / (1 - 1/all)
		}
		seconds := func(cores float64) float64 { return (serial + (1-serial)/cores) / k.Rate / (1 - losses[over]) }
		k.Speeds = append(k.Speeds, sim.Speed{Op: op + "/f64", Points: []sim.Point{{Work: 1, Alone: seconds(most), All: seconds(own)}}})
	}
	k.Threads, k.Waits, k.Workers, k.Cache = int(own*over), waits, perSocket*sockets, 0
	k.Memory = 0 // values are files
}

// comparing is a policy like that of PyCOMPSs, which considers all ready tasks whenever it assigns one to a
// node. FIFOData does not if the node's last task has freed a task.
type comparing struct {
	dispatch.Policy
	score float64
	spent *float64
	freed [][]*graph.Task // by the last task of each node; nil if irrelevant
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

// looking returns the seconds that the scheduler takes to consider one ready task when it assigns a task to a
// node (section 2.3). In the published code (ReadyScheduler of 2017) it scores the task for that node, and for
// each node on which it tries to execute the task. Each time it iterates over all nodes that have the operands.
// With a shared file system these are all nodes.
func looking(m *sim.Machine) float64 {
	nodes := float64(m.Count())
	if m.Apart {
		nodes--
	}
	return host * nodes * (nodes + 1)
}

// options returns the options of PyCOMPSs with a scheduler, locality or FIFOData. score is the time to consider
// a task.
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

// outcome is the result of a run.
type outcome struct {
	*sim.Prediction
	tasks  int // without the tasks that make the blocks
	flops  float64
	gflops float64
	record *trace.Recording // with sim.Options.Record
}

// run makes the blocks, as the paper does, and then executes a program. Only the program counts.
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
