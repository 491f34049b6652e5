package chol_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
)

// TestChud: VᵀV = UᵀU ± XᵀX, from another matrix and in place, with more rows in X than a tile has.
func TestChud(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, 4, 5, 13} {
		for _, k := range []int{0, 1, 9} {
			for _, down := range []bool{false, true} {
				for _, inPlace := range []bool{false, true} {
					u, x := blocked.New[float64](blocked.TriUpper, n, n, 4), blocked.New[float64](blocked.Full, k, n, 4)
					v, sign := blocked.New[float64](blocked.SymUpper, n, n, 4), 1.0
					if down {
						sign = -1
					}
					if inPlace {
						v = u
					}
					want := make([]float64, n*n)
					for i := range n {
						for j := i; j < n; j++ {
							u.Set(i, j, rng.Float64()-0.5)
						}
						u.Set(i, i, 5+rng.Float64())
						for l := range k {
							x.Set(l, i, (rng.Float64()-0.5)/2)
						}
					}
					for i := range n {
						for j := i; j < n; j++ {
							for l := range i + 1 {
								want[i*n+j] += u.At(l, i) * u.At(l, j)
							}
							for l := range k {
								want[i*n+j] += sign * x.At(l, i) * x.At(l, j)
							}
						}
					}
					what := fmt.Sprintf("n %d, k %d, down %v, in place %v", n, k, down, inPlace)
					if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return chol.Chud(p, down, u, x, v) }); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for i := range n {
						for j := i; j < n && (k > 0 || inPlace); j++ {
							s := -want[i*n+j]
							for l := range i + 1 {
								s += v.At(l, i) * v.At(l, j)
							}
							if !(math.Abs(s) < 1e-12) {
								t.Fatalf("%s: residual %v at (%d, %d)", what, s, i, j)
							}
						}
					}
				}
			}
		}
	}
}

func TestChudErrors(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	u, x := blocked.New[float64](blocked.SymUpper, 5, 5, 2), blocked.New[float64](blocked.Full, 1, 5, 2)
	u.SetIdentity()
	x.Set(0, 3, 2)
	_, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return chol.Chud(p, true, u, x, u) })
	if npd, ok := errors.AsType[*kernels.NotPositiveDefiniteError](err); !ok || npd.Minor != 4 {
		t.Errorf("error %v, want minor 4", npd)
	}
	for want, m := range map[error][3]*blocked.Matrix[float64]{
		blocked.ErrKind:  {blocked.New[float64](blocked.SymLower, 5, 5, 2), x, u},
		blocked.ErrShape: {u, blocked.New[float64](blocked.Full, 1, 4, 2), u},
	} {
		blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %v", got, want)
				}
			}()
			return chol.Chud(p, false, m[0], m[1], m[2])
		})
	}
}
