package chol_test

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"gonum.org/v1/gonum/blas"
)

func testPotri[T blocked.Element](t *testing.T, rt *exec.Local) {
	for _, kind := range blockedtest.FactorKinds() {
		uplo := blockedtest.TriangleOf(kind)
		for _, result := range []blocked.Kind{blocked.SymLower, blocked.SymUpper} {
			for _, nb := range []int{1, 3, 4} {
				for _, n := range []int{0, 1, nb - 1, nb + 1, 2 * nb, 3*nb + 2} {
					what := fmt.Sprintf("%v, inverse %v, n %d, nb %d", kind, result, n, nb)
					g := blockedtest.Generated[T](t, matgen.Spec{Kind: matgen.SPD, N: n}, uplo)
					a := blockedtest.Of(blockedtest.CopyOf(g), blas.NoTrans).Mirrored(uplo)
					wm, c := blockedtest.Memory[T](n, n), blockedtest.Memory[T](n, n)
					c0 := blockedtest.CopyOf(c)
					w := blockedtest.ViewKind(wm, blocked.TriLower, nb)
					mt := blockedtest.TileCount(n, nb)
					blockedtest.Must(t, rt, what, mt*(mt+1)*(mt+2)/2+mt*(mt+1)/2, func(p *blocked.Program[T]) error {
						f := blockedtest.ViewKind(g, kind, nb)
						if err := chol.Potrf(p, f); err != nil {
							return err
						}
						return chol.Potri(p, f, w, blockedtest.ViewKind(c, result, nb))
					})
					blockedtest.Kept(t, what, c, c0, blockedtest.InTriangle(result.Uplo()))
					inv := blockedtest.Of(c, blas.NoTrans).Mirrored(result.Uplo())
					one := blockedtest.Element(func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
					got := blockedtest.Minus(1, one, 1, a.Times(inv, n)).Norm(n, n)
					if limit := 30 * float64(n) * a.Norm(n, n) * inv.Norm(n, n) * blockedtest.Roundoff[T](); !(got <= limit) {
						t.Errorf("%s: ‖I−A·A⁻¹‖ = %g, want at most %g", what, got, limit)
					}
				}
			}
		}
	}
}

func TestPotri(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	testPotri[float64](t, rt)
	testPotri[float32](t, rt)
}

func TestPotriPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	matrix := func(kind blocked.Kind, n, nb int) *blocked.Matrix[float64] {
		return blocked.New[float64](kind, n, n, nb)
	}
	const sym, tri = blocked.SymLower, blocked.TriLower
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			a, w, c *blocked.Matrix[float64]
			want    any
		}{
			"W, kind":      {matrix(sym, 3, 2), matrix(blocked.TriUpper, 3, 2), matrix(sym, 3, 2), blocked.ErrKind},
			"C, kind":      {matrix(sym, 3, 2), matrix(tri, 3, 2), matrix(blocked.Full, 3, 2), blocked.ErrKind},
			"W, order":     {matrix(sym, 3, 2), matrix(tri, 4, 2), matrix(sym, 3, 2), blocked.ErrShape},
			"C, order":     {matrix(sym, 3, 2), matrix(tri, 3, 2), matrix(sym, 2, 2), blocked.ErrShape},
			"W, tile size": {matrix(sym, 3, 2), matrix(tri, 3, 3), matrix(sym, 3, 2), blocked.ErrShape},
			"A, shape":     {blocked.New[float64](blocked.Full, 3, 4, 2), matrix(tri, 3, 2), matrix(sym, 3, 2), blocked.ErrShape},
		} {
			if v := blockedtest.Recovered(func() { chol.Potri(p, c.a, c.w, c.c) }); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
