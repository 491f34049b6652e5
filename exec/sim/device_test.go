package sim_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// tile is a value that devices may have a copy of.
type tile struct{ _ int }

func (*tile) Memory() versions.Memory { return versions.Memory{} }

// ops of which versions run on cores, on devices, and on both.
var (
	onCores   = op
	onDevices = &versions.Op{Name: "device", Type: "f64", Work: op.Work, Versions: []versions.Version{{Name: "cuda", Constraints: versions.Constraints{Kind: "cuda"}, Run: op.Versions[0].Run}}}
	onBoth    = &versions.Op{Name: "both", Type: "f64", Work: op.Work, Versions: slices.Concat(op.Versions, onDevices.Versions)}
)

// accelerated is nodes of so many workers, each with devices that do 1,000 units of work a second.
func accelerated(nodes, workers, devices int) *sim.Machine {
	m := machine(nodes, workers)
	m.Kinds[0].Devices = []sim.Device{{Name: "d", Count: devices, Rate: 1000, Launch: 0.001, Latency: 0.01, Bandwidth: 1e5}}
	return m
}

// run has tasks executed one after the other as they are submitted, and returns the prediction.
func runOn(t *testing.T, o sim.Options, specs ...graph.Spec) (*sim.Prediction, *trace.Recording) {
	t.Helper()
	var rt interface {
		exec.Runtime
		Prediction() *sim.Prediction
		Recording() *trace.Recording
	}
	var err error
	if o.Machine.Count() > 1 {
		rt, err = sim.NewCluster(o)
	} else {
		rt, err = sim.New(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background())
	for i := range specs {
		s := specs[i]
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	return rt.Prediction(), rt.Recording()
}

func sized(name string, bytes int64) *graph.Datum {
	return &graph.Datum{Name: name, Bytes: bytes, Value: new(tile)}
}

func spec(o *versions.Op, units float64, operands ...graph.Operand) graph.Spec {
	return graph.Spec{Op: o, Params: &work{units}, Operands: operands}
}

func reads(d *graph.Datum) graph.Operand   { return graph.Operand{Datum: d, Mode: graph.In} }
func updates(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// TestDevice: a task on a device waits for what it reads, and what only the device has comes back when
// somebody else reads it, and at the end.
func TestDevice(t *testing.T) {
	const copies, launch = 0.01 + 1000/1e5, 0.001
	for _, c := range []struct {
		name    string
		change  func(d *sim.Device)
		specs   func(a, b *graph.Datum) []graph.Spec
		seconds float64
		in, out int64
	}{
		{"one", nil, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a))}
		}, 2*copies + launch + 0.1, 1000, 1000},
		{"what is there is not copied again", nil, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onDevices, 100, updates(a))}
		}, 2*copies + 2*launch + 0.2, 1000, 1000},
		{"a worker on cores reads it", nil, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onCores, 10, updates(b), reads(a)), spec(onDevices, 100, reads(a), updates(b))}
		}, copies + launch + 0.1 + copies + 0.1 + copies + launch + 0.1 + copies, 2000, 2000},
		{"a worker on cores writes it", nil, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onCores, 10, updates(a)), spec(onDevices, 100, updates(a))}
		}, 2*(2*copies+launch+0.1) + 0.1, 2000, 2000},
		{"copies in while it computes", nil, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onDevices, 100, updates(b))}
		}, copies + 2*(launch+0.1) + 2*copies, 2000, 2000},
		{"nothing stays", func(d *sim.Device) { d.Returns = true }, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onDevices, 100, updates(a), reads(b))}
		}, 2*(2*copies+launch+0.1) + copies, 3000, 2000},
		{"what is there goes first", nil, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onDevices, 100, updates(b)), spec(onDevices, 100, updates(a))}
		}, copies + 3*(launch+0.1) + 2*copies, 2000, 2000},
		{"room for one", func(d *sim.Device) { d.Memory = 1500 }, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onDevices, 100, updates(a)), spec(onDevices, 100, updates(b))}
		}, copies + launch + 0.1 + 2*copies + launch + 0.1 + copies, 2000, 2000},
		{"too large", func(d *sim.Device) { d.Memory = 500 }, func(a, b *graph.Datum) []graph.Spec {
			return []graph.Spec{spec(onBoth, 100, updates(a))}
		}, 1, 0, 0},
	} {
		m := accelerated(1, 1, 1)
		if c.change != nil {
			c.change(&m.Kinds[0].Devices[0])
		}
		p, r := runOn(t, sim.Options{Machine: m, Record: true}, c.specs(sized("a", 1000), sized("b", 1000))...)
		if x := p.Sum(); math.Abs(p.Seconds-c.seconds) > 1e-9 || x.DevicesIn != c.in || x.DevicesOut != c.out {
			t.Errorf("%s: %g s, %d bytes in and %d out, want %g, %d and %d", c.name, p.Seconds, x.DevicesIn, x.DevicesOut, c.seconds, c.in, c.out)
		}
		if r.Names[1] != "d" {
			t.Errorf("%s: workers are called %v", c.name, r.Names)
		}
		bytes := int64(0)
		for _, x := range r.Copies {
			bytes += x.Bytes
		}
		if bytes != c.in+c.out {
			t.Errorf("%s: copies of %d bytes are recorded", c.name, bytes)
		}
	}
}

