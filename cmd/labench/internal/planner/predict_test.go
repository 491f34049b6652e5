package planner

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/sim"
)

// nodes is a machine of a driver and so many nodes of 4 cores.
func nodes(count int) *sim.Machine {
	return &sim.Machine{Kinds: []sim.Kind{{Name: "x", Cores: 4, Arch: "amd64", Rate: 1e9}}, Nodes: []sim.Nodes{{Kind: "x", Count: count + 1}}, Apart: true,
		Network: sim.Network{Latency: 1e-6, Bandwidth: 1e9}}
}

// TestPredict: on one node all operations that can be predicted take at least what their work
// does, and the workers do that work and no more.
func TestPredict(t *testing.T) {
	ctx := context.Background()
	const n, nb = 600, 50
	for _, op := range Predictable() {
		m := nodes(0)
		x, err := Predict(ctx, bench.Problem{Op: op, N: n, NB: nb}, 0, sim.Options{Machine: m, Record: true})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		busy := x.Sum().Busy
		if x.Seconds < busy/4 || x.Path <= 0 || x.Path > x.Seconds+1e-9 || math.Abs(x.Seconds*4-busy-x.Sum().Idle-x.Sum().Driver-x.Sum().Throttled) > 1e-9 || x.Tasks == 0 || x.NB != nb || x.Count != 1 {
			t.Errorf("%s: %+v", op, x)
		}
	}
}

// TestPredictGrid: a grid that there is not is refused.
func TestPredictGrid(t *testing.T) {
	for op, rows := range map[string]int{"cholesky": 3, "lu": 2} {
		_, err := Predict(context.Background(), bench.Problem{Op: op, N: 200, NB: 50}, rows, sim.Options{Machine: nodes(4), Nodes: cluster.Options{Owner: true}})
		if e := (*GridError)(nil); !errors.As(err, &e) {
			t.Errorf("%s: %v", op, err)
		}
	}
}
