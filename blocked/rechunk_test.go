package blocked_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// TestRechunk: tiles of all sizes become those of all others, on one machine and on nodes, where
// each tile is sent at most once to each, and never to the driver.
func TestRechunk(t *testing.T) {
	local, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	d := blockedtest.StartNodes(t, func(o *cluster.Options) { o.Idle, o.Owner, o.Stay = true, true, true })
	for _, rt := range []exec.Runtime{local, d} {
		for _, kind := range []blocked.Kind{blocked.Full, blocked.SymLower, blocked.SymUpper, blocked.TriLower} {
			for _, nb := range [][2]int{{7, 3}, {3, 8}, {5, 5}, {40, 6}} {
				m, n := 23, 17
				if kind != blocked.Full {
					n = m
				}
				name := fmt.Sprintf("%T, %v, %v", rt, kind, nb)
				want := blocked.New[float64](kind, m, n, 9)
				blockedtest.Run(t, local, func(p *blocked.Program[float64]) error { return p.Plrnt(want, 1, 0) })
				a, err := blocked.Distributed[float64](rt, kind, m, n, nb[0])
				b, err2 := blocked.Distributed[float64](rt, kind, m, n, nb[1])
				if err := errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(a.SetLayout(blocked.BlockCyclic{P: 1, Q: 2}, 2), b.SetLayout(blocked.BlockCyclic{P: 2, Q: 1}, 2)); err != nil {
					t.Fatal(err)
				}
				blockedtest.Run(t, rt, func(p *blocked.Program[float64]) error { return p.Plrnt(a, 1, 0) })
				all, driver := clustertest.Traffic(d)
				blockedtest.Run(t, rt, func(p *blocked.Program[float64]) error { return p.Rechunk(a, b) })
				a.Close()
				all2, driver2 := clustertest.Traffic(d)
				// A tile is sent whole, to at most two nodes.
				if rt == d && (driver2 != driver || all2-all > 2*a.Bytes()) {
					t.Errorf("%s: %d bytes of %d moved, %d through the driver", name, all2-all, a.Bytes(), driver2-driver)
				}
				for i := range m {
					for j := range n {
						if got := b.At(i, j); got != want.At(i, j) {
							t.Fatalf("%s: (%d, %d) is %v, want %v", name, i, j, got, want.At(i, j))
						}
					}
				}
				b.Close()
			}
		}
	}
	for want, f := range map[error]func(p *blocked.Program[float64]){
		blocked.ErrKind: func(p *blocked.Program[float64]) {
			p.Rechunk(blocked.New[float64](blocked.Full, 3, 3, 2), blocked.New[float64](blocked.SymLower, 3, 3, 2))
		},
		blocked.ErrShape: func(p *blocked.Program[float64]) {
			p.Rechunk(blocked.New[float64](blocked.Full, 3, 3, 2), blocked.New[float64](blocked.Full, 3, 4, 2))
		},
	} {
		if fault := blockedtest.Recovered(func() { f(blocked.NewProgram(local.NewJob(t.Context()), kernels.For[float64](op.NewTable()))) }); fault != want {
			t.Errorf("panic %v, want %v", fault, want)
		}
	}
}
