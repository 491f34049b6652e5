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

// triangularTasks returns how many tasks trmm and trsm have, for a triangle of some order.
func triangularTasks(order, lines, nb int, alpha float64) int {
	mt := blockedtest.TileCount(order, nb)
	if alpha == 0 {
		return mt * blockedtest.TileCount(lines, nb)
	}
	return mt * (mt + 1) / 2 * blockedtest.TileCount(lines, nb)
}

// triangular returns op(A) as it is on the left: transposed, if it is on the right.
func triangular[T blocked.Element](a blocked.General[T], side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag) blockedtest.Element {
	op := blockedtest.Element(func(i, j int) float64 {
		if i == j && diag == blas.Unit {
			return 1
		}
		return blockedtest.Of(a, blas.NoTrans)(i, j)
	}).Only(uplo)
	if (trans != blas.NoTrans) != (side == blas.Right) {
		op = op.T()
	}
	return op
}

func testTrsm[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(5, 1))
	const nb = 4
	scalars := []float64{0, 1, -1, 2.5}
	solve := func(kind blocked.Kind, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int) {
		alpha := scalars[rnd.IntN(4)]
		order, lines := m, n
		if side == blas.Right {
			order, lines = n, m
		}
		in := blockedtest.InTriangle(uplo)
		a := blockedtest.Memory[T](order, order) // NaN where it must not be read
		for i := range order {
			for j := range order {
				switch {
				case i == j && diag == blas.NonUnit:
					a.Set(i, j, T(1+rnd.Float64()))
				case i != j && in(i, j):
					a.Set(i, j, T(rnd.NormFloat64()/float64(order)))
				}
			}
		}
		b := blockedtest.Normal[T](rnd, m, n)
		if alpha == 0 {
			b = blockedtest.Memory[T](m, n)
		}
		a0, b0 := blockedtest.CopyOf(a), blockedtest.CopyOf(b)
		what := fmt.Sprintf("%v, m %d, n %d, %c %c %c %c, alpha %v", kind, m, n, side, uplo, trans, diag, alpha)
		blockedtest.Must(t, rt, what, triangularTasks(order, lines, nb, alpha), func(p *blocked.Program[T]) error {
			return p.Trsm(side, uplo, trans, diag, T(alpha), blockedtest.ViewKind(a, kind, nb), blocked.View(b, nb))
		})
		blockedtest.Kept(t, what+": A", a, a0, nil)
		blockedtest.Kept(t, what+": B", b, b0, blockedtest.Anywhere)
		if alpha == 0 {
			if blockedtest.Of(b, blas.NoTrans).Norm(m, n) != 0 {
				t.Errorf("%s: not zero", what)
			}
			return
		}
		op, x, rhs := triangular(a, side, uplo, trans, diag), blockedtest.Of(b, blas.NoTrans), blockedtest.Of(b0, blas.NoTrans)
		if side == blas.Right {
			x, rhs = x.T(), rhs.T()
		}
		got := blockedtest.Minus(alpha, rhs, 1, op.Times(x, order)).Norm(order, lines)
		limit := 30 * float64(order) * op.Norm(order, order) * x.Norm(order, lines) * blockedtest.Roundoff[T]()
		if !(got <= limit) {
			t.Errorf("%s: ‖B−AX‖ = %g, want at most %g", what, got, limit)
		}
	}
	for _, kind := range blockedtest.FactorKinds() {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			if stored := kind.Uplo(); stored != blas.All && stored != uplo {
				continue
			}
			for _, side := range []blas.Side{blas.Left, blas.Right} {
				for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
					for _, diag := range []blas.Diag{blas.NonUnit, blas.Unit} {
						for _, m := range []int{0, 1, 4, 5, 13} {
							for _, n := range []int{0, 1, 3, 9, 12} {
								if kind != blocked.Full && rnd.IntN(3) > 0 {
									continue // the kinds differ in nothing but what is stored
								}
								if kind != blocked.Full && diag == blas.Unit && (kind == blocked.TriLower || kind == blocked.TriUpper) && m == 0 {
									continue
								}
								solve(kind, side, uplo, trans, diag, m, n)
							}
						}
					}
				}
			}
		}
	}
}

func TestTrsm(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	testTrsm[float64](t, rt)
	testTrsm[float32](t, rt)
}

func TestTrsmPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	matrix := func(kind blocked.Kind, m, n, nb int) *blocked.Matrix[float64] {
		return blocked.New[float64](kind, m, n, nb)
	}
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		trsm := func(side blas.Side, uplo blas.Uplo, a, b *blocked.Matrix[float64]) func() {
			return func() { p.Trsm(side, uplo, blas.NoTrans, blas.NonUnit, 1, a, b) }
		}
		for name, c := range map[string]struct {
			f    func()
			want any
		}{
			"left order":   {trsm(blas.Left, blas.Lower, matrix(blocked.TriLower, 4, 4, 2), matrix(blocked.Full, 3, 4, 2)), blocked.ErrShape},
			"right order":  {trsm(blas.Right, blas.Lower, matrix(blocked.TriLower, 3, 3, 2), matrix(blocked.Full, 3, 4, 2)), blocked.ErrShape},
			"not square":   {trsm(blas.Left, blas.Lower, matrix(blocked.Full, 3, 4, 2), matrix(blocked.Full, 3, 4, 2)), blocked.ErrShape},
			"tile size":    {trsm(blas.Left, blas.Lower, matrix(blocked.TriLower, 3, 3, 3), matrix(blocked.Full, 3, 4, 2)), blocked.ErrShape},
			"other half":   {trsm(blas.Left, blas.Upper, matrix(blocked.TriLower, 3, 3, 2), matrix(blocked.Full, 3, 4, 2)), blocked.ErrKind},
			"B":            {trsm(blas.Left, blas.Lower, matrix(blocked.TriLower, 3, 3, 2), matrix(blocked.SymLower, 3, 3, 2)), blocked.ErrKind},
			"other half 2": {trsm(blas.Left, blas.Lower, matrix(blocked.SymUpper, 3, 3, 2), matrix(blocked.Full, 3, 3, 2)), blocked.ErrKind},
		} {
			if v := blockedtest.Recovered(c.f); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
