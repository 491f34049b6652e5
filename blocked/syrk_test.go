package blocked_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/blas"
)

func testSyrk[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(4, 1))
	const nb = 4
	scalars := []float64{0, 1, -1, 2.5}
	for _, kind := range []blocked.Kind{blocked.SymLower, blocked.SymUpper} {
		in := blockedtest.InTriangle(kind.Uplo())
		for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
			for _, n := range []int{0, 1, 3, 4, 5, 9} {
				for _, k := range []int{0, 1, 4, 5, 11} {
					alpha, beta := scalars[rnd.IntN(4)], scalars[rnd.IntN(4)]
					a, c := stored[T](rnd, trans, n, k), blockedtest.Memory[T](n, n)
					for i := range n {
						for j := range n {
							if in(i, j) && beta != 0 {
								c.Set(i, j, T(rnd.NormFloat64()))
							}
						}
					}
					if alpha == 0 {
						a = blockedtest.Memory[T](a.Rows, a.Cols)
					}
					a0, c0 := blockedtest.CopyOf(a), blockedtest.CopyOf(c)
					what := fmt.Sprintf("%v, n %d, k %d, trans %c, alpha %v, beta %v", kind, n, k, trans, alpha, beta)
					half := blockedtest.TileCount(n, nb) * (blockedtest.TileCount(n, nb) + 1) / 2
					want := half * blockedtest.TileCount(k, nb)
					switch {
					case (alpha == 0 || k == 0) && beta == 1:
						want = 0
					case alpha == 0 || k == 0:
						want = half
					}
					blockedtest.Must(t, rt, what, want, func(p *blocked.Program[T]) error {
						return p.Syrk(trans, T(alpha), blocked.View(a, nb), T(beta), blockedtest.ViewKind(c, kind, nb))
					})
					blockedtest.Kept(t, what+": A", a, a0, nil)
					blockedtest.Kept(t, what+": C", c, c0, in)
					fa, fc := blockedtest.Of(a, trans), blockedtest.Of(c0, blas.NoTrans).Mirrored(kind.Uplo())
					diff := blockedtest.Minus(alpha, fa.Times(fa.T(), k), -beta, fc)
					got := blockedtest.Minus(1, diff, 1, blockedtest.Of(c, blas.NoTrans).Mirrored(kind.Uplo())).Norm(n, n)
					limit := 0.0
					if alpha != 0 {
						limit += productLimit[T](k, alpha, fa.Norm(n, k), fa.T().Norm(k, n), 0, 0)
					}
					if beta != 0 {
						limit += productLimit[T](k, 0, 0, 0, beta, fc.Norm(n, n))
					}
					if !(got <= limit) {
						t.Errorf("%s: ‖ΔC‖ = %g, want at most %g", what, got, limit)
					}
				}
			}
		}
	}
}

func TestSyrk(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	testSyrk[float64](t, rt)
	testSyrk[float32](t, rt)
}

func TestSyrkPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	matrix := func(kind blocked.Kind, m, n, nb int) *blocked.Matrix[float64] {
		return blocked.New[float64](kind, m, n, nb)
	}
	const no, yes = blas.NoTrans, blas.Trans
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			f    func() error
			want any
		}{
			"order": {func() error {
				return p.Syrk(no, 1, matrix(blocked.Full, 3, 4, 2), 0, matrix(blocked.SymLower, 4, 4, 2))
			}, blocked.ErrShape},
			"trans": {func() error {
				return p.Syrk(yes, 1, matrix(blocked.Full, 3, 4, 2), 0, matrix(blocked.SymLower, 3, 3, 2))
			}, blocked.ErrShape},
			"tile size": {func() error {
				return p.Syrk(no, 1, matrix(blocked.Full, 3, 4, 2), 0, matrix(blocked.SymLower, 3, 3, 3))
			}, blocked.ErrShape},
			"A": {func() error {
				return p.Syrk(no, 1, matrix(blocked.TriLower, 3, 3, 2), 0, matrix(blocked.SymLower, 3, 3, 2))
			}, blocked.ErrKind},
			"C, full": {func() error { return p.Syrk(no, 1, matrix(blocked.Full, 3, 3, 2), 0, matrix(blocked.Full, 3, 3, 2)) }, blocked.ErrKind},
			"C, tri": {func() error {
				return p.Syrk(no, 1, matrix(blocked.Full, 3, 3, 2), 0, matrix(blocked.TriUpper, 3, 3, 2))
			}, blocked.ErrKind},
		} {
			if v := blockedtest.Recovered(func() { c.f() }); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
