package bench

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
)

// TestPlan: the work that tasks are counted with is that of the operation, shares of it and of
// tiles follow the speeds, and what an own tile takes is what the matrix does.
func TestPlan(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	const n, nb = 1200, 50
	for op, within := range map[string]float64{"gemm": 1e-9, "cholesky": 0.03, "lu": 0.03, "qr": 0.02} {
		s := Spec{Op: op, N: n, NB: nb, Tree: la.TreeFlat}
		x, err := Plan(context.Background(), s, []float64{1, 3, 1, 1}, plan.Options{Runtime: rt, Apart: true, Cost: TaskFlops})
		if err != nil {
			t.Fatal(err)
		}
		work, most := 0.0, 0.0
		var in, own int64
		tiles := 0
		for i, node := range x.Nodes {
			work, most = work+node.Cost, max(most, node.Cost)
			in, own, tiles = in+node.In, own+node.Own, tiles+x.Tiles[i]
		}
		if math.Abs(work/x.Flops-1) > within {
			t.Errorf("%s: work %g, want %g", op, work, x.Flops)
		}
		if part := x.Nodes[1].Cost / work; part < 0.4 || part > 0.6 || most != x.Nodes[1].Cost {
			t.Errorf("%s: who has half of the speed has %.2f of the work", op, part)
		}
		if stored := map[string]int{"gemm": 3 * 576, "cholesky": 300}[op]; stored > 0 && tiles != stored || tiles < 300 {
			t.Errorf("%s: %d tiles, want %d", op, tiles, stored)
		}
		if in+x.Driver.In != x.Moved || own < x.Bytes || x.Path <= 0 || x.Path >= work || x.P*x.Q != 4 || x.NB != nb {
			t.Errorf("%s: %+v", op, x)
		}
	}
	_, err = Plan(context.Background(), Spec{Op: "gemm", N: 1000, NB: 10}, []float64{1, 1}, plan.Options{Runtime: rt, Apart: true, Most: 1000})
	if many := (*plan.TooManyError)(nil); !errors.As(err, &many) || many.Most != 1000 {
		t.Errorf("too many tasks: %v", err)
	}
}
