package sim_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/versions"
)

// work is the parameter of a task that has so much work.
type work struct{ Units float64 }

// op is an op whose tasks say themselves how much they have to do.
var op = &versions.Op{Name: "work", Type: "f64",
	Work:     func(c *versions.Call) float64 { return c.Params.(*work).Units },
	Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error { return errors.New("a task was executed") }}}}

// machine is nodes of so many workers that do 100 units of work a second.
func machine(nodes, workers int) *sim.Machine {
	return &sim.Machine{
		Kinds:   []sim.Kind{{Name: "x", Cores: workers, Rate: 100}},
		Nodes:   []sim.Nodes{{Kind: "x", Count: nodes}},
		Network: sim.Network{Latency: 0.01, Bandwidth: 1e6},
	}
}

// program is a random one: tasks that read some data and write one, in order.
type program struct {
	data  []*graph.Datum
	specs []graph.Spec
}

func random(seed uint64, tasks, data int) *program {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &program{}
	for i := range data {
		p.data = append(p.data, &graph.Datum{Name: "x", Key: graph.Key{I: int32(i)}, Bytes: 1000, Value: new(int)})
	}
	for range tasks {
		s := graph.Spec{Op: op, Params: &work{2 + 10*rng.Float64()}, Priority: int64(rng.IntN(5))}
		perm := rng.Perm(data)
		s.Operands = append(s.Operands, graph.Operand{Datum: p.data[perm[0]], Mode: graph.InOut})
		for _, k := range perm[1 : 1+rng.IntN(3)] {
			s.Operands = append(s.Operands, graph.Operand{Datum: p.data[k], Mode: graph.In})
		}
		p.specs = append(p.specs, s)
	}
	return p
}

// bounds returns the seconds of all tasks on one worker, and of the longest path.
func (p *program) bounds() (all, path float64) {
	written, read := map[*graph.Datum]float64{}, map[*graph.Datum]float64{}
	for _, s := range p.specs {
		took := s.Params.(*work).Units / 100
		start := 0.0
		for _, o := range s.Operands {
			start = max(start, written[o.Datum])
			if o.Mode&graph.Out != 0 {
				start = max(start, read[o.Datum])
			}
		}
		for _, o := range s.Operands {
			if o.Mode&graph.Out != 0 {
				written[o.Datum], read[o.Datum] = start+took, 0
			} else {
				read[o.Datum] = max(read[o.Datum], start+took)
			}
		}
		all, path = all+took, max(path, start+took)
	}
	return all, path
}

