package bench

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/la"
)

// nodes is a machine of a driver and so many nodes of 4 cores.
func nodes(count int) *sim.Machine {
	return &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 4, Arch: "amd64", Rate: 1e9}}, Nodes: []sim.Nodes{{Kind: "x", Count: count + 1}}, Apart: true,
		Network: sim.Network{Latency: 1e-6, Bandwidth: 1e9}}
}

// TestPredict: on one node all operations that can be predicted take at least what their work
// does, and the workers do that work and no more; on several nodes those that can be distributed
// move what plan.Runtime counts.
func TestPredict(t *testing.T) {
	ctx := context.Background()
	const n, nb = 600, 50
	for _, op := range Predictable() {
		m := nodes(0)
		x, err := Predict(ctx, Problem{Op: op, N: n, NB: nb}, 0, sim.Options{Machine: m, Record: true})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		busy := x.Sum().Busy
		if x.Seconds < busy/4 || x.Path <= 0 || x.Path > x.Seconds+1e-9 || math.Abs(x.Seconds*4-busy-x.Sum().Idle-x.Sum().Driver-x.Sum().Throttled) > 1e-9 || x.Tasks == 0 || x.NB != nb || x.Count != 1 {
			t.Errorf("%s: %+v", op, x)
		}
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, op := range []string{"gemm", "cholesky", "lu", "qr"} {
		s := Spec{Problem: Problem{Op: op, N: n, NB: nb, Tree: la.TreeFlat}}
		x, err := Predict(ctx, s.Problem, 0, sim.Options{Machine: nodes(4), Nodes: cluster.Options{Owner: true, Stay: true}})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		c, err := planned[float64](ctx, s.WithDefaults(), []float64{1, 1, 1, 1}, plan.Options{Runtime: rt, Apart: true})
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]int{"gemm": 2, "cholesky": 2, "lu": 1, "qr": 1}[op]
		if x.Tasks != c.Tasks || x.Rows != rows || x.Moved < c.Moved*95/100 || x.Moved > c.Moved*105/100 {
			t.Errorf("%s: %d tasks move %d bytes in a grid of %d rows, and %d, %d and %d were counted", op, x.Tasks, x.Moved, x.Rows, c.Tasks, c.Moved, rows)
		}
	}
}

// TestPredictGrid: a grid that there is not is refused.
func TestPredictGrid(t *testing.T) {
	for op, rows := range map[string]int{"cholesky": 3, "lu": 2} {
		_, err := Predict(context.Background(), Problem{Op: op, N: 200, NB: 50}, rows, sim.Options{Machine: nodes(4), Nodes: cluster.Options{Owner: true}})
		if e := (*GridError)(nil); !errors.As(err, &e) {
			t.Errorf("%s: %v", op, err)
		}
	}
}
