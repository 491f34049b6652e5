package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec"
)

// TestPlan: tasks and what has to move follow the speeds, and too many tasks are not counted.
func TestPlan(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	const n, nb = 1200, 50
	for _, op := range []string{"gemm", "cholesky", "lu", "qr"} {
		s := Spec{Problem: Problem{Op: op, N: n, NB: nb, Tree: qr.TreeFlat}}.WithDefaults()
		x, err := planned[float64](context.Background(), s, []float64{1, 3, 1, 1}, plan.Options{Runtime: rt, Apart: true, Cost: func(string) float64 { return 1 }})
		if err != nil {
			t.Fatal(err)
		}
		work, most, tasks := 0.0, 0.0, x.Driver.Tasks
		var in int64
		for _, node := range x.Nodes {
			work, most, in, tasks = work+node.Cost, max(most, node.Cost), in+node.In, tasks+node.Tasks
		}
		if part := x.Nodes[1].Cost / work; part < 0.4 || part > 0.6 || most != x.Nodes[1].Cost {
			t.Errorf("%s: who has half of the speed has %.2f of the work", op, part)
		}
		if in+x.Driver.In != x.Moved || tasks != x.Tasks || x.Path <= 0 || x.Path >= work || x.Path != float64(x.Steps) {
			t.Errorf("%s: %+v", op, x)
		}
	}
	_, err = planned[float64](context.Background(), Spec{Problem: Problem{Op: "gemm", N: 1000, NB: 10}}.WithDefaults(), []float64{1, 1}, plan.Options{Runtime: rt, Apart: true, Most: 1000})
	if many := (*plan.TooManyError)(nil); !errors.As(err, &many) || many.Most != 1000 {
		t.Errorf("too many tasks: %v", err)
	}
}
