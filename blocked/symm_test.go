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

func testSymm[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(4, 2))
	const nb = 4
	scalars := []float64{0, 1, -1, 2.5}
	for _, kind := range []blocked.Kind{blocked.SymLower, blocked.SymUpper} {
		for _, n := range []int{0, 1, 3, 4, 5, 9, 14} {
			for _, nrhs := range []int{0, 1, 2, 4, 5, 11} {
				alpha, beta := scalars[rnd.IntN(4)], scalars[rnd.IntN(4)]
				a, b, c := blockedtest.Memory[T](n, n), stored[T](rnd, blas.NoTrans, n, nrhs), blockedtest.Memory[T](n, nrhs)
				in := blockedtest.InTriangle(kind.Uplo())
				for i := range n {
					for j := range n {
						if in(i, j) {
							a.Set(i, j, T(rnd.NormFloat64()))
						}
					}
					for j := range nrhs {
						if beta != 0 {
							c.Set(i, j, T(rnd.NormFloat64()))
						}
					}
				}
				a0, b0, c0 := blockedtest.CopyOf(a), blockedtest.CopyOf(b), blockedtest.CopyOf(c)
				what := fmt.Sprintf("%v, n %d, nrhs %d, alpha %v, beta %v", kind, n, nrhs, alpha, beta)
				tn, ts := blockedtest.TileCount(n, nb), blockedtest.TileCount(nrhs, nb)
				want := tn * tn * ts
				switch {
				case alpha == 0 && beta == 1:
					want = 0
				case alpha == 0:
					want = tn * ts
				}
				va := blockedtest.ViewKind(a, kind, nb)
				diag := blocked.NewDiagonal(va, 2)
				blockedtest.Must(t, rt, what, want, func(p *blocked.Program[T]) error {
					return p.Symm(T(alpha), va, diag, blocked.View(b, nb), T(beta), blocked.View(c, nb))
				})
				blockedtest.Kept(t, what+": A", a, a0, nil)
				blockedtest.Kept(t, what+": B", b, b0, nil)
				fa, fb, fc := blockedtest.Of(a, blas.NoTrans).Mirrored(kind.Uplo()), blockedtest.Of(b0, blas.NoTrans), blockedtest.Of(c0, blas.NoTrans)
				diff := blockedtest.Minus(alpha, fa.Times(fb, n), -beta, fc)
				got := blockedtest.Minus(1, diff, 1, blockedtest.Of(c, blas.NoTrans)).Norm(n, nrhs)
				limit := 0.0
				if alpha != 0 {
					limit += productLimit[T](n, alpha, fa.Norm(n, n), fb.Norm(n, nrhs), 0, 0)
				}
				if beta != 0 {
					limit += productLimit[T](n, 0, 0, 0, beta, fc.Norm(n, nrhs))
				}
				if !(got <= limit) {
					t.Errorf("%s: ‖ΔC‖ = %g, want at most %g", what, got, limit)
				}
			}
		}
	}
}

func TestSymm(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 3, Float: true})
	testSymm[float64](t, rt)
	testSymm[float32](t, rt)
}

func TestSymmPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	matrix := func(kind blocked.Kind, m, n, nb int) *blocked.Matrix[float64] {
		return blocked.New[float64](kind, m, n, nb)
	}
	sym, b := matrix(blocked.SymLower, 5, 5, 2), matrix(blocked.Full, 5, 3, 2)
	diag := blocked.NewDiagonal(sym, 1)
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			f    func()
			want any
		}{
			"diagonal of a full one": {func() { blocked.NewDiagonal(matrix(blocked.Full, 5, 5, 2), 1) }, blocked.ErrKind},
			"A, full":                {func() { p.Symm(1, matrix(blocked.Full, 5, 5, 2), diag, b, 0, b) }, blocked.ErrKind},
			"B":                      {func() { p.Symm(1, sym, diag, sym, 0, b) }, blocked.ErrKind},
			"order":                  {func() { p.Symm(1, sym, diag, matrix(blocked.Full, 4, 3, 2), 0, b) }, blocked.ErrShape},
			"right-hand sides":       {func() { p.Symm(1, sym, diag, matrix(blocked.Full, 5, 2, 2), 0, b) }, blocked.ErrShape},
			"tile size":              {func() { p.Symm(1, sym, diag, matrix(blocked.Full, 5, 3, 3), 0, b) }, blocked.ErrShape},
			"diagonal of another": {func() {
				p.Symm(1, sym, blocked.NewDiagonal(matrix(blocked.SymLower, 4, 4, 2), 1), b, 0, matrix(blocked.Full, 5, 3, 2))
			}, blocked.ErrShape},
		} {
			if v := blockedtest.Recovered(c.f); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
