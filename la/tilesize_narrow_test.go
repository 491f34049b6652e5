package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// Problems that are long and narrow take few tasks, and come out right.
func TestNarrow(t *testing.T) {
	const long = 6000
	tasks := 0
	e := start(t, la.Options{Workers: 2, Deterministic: true, Progress: func(_, total int) { tasks = total }})
	rnd := rand.New(rand.NewPCG(6, 1))
	for _, n := range []int{1, 4, 9, 70} {
		a, b := asDense(random[float64](rnd, long, n, 0)), asDense(random[float64](rnd, n, n, 0))
		for i := range n {
			b.Set(i, i, float64(n)+1)
		}
		near := func(what string, got, want mat.Matrix, err error) {
			t.Helper()
			var d mat.Dense
			d.Sub(got, want)
			if err != nil || !(mat.Norm(&d, 1) <= 1e-12*mat.Norm(want, 1)) {
				t.Errorf("%s, n = %d: off by %g of %g: %v", what, n, mat.Norm(&d, 1), mat.Norm(want, 1), err)
			}
			if tasks > 1000 {
				t.Errorf("%s, n = %d: %d tasks", what, n, tasks)
			}
		}
		var got, want mat.Dense
		product := func(what string, ta, tb blas.Transpose, p, q mat.Matrix) {
			t.Helper()
			got.Reset()
			want.Reset()
			op := func(t blas.Transpose, m mat.Matrix) mat.Matrix {
				if t == blas.Trans {
					return m.T()
				}
				return m
			}
			want.Mul(op(ta, p), op(tb, q))
			near(what, &got, &want, la.Gemm[float64](t.Context(), e, ta, tb, 1, p, q, 0, &got))
		}
		product("AᵀA", blas.Trans, blas.NoTrans, a, a)
		product("AB", blas.NoTrans, blas.NoTrans, a, b)
		product("BAᵀ", blas.NoTrans, blas.Trans, b, a)
		var s mat.SymDense
		want.Reset()
		want.Mul(a.T(), a)
		err := la.Syrk[float64](t.Context(), e, blas.Trans, 1, a, 0, &s)
		near("syrk", &s, &want, err)

		upper := mat.NewTriDense(n, mat.Upper, mat.DenseCopyOf(b).RawMatrix().Data)
		for _, side := range []blas.Side{blas.Left, blas.Right} {
			x, back := mat.DenseCopyOf(a), new(mat.Dense)
			if side == blas.Left {
				x = mat.DenseCopyOf(a.T())
			}
			right := mat.DenseCopyOf(x)
			err := la.Trsm[float64](t.Context(), e, side, blas.NoTrans, 1, upper, x)
			if side == blas.Left {
				back.Mul(upper, x)
			} else {
				back.Mul(x, upper)
			}
			near(fmt.Sprintf("trsm %c", side), back, right, err)
		}
		for _, m := range []mat.Matrix{a, a.T()} {
			lu := la.NewLU[float64](e)
			err := lu.Factorize(m)
			r, c := m.Dims()
			var f, plu mat.Dense
			lu.FactorTo(&f)
			k := min(r, c)
			l, u := mat.NewDense(r, k, nil), mat.NewDense(k, c, nil)
			for i := range r {
				for j := range min(i, k) {
					l.Set(i, j, f.At(i, j))
				}
				if i < k {
					l.Set(i, i, 1)
				}
			}
			for i := range k {
				for j := i; j < c; j++ {
					u.Set(i, j, f.At(i, j))
				}
			}
			plu.Mul(l, u)
			permuted := mat.NewDense(r, c, nil)
			for i, p := range lu.Pivots(nil) {
				permuted.SetRow(i, plu.RawRowView(p))
			}
			near("LU", permuted, m, err)
		}
	}
}
