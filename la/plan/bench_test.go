package plan_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/plan"
)

// BenchmarkNodes is a Cholesky factorization on 1,000 nodes of 48 cores in virtual time. Of 390
// tiles in a row it has ten million tasks. The gigabytes are those that the process has taken from
// the system.
func BenchmarkNodes(b *testing.B) {
	const nb, nodes = 512, 1000
	for _, n := range []int{64, 128, 390} {
		b.Run(fmt.Sprintf("tiles=%d", n), func(b *testing.B) {
			m := &sim.Machine{
				Kinds:   []sim.Kind{{Name: "xeon", Sockets: 2, Cores: 24, Rate: 40e9}},
				Nodes:   []sim.Nodes{{Kind: "xeon", Count: nodes}},
				Network: sim.Network{Latency: 2e-6, Bandwidth: 12.5e9},
				Costs:   sim.Costs{Submit: 5e-7, Driver: 3e-7, Give: 3e-7, Message: 1e-6, End: 2e-7},
			}
			tasks, virtual := 0, 0.0
			for b.Loop() {
				p, err := plan.Run(context.Background(), sim.Options{Machine: m, Nodes: cluster.Options{Owner: true}}, nb, func(ctx context.Context, rt plan.Runtime, e *la.Engine) error {
					a, err := blocked.Distributed[float64](rt.(exec.Keeper), blocked.SymUpper, n*nb, n*nb, nb)
					if err != nil {
						return err
					}
					defer a.Close()
					grid := tiles.NewGrid(blocked.SymUpper, n, n, 25, ones(nodes), tiles.Updates)
					if err := a.SetLayout(grid, nodes); err != nil {
						return err
					}
					return la.NewCholesky[float64](e).Factorize(a, la.WithContext(ctx), la.InPlace())
				})
				if err != nil {
					b.Fatal(err)
				}
				tasks, virtual = tasks+p.Tasks, p.Seconds
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			b.ReportMetric(float64(tasks)/b.Elapsed().Seconds(), "tasks/s")
			b.ReportMetric(float64(mem.Sys)/1e9, "GB")
			b.ReportMetric(virtual, "virtual-s")
		})
	}
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}