func (p *program) run(t *testing.T, rt exec.Runtime) {
	t.Helper()
	j := rt.NewJob(context.Background())
	for i := range p.specs {
		if _, err := j.Submit(&p.specs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestBounds: under every policy a program takes as long as its longest path at least, and by
// Graham's bound for schedules that leave no worker idle without need at most; one worker takes
// as long as all tasks. What workers did adds up to the time that there was.
func TestBounds(t *testing.T) {
	for seed := range uint64(20) {
		p := random(seed, 200, 12)
		all, path := p.bounds()
		for _, policy := range dispatch.Kinds() {
			for _, workers := range []int{1, 2, 7} {
				rt, err := sim.New(sim.Options{Machine: machine(1, workers), Policy: policy, Record: true})
				if err != nil {
					t.Fatal(err)
				}
				p.run(t, rt)
				x := rt.Prediction()
				most := all/float64(workers) + path*(1-1/float64(workers))
				if policy == dispatch.EarliestFinish {
					most = all // it may keep a task for a worker that is busy
				}
				if x.Seconds < max(path, all/float64(workers))-1e-9 || x.Seconds > most+1e-9 {
					t.Errorf("seed %d, %v, %d workers: %g s, want %g to %g", seed, policy, workers, x.Seconds, max(path, all/float64(workers)), most)
				}
				n := x.Sum()
				if sum, want := n.Busy+n.Idle+n.Starving+n.Driver+n.Throttled, x.Seconds*float64(workers); x.Tasks != 200 || math.Abs(n.Busy-all) > 1e-6 || math.Abs(sum-want) > 1e-6 {
					t.Errorf("seed %d, %v, %d workers: %+v adds up to %g, want %g", seed, policy, workers, n, sum, want)
				}
				if got := rt.Recording().CriticalPath().Length.Seconds(); math.Abs(got-path) > 1e-5 {
					t.Errorf("seed %d, %v: the recording's critical path is %g s, want %g", seed, policy, got, path)
				}
			}
		}
	}
}

// TestCluster: on several nodes the same bounds hold but for what messages and values take,
// what goes out of nodes comes into others, and who owns everything is who executes it.
func TestCluster(t *testing.T) {
	for seed := range uint64(20) {
		p := random(seed, 200, 12)
		all, path := p.bounds()
		for _, o := range []cluster.Options{{}, {ByPriority: true}, {Policy: dispatch.FIFO}, {Policy: dispatch.FIFOData}, {Policy: dispatch.EarliestFinish}, {Owner: true}} {
			rt, err := sim.NewCluster(sim.Options{Machine: machine(4, 2), Nodes: o})
			if err != nil {
				t.Fatal(err)
			}
			for i, d := range p.data {
				d.Owner = int32(i % 4)
			}
			p.run(t, rt)
			x := rt.Prediction()
			n := x.Sum()
			if x.Seconds < max(path, all/8) || x.Seconds > all+200*0.1 {
				t.Errorf("seed %d, %+v: %g s, want at least %g", seed, o, x.Seconds, max(path, all/8))
			}
			if x.Tasks != 200 || math.Abs(n.Busy-all) > 1e-6 || n.In != n.Out || n.In == 0 || n.In%1000 != 0 {
				t.Errorf("seed %d, %+v: %+v", seed, o, n)
			}
		}
	}
}

// TestValue: a value that a node gets takes what the network says, or what cores of the two nodes
// have to do about it, if that is more.
func TestValue(t *testing.T) {
	for _, core := range []float64{0, 0.5e-6, 2e-6} {
		m := machine(2, 1)
		m.Apart = true
		m.Network.Value, m.Network.Core = 0.5, core
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		d := &graph.Datum{Bytes: 3e6, Value: new(int)}
		j := rt.NewJob(context.Background())
		if _, err := j.Submit(&graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		// The task goes there; the value is asked for, looked for, and comes; the task runs; its
		// end is told; the value is asked for, looked for, and comes.
		value := 0.01 + 0.5 + 0.01 + max(3, 3e6*core)
		if got, want := rt.Now(), 0.01+value+1+0.01+value; math.Abs(got-want) > 1e-9 {
			t.Errorf("%g s a byte: %g s, want %g", core, got, want)
		}
		if n := rt.Prediction().Nodes; n[1].In != 3e6 || n[1].Out != 3e6 || n[0].In != 3e6 || n[1].Peak != 3e6 || n[1].Starving < value-0.02 {
			t.Errorf("%g s a byte: %+v", core, n)
		}
	}
}

// TestMessage: what a core has to do about messages takes the time of tasks, also if the computer
// has another core, which is not the node's.
func TestMessage(t *testing.T) {
	const tasks = 20
	took := func(message float64, together bool) float64 {
		m := machine(2, 1)
		m.Apart, m.Network.Message = true, message
		if together {
			m.Kinds = append(m.Kinds, sim.Kind{Name: "two", Cores: 2, Rate: 100})
			m.Nodes = []sim.Nodes{{Kind: "two", Count: 1, Host: "h"}, {Kind: "x", Count: 1, Host: "h"}}
		}
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		for range tasks {
			p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: &graph.Datum{Bytes: 8, Value: new(int)}, Mode: graph.InOut}}})
		}
		p.run(t, rt)
		return rt.Now()
	}
	// Of each task but the last the end is told while the next one computes; a task comes for each,
	// as does a value, which is brought back.
	const message = 0.05
	for most, together := range map[float64]bool{4: false, 5: true} { // together the driver has a part of the core, too
		if more := took(message, together) - took(0, together); more < (tasks-1)*message || more > most*tasks*message {
			t.Errorf("together %t: %d tasks take %g s more with messages of %g s, want one to %g for each", together, tasks, more, message, most)
		}
	}
}

