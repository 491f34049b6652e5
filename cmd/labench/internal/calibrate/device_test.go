package calibrate

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/plan"
	"github.com/tessera-la/tessera/versions"
)

// TestDevices: a simulated device is measured as what it is said to be, and a plan for it as measured
// has the tasks, the bytes and the time of a run on it. Time is virtual: what the host computes takes
// none, so in the plan its cores are as good as infinitely fast.
func TestDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nb, n = 64, 5 * 64
		const rate, bandwidth, latency, launch, memory = 1e9, 1e9, 200e-6, 100e-6, 64 << 20
		ctx := context.Background()
		open := func() *cuda.Accelerator {
			d, err := cuda.NewSimulated(cuda.SimOptions{Rate: rate, Bandwidth: bandwidth, Latency: time.Duration(latency * 1e9), Launch: time.Duration(launch * 1e9), Memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			a, err := cuda.NewAccelerator(d, cuda.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		near := func(what string, got, want, part float64) {
			if math.Abs(got-want) > part*want {
				t.Errorf("%s is %g, want %g", what, got, want)
			}
		}
		one, other := open(), open()
		found, err := Devices(ctx, Options{Sizes: []int{nb}, Workers: 1, Each: 1}, []*cuda.Accelerator{one, other})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].Count != 2 || found[0].Memory != memory/8*7 || found[0].Name != "simulated" {
			t.Fatalf("%+v", found)
		}
		d := &found[0]
		near("the latency", d.Latency, latency, .05)
		near("that of copies back", d.BackLatency, latency, .05)
		near("the bandwidth", d.Bandwidth, bandwidth, .05)
		near("that of copies back", d.BackBandwidth, bandwidth, .05)
		near("a launch beside its call", 1+d.Launch, 1, 1e-6)
		var pins []versions.Pin
		hosts := []string{"none"}
		for _, op := range op.NewTable().All() {
			if op.Version("cuda") == nil {
				hosts = append(hosts, op.OpName())
				continue
			}
			pins = append(pins, versions.Pin{Op: op.OpName(), Version: "cuda"})
			// Only what takes the place of BLAS in other programs uses trmm, and eigenvalues and tournaments are not planned
			// on devices.
			unplanned := op.Name == "trmm" || op.Name == "tntleaf" || op.Name == "sy2sbmm" || op.Name == "ormsy2sb"
			if op.Type == "f64" && !unplanned && !slices.ContainsFunc(d.Speeds, func(s sim.Speed) bool { return s.Op == op.OpName() && s.Version == "cuda" }) {
				t.Errorf("%s was not measured", op.OpName())
			}
		}
		for _, s := range d.Speeds {
			if s.Op == "gemm/f64" {
				near("a product", s.Points[0].Alone, launch+2*nb*nb*nb/rate, .001)
			}
		}

		d.Count = 1
		m := &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 1, Rate: 1e18, Ops: hosts, Devices: found}}, Nodes: []sim.Nodes{{Kind: "x", Count: 1}}}
		for _, c := range []struct {
			name  string
			least float64 // of the planned bytes that come back
			kind  matgen.Kind
			run   func(ctx context.Context, e *la.Engine, a la.General[float64]) error
		}{
			{"cholesky", 1, matgen.SPD, func(ctx context.Context, e *la.Engine, a la.General[float64]) error {
				return la.NewCholesky[float64](e).Factorize(la.Symmetric[float64]{Uplo: 'U', N: n, Stride: n, Data: a.Data}, la.WithContext(ctx))
			}},
			{"lu", .8, matgen.Random, func(ctx context.Context, e *la.Engine, a la.General[float64]) error {
				return la.NewLU[float64](e).Factorize(a, la.WithContext(ctx))
			}},
			{"qr", 1, matgen.Random, func(ctx context.Context, e *la.Engine, a la.General[float64]) error {
				return la.NewQR[float64](e).Factorize(a, la.WithContext(ctx))
			}},
		} {
			a, err := random[float64](c.kind, n)
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Run(ctx, sim.Options{Machine: m}, nb, func(ctx context.Context, _ plan.Runtime, e *la.Engine) error { return c.run(ctx, e, a) })
			if err != nil {
				t.Fatal(err)
			}
			x := open()
			e, err := la.NewEngine(la.Options{Workers: 1, Accelerators: []offload.Accelerator{x}, NB: nb, Fixed: pins, Direct: -1})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := c.run(ctx, e, a); err != nil {
				t.Fatal(err)
			}
			took, s, sum := time.Since(began).Seconds(), x.Stats(), p.Sum()
			t.Logf("%s: %.2f ms, planned %.2f; %d tasks, %d; %d and %d bytes, %d and %d", c.name, 1e3*took, 1e3*p.Seconds, s.Launches, sum.OnDevices, s.In, s.Out, sum.DevicesIn, sum.DevicesOut)
			near("the time of "+c.name, p.Seconds, took, .1)
			// When what seems to be finished comes back early depends on when one looks.
			if s.Launches != int64(sum.OnDevices) || s.In != sum.DevicesIn || float64(s.Out) < c.least*float64(sum.DevicesOut) || float64(s.Out) > 1.25*float64(sum.DevicesOut) {
				t.Errorf("%s: that is not alike", c.name)
			}
			for _, err := range []error{e.Close(), x.Close()} {
				if err != nil {
					t.Error(err)
				}
			}
		}
		for _, a := range []*cuda.Accelerator{one, other} {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
