package bench

import (
	"context"
	"testing"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/sim"
)

// TestRehearse: on several nodes, operations that can be distributed move what plan.Runtime counts.
func TestRehearse(t *testing.T) {
	ctx := context.Background()
	const n, nb = 600, 50
	m := &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 4, Arch: "amd64", Rate: 1e9}}, Nodes: []sim.Nodes{{Kind: "x", Count: 5}}, Apart: true,
		Network: sim.Network{Latency: 1e-6, Bandwidth: 1e9}}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, op := range []string{"gemm", "cholesky", "lu", "qr", "eigen"} {
		s := Spec{Problem: Problem{Op: op, N: n, NB: nb, Tree: qr.TreeFlat}}
		virtual, err := sim.NewCluster(sim.Options{Machine: m, Nodes: cluster.Options{Owner: true, Stay: true}, Context: ctx, Setup: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Rehearse(ctx, s.Problem, virtual, []float64{1, 1, 1, 1}, 0)
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		c, err := planned[float64](ctx, s.WithDefaults(), []float64{1, 1, 1, 1}, plan.Options{Runtime: rt, Apart: true})
		if err != nil {
			t.Fatal(err)
		}
		x, rows := virtual.Prediction(), map[string]int{"gemm": 2, "cholesky": 2, "lu": 1, "qr": 1, "eigen": 1}[op]
		if x.Tasks != c.Tasks || r.Rows != rows || x.Moved < c.Moved*95/100 || x.Moved > c.Moved*105/100 {
			t.Errorf("%s: %d tasks move %d bytes in a grid of %d rows, and %d, %d and %d were counted", op, x.Tasks, x.Moved, r.Rows, c.Tasks, c.Moved, rows)
		}
	}
}