// TestBusy: a value comes later from a node that computes: when the system takes its core from the
// task, or when that ends.
func TestBusy(t *testing.T) {
	took := func(busy float64) (float64, *sim.Prediction) {
		m := machine(3, 1)
		m.Apart, m.Network.Busy = true, busy
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		var d [3]*graph.Datum
		for i := range d {
			d[i] = &graph.Datum{Bytes: 8, Value: new(int)}
			operands := []graph.Operand{{Datum: d[i], Mode: graph.Out}}
			if i > 0 {
				operands = append(operands, graph.Operand{Datum: d[0], Mode: graph.In})
			}
			p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{100}, Operands: operands})
		}
		p.run(t, rt)
		return rt.Now(), rt.Prediction()
	}
	least, p := took(0)
	if p.Nodes[1].Tasks == 0 || p.Nodes[2].Tasks == 0 {
		t.Fatalf("the tasks were executed by one node: %+v", p.Nodes)
	}
	for busy, want := range map[float64]float64{0.2: 0.2, 0.5: 0.5, 5: 1} {
		if got, _ := took(busy); math.Abs(got-least-want) > 0.05 {
			t.Errorf("%g s more if the system takes a core from a task of 1 s after %g s, want %g", got-least, busy, want)
		}
	}
}

// TestOneWay: an end is told without waiting until the one before it has come.
func TestOneWay(t *testing.T) {
	took := func(tasks int) float64 {
		m := machine(2, 1)
		m.Apart, m.Network = true, sim.Network{Latency: 2, Bandwidth: 1e9, Message: 1e-6}
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		for range tasks {
			p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: &graph.Datum{Bytes: 8, Value: new(int)}, Mode: graph.Out}}})
		}
		p.run(t, rt)
		return rt.Now()
	}
	// The second task ends a second after the first one. An answer to the end of that would come after four.
	if one, two := took(1), took(2); math.Abs(two-one-1) > 0.01 {
		t.Errorf("%g s for one task, %g s for two, want 1 more", one, two)
	}
}

// TestTogether: ends that come to the driver while it handles another one take it no longer than one,
// however many there are. So a node more takes the driver two messages that it sends.
func TestTogether(t *testing.T) {
	const message = 0.1
	took := func(nodes int) float64 {
		m := machine(1+nodes, 1)
		m.Apart, m.Network.Message = true, message
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		for range nodes {
			d := &graph.Datum{Bytes: 8, Value: new(int)}
			for range 2 {
				p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}})
			}
		}
		p.run(t, rt)
		return rt.Now()
	}
	const more = 8
	if got, want := took(1+more)-took(1), (2*more+2)*message; got > want {
		t.Errorf("with %d nodes more it takes %g s more, want %g at most", more, got, want)
	}
}

// TestNeighbours: tasks are slower the more of the cores have one, and more than cores take
// turns.
func TestNeighbours(t *testing.T) {
	m := machine(1, 3)
	m.Kinds[0].Speeds = []sim.Speed{{Op: "work/f64", Points: []sim.Point{{Work: 100, Alone: 1, All: 2}}}}
	for tasks, want := range map[int]float64{1: 1, 2: 1.5, 3: 2} {
		rt, err := sim.New(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		for range tasks {
			d := &graph.Datum{Value: new(int)}
			p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: d, Mode: graph.Out}}})
		}
		if p.run(t, rt); math.Abs(rt.Now()-want) > 1e-9 {
			t.Errorf("%d tasks: %g s, want %g", tasks, rt.Now(), want)
		}
	}
	crowd := machine(1, 2)
	crowd.Kinds[0].Workers = 4
	rt, err := sim.New(sim.Options{Machine: crowd})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{}
	for range 4 {
		p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: &graph.Datum{Value: new(int)}, Mode: graph.Out}}})
	}
	if p.run(t, rt); math.Abs(rt.Now()-2) > 1e-9 {
		t.Errorf("four tasks of a second on two cores: %g s, want 2", rt.Now())
	}
}

