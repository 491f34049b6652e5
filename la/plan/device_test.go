package plan_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/plan"
	"github.com/tessera-la/tessera/versions"
)

// TestDevice: what a plan has copied to a device and back is what a device gets and gives that all tasks
// run on for which it has a version, and it takes no longer than the plan, but for what a slow machine
// adds.
func TestDevice(t *testing.T) {
	const n, nb, rate, bandwidth, latency, launch = 384, 64, 2e9, 1e9, 2e-4, 1e-4
	ctx := context.Background()
	var pins []versions.Pin
	hosts := []string{"none"}
	for _, op := range builtin.NewTable().All() {
		if op.Version("cuda") != nil {
			pins = append(pins, versions.Pin{Op: op.OpName(), Version: "cuda"})
		} else {
			hosts = append(hosts, op.OpName())
		}
	}
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, e *la.Engine, data []float64) error
	}{
		{"cholesky", func(ctx context.Context, e *la.Engine, data []float64) error {
			return la.NewCholesky[float64](e).FactorizeContext(ctx, la.Symmetric[float64]{Uplo: 'U', N: n, Stride: n, Data: data})
		}},
		{"qr", func(ctx context.Context, e *la.Engine, data []float64) error {
			return la.NewQR[float64](e).FactorizeContext(ctx, la.General[float64]{Rows: n, Cols: n, Stride: n, Data: data})
		}},
	} {
		m := &sim.Machine{
			Kinds: []sim.Kind{{Name: "x", Cores: 2, Rate: 50e9, Ops: hosts, Devices: []sim.Device{
				{Name: "d", Rate: rate, Bandwidth: bandwidth, Latency: latency, Launch: launch}}}},
			Nodes: []sim.Nodes{{Kind: "x", Count: 1}},
		}
		p, err := plan.Run(ctx, sim.Options{Machine: m, Policy: dispatch.EarliestFinish}, nb, func(ctx context.Context, _ plan.Runtime, e *la.Engine) error {
			return c.run(ctx, e, make([]float64, n*n))
		})
		if err != nil {
			t.Fatal(err)
		}

		d, err := cuda.NewSimulated(cuda.SimOptions{Rate: rate, Bandwidth: bandwidth, Latency: time.Duration(latency * 1e9), Launch: time.Duration(launch * 1e9)})
		if err != nil {
			t.Fatal(err)
		}
		a, err := cuda.NewAccelerator(d, cuda.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := la.NewEngine(la.Options{Workers: 2, Accelerators: []offload.Accelerator{a}, NB: nb, Fixed: slices.Clone(pins), Direct: -1})
		if err != nil {
			t.Fatal(err)
		}
		data := make([]float64, n*n)
		for i := range n {
			for k := range n {
				data[i*n+k] = math.Cos(float64(i * k))
			}
			data[i*n+i] += n
		}
		began := time.Now()
		if err := c.run(ctx, e, data); err != nil {
			t.Fatal(err)
		}
		took, s, sum := time.Since(began).Seconds(), a.Stats(), p.Sum()
		t.Logf("%s: %.0f ms, planned %.0f ms; %d and %d bytes copied, planned %d and %d", c.name, 1e3*took, 1e3*p.Seconds, s.In, s.Out, sum.DevicesIn, sum.DevicesOut)
		// A real one gives back early what it takes for finished, and may be wrong.
		if s.In != sum.DevicesIn || s.Out < sum.DevicesOut || s.Out > sum.DevicesOut*3/2 || took < 0.8*p.Seconds {
			t.Error("that is not alike")
		}
		for _, err := range []error{e.Close(), a.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	}
}
