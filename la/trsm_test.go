package la_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// triangle returns a well-conditioned triangular matrix of order n in padded
// memory. What must not be read, its unit diagonal too, is NaN.
func triangle[T la.Element](rnd *rand.Rand, uplo blas.Uplo, diag blas.Diag, n, pad int) la.Triangular[T] {
	g := padded[T](n, n, pad)
	in := inside(uplo)
	for i := range n {
		for j := range n {
			switch {
			case i == j && diag == blas.NonUnit:
				g.Set(i, j, T(1+rnd.Float64()))
			case i != j && in(i, j):
				g.Set(i, j, T(rnd.NormFloat64()/float64(n)))
			}
		}
	}
	return la.Triangular[T]{Uplo: uplo, Diag: diag, N: n, Data: g.Data, Stride: g.Stride}
}

func testTrsm[T la.Element](t *testing.T, v variant) {
	rnd := rand.New(rand.NewPCG(3, 1))
	e := start(t, v.opt)
	check := func(m, n int, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha T) {
		order := m
		if side == blas.Right {
			order = n
		}
		a := triangle[T](rnd, uplo, diag, order, rnd.IntN(4))
		b := random[T](rnd, m, n, rnd.IntN(4))
		if alpha == 0 {
			b = padded[T](m, n, 1)
		}
		what := fmt.Sprintf("m %d, n %d, %c %c %c %c, alpha %v", m, n, side, uplo, trans, diag, alpha)
		ga := la.General[T]{Rows: order, Cols: order, Data: a.Data, Stride: a.Stride}
		a0, b0 := clone(ga), clone(b)
		if err := la.Trsm(t.Context(), e, side, trans, alpha, a, b); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		unchanged(t, what+": A", ga, a0, nil)
		unchanged(t, what+": B", b, b0, everywhere)
		if alpha == 0 {
			if load[T](b, blas.NoTrans).norm1() != 0 {
				t.Errorf("%s: not zero", what)
			}
			return
		}
		// op(A)·X = alpha·B, or from the right Xᵀ of op(A)ᵀ·Xᵀ = alpha·Bᵀ.
		op, x, rhs := load[T](a, trans), load[T](b, blas.NoTrans), load[T](b0, blas.NoTrans).scaled(float64(alpha))
		if side == blas.Right {
			op, x, rhs = op.t(), x.t(), rhs.t()
		}
		small(t, solveResidual[T](op, x, rhs), 30, "%s", what)
	}
	all := func(m, n int, alpha T) {
		for _, side := range []blas.Side{blas.Left, blas.Right} {
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				for _, trans := range transposes() {
					for _, diag := range []blas.Diag{blas.Unit, blas.NonUnit} {
						check(m, n, side, uplo, trans, diag, alpha)
					}
				}
			}
		}
	}
	if v.cross {
		for _, m := range v.sizes {
			for _, n := range v.sizes {
				_, alpha := scalars[T](rnd)
				all(m, n, alpha)
			}
		}
	} else {
		for range 3 {
			_, alpha := scalars[T](rnd)
			all(v.sizes[rnd.IntN(len(v.sizes))], v.sizes[rnd.IntN(len(v.sizes))], alpha)
		}
	}
	nb := max(v.opt.NB, 5)
	for _, alpha := range []T{0, 1, -1, 2.5} {
		all(nb+2, 2*nb+1, alpha)
	}
	check(nb+1, nb, blas.Left, blas.Lower, blas.ConjTrans, blas.NonUnit, 1)
}

func TestTrsm(t *testing.T) {
	for _, v := range variants() {
		t.Run("f64/"+v.name, func(t *testing.T) { testTrsm[float64](t, v) })
		t.Run("f32/"+v.name, func(t *testing.T) { testTrsm[float32](t, v) })
	}
}

// TestTrsmSingular checks that a zero on the diagonal gives infinities where
// BLAS has them, and no error.
func TestTrsmSingular(t *testing.T) {
	for _, v := range variants() {
		e := start(t, v.opt)
		const n = 10
		a := la.Triangular[float64]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: make([]float64, n*n)}
		b := la.General[float64]{Rows: n, Cols: 1, Stride: 1, Data: make([]float64, n)}
		for i := range n {
			a.SetTri(i, i, 1)
			b.Data[i] = 1
		}
		a.SetTri(6, 6, 0)
		if err := la.Trsm(t.Context(), e, blas.Left, blas.NoTrans, 1, a, b); err != nil {
			t.Fatal(err)
		}
		for i, x := range b.Data[:6] {
			if x != 1 {
				t.Errorf("%s: x[%d] = %v, want 1", v.name, i, x)
			}
		}
		if !math.IsInf(b.Data[6], 1) {
			t.Errorf("%s: x[6] = %v, want +Inf", v.name, b.Data[6])
		}
	}
}