// TestThreads: tasks of more threads than cores share these by their threads, and wait for the
// slowest of their own as far as they are said to.
func TestThreads(t *testing.T) {
	const cores = 4
	for _, c := range []struct {
		threads int
		waits   float64
		want    float64
	}{
		// One task takes 80 s of a core, and a thread of the other one reads for 10 s meanwhile.
		{2, 0, 40},   // there is a core for each thread
		{4, 0, 22.5}, // no core is ever without work
		{8, 0, 22.5},
		{4, 1, 26.25}, // half as fast as alone for 12.5 s
		{8, 1, 27.5},  // two thirds as fast as alone for 22.5 s
		{4, 0.5, 24.375},
	} {
		m := machine(1, cores)
		k := &m.Kinds[0]
		k.Workers, k.Threads, k.Waits = 2, c.threads, c.waits
		alone := 80 / float64(min(c.threads, cores))
		k.Speeds = []sim.Speed{{Op: "work/f64", Points: []sim.Point{{Work: 1000, Alone: alone, All: 40}, {Work: 1, Alone: 1e-9, All: 1e-9}}}}
		m.Costs.Serial = 1
		rt, err := sim.New(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		for _, x := range []struct {
			units float64
			bytes int64
		}{{1000, 0}, {1, 10}} {
			d := &graph.Datum{Bytes: x.bytes, Value: new(int)}
			p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{x.units}, Operands: []graph.Operand{{Datum: d, Mode: graph.In}}})
		}
		if p.run(t, rt); math.Abs(rt.Now()-c.want) > 1e-6 {
			t.Errorf("%d threads, waits %g: %g s, want %g", c.threads, c.waits, rt.Now(), c.want)
		}
	}
}

// TestSeed: what comes out follows from the seed.
func TestSeed(t *testing.T) {
	p := random(1, 500, 30)
	run := func(seed uint64) *sim.Prediction {
		m := machine(5, 3)
		m.Noise = sim.Noise{Spread: 0.1, Seed: seed}
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p.run(t, rt)
		return rt.Prediction()
	}
	first := run(1)
	if again := run(1); !reflect.DeepEqual(first, again) {
		t.Errorf("one seed: %+v and %+v", first, again)
	}
	if other := run(2); other.Seconds == first.Seconds {
		t.Errorf("two seeds: both %g s", other.Seconds)
	}
}