// TestDevices: random programs of tasks for cores, devices and both run to their ends under each
// policy, on one node and on several, in the same time each time, and faster than without devices.
func TestDevices(t *testing.T) {
	for seed := range uint64(8) {
		for _, policy := range dispatch.Kinds() {
			for _, nodes := range []int{1, 3} {
				var times [2]float64
				for i := range times {
					p := random(seed, 120, 12)
					for i := range p.specs {
						p.specs[i].Op = []*versions.Op{onCores, onDevices, onBoth, onBoth}[(i+int(seed))%4]
					}
					m := accelerated(nodes, 2, 2)
					d := &m.Kinds[0].Devices[0]
					d.Latency, d.Bandwidth, d.Memory = 1e-4, 1e7, 5000
					if seed%2 == 1 {
						m.Kinds[0].Devices = append(m.Kinds[0].Devices, sim.Device{Name: "e", Rate: 500, Bandwidth: 1e7, Ops: []string{"both"}})
					}
					x, r := runOn(t, sim.Options{Machine: m, Policy: policy, Nodes: cluster.Options{Policy: policy}, Record: true}, p.specs...)
					if times[i] = x.Seconds; x.Tasks != 120 {
						t.Fatalf("seed %d, %v, %d nodes: %d tasks of 120", seed, policy, nodes, x.Tasks)
					}
					each := 2 + 2 + int(seed%2)
					for _, e := range r.Events {
						on := map[bool]*versions.Op{false: onCores, true: onDevices}[e.Worker%each >= 2]
						if e.Op != onBoth.OpName() && e.Op != on.OpName() {
							t.Fatalf("seed %d, %v, %d nodes: worker %d has executed %s", seed, policy, nodes, e.Worker, e.Op)
						}
					}
				}
				if times[0] != times[1] {
					t.Errorf("seed %d, %v, %d nodes: %g and %g s", seed, policy, nodes, times[0], times[1])
				}
			}
		}
	}
}

// TestDeviceFaster: eft gives a device what it ends sooner, and cores what they do.
func TestDeviceFaster(t *testing.T) {
	var specs []graph.Spec
	for range 40 {
		specs = append(specs, spec(onBoth, 100, updates(sized("x", 1000))))
	}
	alone, _ := runOn(t, sim.Options{Machine: machine(1, 2), Policy: dispatch.EarliestFinish}, specs...)
	both, r := runOn(t, sim.Options{Machine: accelerated(1, 2, 1), Policy: dispatch.EarliestFinish, Record: true}, specs...)
	on := map[bool]int{}
	for _, e := range r.Events {
		on[e.Worker == 2]++
	}
	if both.Seconds > alone.Seconds/4 || on[true] < 30 || on[false] == 0 {
		t.Errorf("%g s, without a device %g; it executes %d, and workers on cores %d", both.Seconds, alone.Seconds, on[true], on[false])
	}
}

// TestDeviceMachine: what makes no sense of a device is said.
func TestDeviceMachine(t *testing.T) {
	m := accelerated(1, 1, 1)
	m.Kinds[0].Devices = append(m.Kinds[0].Devices, sim.Device{Count: -1, Memory: -1, Rate: -1}, sim.Device{Name: "e", Count: 60, Rate: 1, Bandwidth: 1})
	bad := (*sim.MachineError)(nil)
	if err := m.Validate(); !errors.As(err, &bad) || len(bad.Problems) != 6 {
		t.Errorf("%v", err)
	}
	_, err := sim.New(sim.Options{Machine: accelerated(1, 1, 0)})
	if err != nil {
		t.Error(err)
	}
}
