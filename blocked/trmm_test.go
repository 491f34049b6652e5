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

func testTrmm[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(6, 1))
	const nb = 4
	multiply := func(kind blocked.Kind, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int) {
		alpha := []float64{0, 1, -1, 2.5}[rnd.IntN(4)]
		order, lines := m, n
		if side == blas.Right {
			order, lines = n, m
		}
		in := blockedtest.InTriangle(uplo)
		a := blockedtest.Memory[T](order, order) // NaN where it must not be read
		for i := range order {
			for j := range order {
				if in(i, j) && (i != j || diag == blas.NonUnit) {
					a.Set(i, j, T(rnd.NormFloat64()))
				}
			}
		}
		b := blockedtest.Normal[T](rnd, m, n)
		a0, b0 := blockedtest.CopyOf(a), blockedtest.CopyOf(b)
		what := fmt.Sprintf("%v, m %d, n %d, %c %c %c %c, alpha %v", kind, m, n, side, uplo, trans, diag, alpha)
		blockedtest.Must(t, rt, what, triangularTasks(order, lines, nb, alpha), func(p *blocked.Program[T]) error {
			return p.Trmm(side, uplo, trans, diag, T(alpha), blockedtest.ViewKind(a, kind, nb), blocked.View(b, nb))
		})
		blockedtest.Kept(t, what+": A", a, a0, nil)
		blockedtest.Kept(t, what+": B", b, b0, blockedtest.Anywhere)
		op, x, rhs := triangular(a, side, uplo, trans, diag), blockedtest.Of(b, blas.NoTrans), blockedtest.Of(b0, blas.NoTrans)
		if side == blas.Right {
			x, rhs = x.T(), rhs.T()
		}
		got := blockedtest.Minus(alpha, op.Times(rhs, order), 1, x).Norm(order, lines)
		limit := 30 * float64(order) * op.Norm(order, order) * rhs.Norm(order, lines) * blockedtest.Roundoff[T]()
		if !(got <= limit) {
			t.Errorf("%s: ‖αAB−C‖ = %g, want at most %g", what, got, limit)
		}
	}
	for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
		for _, side := range []blas.Side{blas.Left, blas.Right} {
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans} {
				for _, diag := range []blas.Diag{blas.NonUnit, blas.Unit} {
					for _, m := range []int{0, 1, 4, 5, 13} {
						for _, n := range []int{0, 1, 3, 9, 12} {
							multiply(blocked.Full, side, uplo, trans, diag, m, n)
						}
					}
				}
			}
		}
	}
	multiply(blocked.TriLower, blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 9, 6)
	multiply(blocked.SymUpper, blas.Right, blas.Upper, blas.Trans, blas.NonUnit, 6, 9)
}

func TestTrmm(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	testTrmm[float64](t, rt)
	testTrmm[float32](t, rt)
}

func TestTrmmPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	matrix := func(kind blocked.Kind, m, n, nb int) *blocked.Matrix[float64] {
		return blocked.New[float64](kind, m, n, nb)
	}
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			a, b *blocked.Matrix[float64]
			want any
		}{
			"order":      {matrix(blocked.TriLower, 4, 4, 2), matrix(blocked.Full, 3, 4, 2), blocked.ErrShape},
			"tile size":  {matrix(blocked.TriLower, 3, 3, 3), matrix(blocked.Full, 3, 4, 2), blocked.ErrShape},
			"other half": {matrix(blocked.TriUpper, 3, 3, 2), matrix(blocked.Full, 3, 4, 2), blocked.ErrKind},
			"B":          {matrix(blocked.TriLower, 3, 3, 2), matrix(blocked.SymLower, 3, 3, 2), blocked.ErrKind},
		} {
			f := func() { p.Trmm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, c.a, c.b) }
			if v := blockedtest.Recovered(f); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