// TestCaps: nodes with caps drop the same copies each time, wherever the data are in memory, and fetch
// them again.
func TestCaps(t *testing.T) {
	run := func(most int64) *sim.Prediction {
		p := random(1, 300, 12)
		for i := range 48 { // that nobody writes
			p.data = append(p.data, &graph.Datum{Name: "in", Key: graph.Key{Matrix: 1, I: int32(i)}, Bytes: 1000, Value: new(int)})
		}
		for i := range p.specs {
			s := &p.specs[i]
			s.Operands = append(s.Operands, graph.Operand{Datum: p.data[12+i*i%48], Mode: graph.In}, graph.Operand{Datum: p.data[12+(i*i+7*i+1)%48], Mode: graph.In})
		}
		m := machine(4, 2)
		m.Kinds[0].Memory = most
		rt, err := sim.NewCluster(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p.run(t, rt)
		return rt.Prediction()
	}
	first, free := run(18_000), run(0)
	for range 3 {
		if again := run(18_000); !reflect.DeepEqual(first, again) {
			t.Fatalf("one program: %+v and %+v", first, again)
		}
	}
	if first.Seconds == free.Seconds {
		t.Errorf("with caps and without them: both %g s", free.Seconds)
	}
}

// TestWindow: the submitter waits while the window is full.
func TestWindow(t *testing.T) {
	p := random(3, 300, 40)
	rt, err := sim.New(sim.Options{Machine: machine(1, 8), Window: 4})
	if err != nil {
		t.Fatal(err)
	}
	p.run(t, rt)
	if n := rt.Prediction().Sum(); n.Throttled < n.Idle {
		t.Errorf("with a window of 4 for 8 workers: %+v", n)
	}
}

// TestErrors: what cannot be simulated is said.
func TestErrors(t *testing.T) {
	m := machine(0, 0)
	m.Kinds[0].Rate = 0
	var bad *sim.MachineError
	if _, err := sim.New(sim.Options{Machine: m}); !errors.As(err, &bad) || len(bad.Problems) != 3 {
		t.Errorf("a machine without nodes, cores and speeds: %v", err)
	}
	m = machine(1, 1)
	m.Kinds[0].Rate, m.Kinds[0].Speeds = 0, []sim.Speed{{Op: "other/f64", Points: []sim.Point{{Work: 1, Alone: 1, All: 1}}}}
	rt, err := sim.New(sim.Options{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background())
	j.Submit(&graph.Spec{Op: op, Params: &work{1}, Operands: []graph.Operand{{Datum: &graph.Datum{Value: new(int)}, Mode: graph.Out}}})
	var unknown *sim.UnknownSpeedError
	if err := j.Wait(); !errors.As(err, &unknown) || unknown.Op != "work/f64" {
		t.Errorf("an op of unknown speed: %v", err)
	}
}

// TestTake: nodes are the first ones, or more of the last kind.
func TestTake(t *testing.T) {
	for _, c := range []struct {
		apart bool
		take  int
		want  []int
	}{{false, 1, []int{1}}, {false, 3, []int{2, 1}}, {false, 9, []int{2, 7}}, {true, 1, []int{2}}, {true, 9, []int{2, 8}}} {
		m := machine(2, 1)
		m.Nodes, m.Apart = append(m.Nodes, sim.Nodes{Kind: "x", Count: 4}), c.apart
		m.Take(c.take)
		var got []int
		for _, g := range m.Nodes {
			got = append(got, g.Count)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSerial: before a task computes it reads its operands in the form in which they are kept, and
// writes its results afterwards, by a thread; what all read and write at once takes as long as the
// files allow.
func TestSerial(t *testing.T) {
	for _, c := range []struct{ files, want float64 }{{0, 6 + 10 + 2}, {500, 12 + 5 + 2}} {
		m := machine(1, 2)
		m.Kinds[0].Cores, m.Kinds[0].Workers = 1, 2 // they share a core
		m.Costs = sim.Costs{Serial: 1e-3, Files: c.files}
		rt, err := sim.New(sim.Options{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{}
		for range 2 {
			ops := []graph.Operand{{Datum: &graph.Datum{Bytes: 1000, Value: new(int)}, Mode: graph.InOut}}
			for range 2 {
				ops = append(ops, graph.Operand{Datum: &graph.Datum{Bytes: 1000, Value: new(int)}, Mode: graph.In})
			}
			p.specs = append(p.specs, graph.Spec{Op: op, Params: &work{500}, Operands: ops})
		}
		p.run(t, rt)
		// Both do each of it at once, on one core; or the first one has done so when the second one begins.
		if got := rt.Prediction().Seconds; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("files of %g bytes a second: %g s, want %g", c.files, got, c.want)
		}
	}
}

// TestDecided: the driver is busy for as long as a policy of the program's own takes to decide.
func TestDecided(t *testing.T) {
	m := machine(2, 1)
	m.Network.Latency = 0
	run := func(decided func() float64) float64 {
		rt, err := sim.NewCluster(sim.Options{Machine: m, Decided: decided})
		if err != nil {
			t.Fatal(err)
		}
		random(1, 50, 5).run(t, rt)
		return rt.Prediction().Sum().Driver
	}
	if without, with := run(nil), run(func() float64 { return 0.1 }); without != 0 || with == 0 {
		t.Errorf("the driver was busy for %g s of the workers' time, and %g with decisions", without, with)
	}
}
