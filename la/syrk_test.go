package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

func testSyrk[T la.Element](t *testing.T, v variant) {
	rnd := rand.New(rand.NewPCG(2, 1))
	e := start(t, v.opt)
	check := func(n, k int, uplo blas.Uplo, trans blas.Transpose, alpha, beta T) {
		a := stored[T](rnd, trans, n, k, rnd.IntN(4))
		g := padded[T](n, n, rnd.IntN(4)) // the other triangle is NaN
		in := inside(uplo)
		for i := range n {
			for j := range n {
				if in(i, j) && beta != 0 {
					g.Set(i, j, T(rnd.NormFloat64()))
				}
			}
		}
		if alpha == 0 {
			a = padded[T](a.Rows, a.Cols, 1)
		}
		what := fmt.Sprintf("n %d, k %d, uplo %c, trans %c, alpha %v, beta %v", n, k, uplo, trans, alpha, beta)
		a0, g0 := clone(a), clone(g)
		c := la.Symmetric[T]{Uplo: uplo, N: n, Data: g.Data, Stride: g.Stride}
		c0 := la.Symmetric[T]{Uplo: uplo, N: n, Data: g0.Data, Stride: g0.Stride}
		if err := la.Syrk(t.Context(), e, trans, alpha, a, beta, c); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		unchanged(t, what+": A", a, a0, nil)
		unchanged(t, what+": C", g, g0, in)
		op := load[T](a, trans)
		small(t, gemmResidual(alpha, op, op.t(), beta, load[T](c0, blas.NoTrans), load[T](c, blas.NoTrans)), 3, "%s", what)
	}
	both := func(n, k int, alpha, beta T) {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			for _, trans := range transposes() {
				check(n, k, uplo, trans, alpha, beta)
			}
		}
	}
	v.shapes(rnd, func(n, m, k int) {
		if v.cross && m != v.sizes[0] { // a product of A and Aᵀ has two sizes
			return
		}
		alpha, beta := scalars[T](rnd)
		both(n, k, alpha, beta)
	})
	nb := max(v.opt.NB, 5)
	for _, alpha := range []T{0, 1, -1, 2.5} {
		for _, beta := range []T{0, 1, -1, 2.5} {
			both(nb+2, 2*nb-1, alpha, beta)
		}
	}
	check(nb+1, nb, blas.Lower, blas.ConjTrans, 1, 1)
}

func TestSyrk(t *testing.T) {
	for _, v := range variants() {
		t.Run("f64/"+v.name, func(t *testing.T) { testSyrk[float64](t, v) })
		t.Run("f32/"+v.name, func(t *testing.T) { testSyrk[float32](t, v) })
	}
}
