package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// testDependent solves with matrices that have a column which depends on two
// others, and with the same where a part of it does not.
func testDependent[T la.Element](t *testing.T) {
	for name, e := range engines(t) {
		rnd := rand.New(rand.NewPCG(11, 4))
		for _, s := range [][3]int{{5, 3, 2}, {60, 20, 19}, {200, 12, 7}, {40, 40, 21}, {90, 60, 59}} {
			m, n, j := s[0], s[1], s[2]
			a, b := random[T](rnd, m, n, 1), random[T](rnd, m, 2, 0)
			at := la.General[T]{Rows: n, Cols: m, Stride: m, Data: make([]T, n*m)}
			for _, apart := range []float64{0, math.Sqrt(eps[T]())} {
				for i := range m {
					v := 0.25*float64(a.At(i, 0)) + 0.75*float64(a.At(i, 1))
					a.Set(i, j, T(v+apart*rnd.NormFloat64()))
				}
				for i := range n {
					for k := range m {
						at.Set(i, k, a.At(k, i))
					}
				}
				what := fmt.Sprintf("%s, %v, %.1g apart", name, s, apart)
				check := func(method string, err error) {
					t.Helper()
					c, is := err.(mat.Condition)
					switch {
					case apart == 0 && (!is || !(float64(c)*eps[T]() >= 1./16)):
						t.Errorf("%s, %s: %v for a column that depends on others", what, method, err)
					case apart != 0 && err != nil:
						t.Errorf("%s, %s: %v", what, method, err)
					}
				}
				check("least squares", la.LeastSquares[T](t.Context(), e, padded[T](n, 2, 0), a, b))
				check("least norm", la.LeastSquares[T](t.Context(), e, padded[T](m, 2, 0), at, random[T](rnd, n, 2, 0)))
				q := la.NewQR[T](e)
				if err := q.Factorize(at); err != nil {
					t.Fatal(err)
				}
				check("QR of the transpose", q.SolveTo(padded[T](m, 2, 0), false, random[T](rnd, n, 2, 0)))
				check("QR, trans", q.SolveTo(padded[T](n, 2, 0), true, b))
			}
		}
	}
}

// A column that depends on others is noticed, though rounding has left a
// diagonal element that is not zero.
func TestDependentColumns(t *testing.T) {
	t.Run("f64", testDependent[float64])
	t.Run("f32", testDependent[float32])
}

// TestRepeatedColumn: what rounding leaves of a column of a tall matrix that is there twice, or of one
// that is the small difference of two others, is noticed however large it is.
func TestRepeatedColumn(t *testing.T) {
	t.Run("f64", testRepeatedColumn[float64])
	t.Run("f32", testRepeatedColumn[float32])
}

func testRepeatedColumn[T la.Element](t *testing.T) {
	const m, n = 200, 12
	rnd := rand.New(rand.NewPCG(21, 6))
	for i := range 100 {
		a, at, what := random[T](rnd, m, n, 0), padded[T](n, m, 0), "a repeated column"
		for i := range m {
			a.Set(i, n-1, a.At(i, 1))
		}
		if i%2 == 1 { // of a year, the year of birth and the age, one says nothing new
			what = "a difference of columns"
			for i := range m {
				year, birth := 1990+rnd.IntN(30), 1900+rnd.IntN(80)
				a.Set(i, 0, T(year))
				a.Set(i, 1, T(birth))
				a.Set(i, n-1, T(year-birth))
			}
		}
		for i := range m {
			for j := range n {
				at.Set(j, i, a.At(i, j))
			}
		}
		for method, err := range map[string]error{
			"least squares": la.LeastSquares(t.Context(), nil, padded[T](n, 1, 0), a, random[T](rnd, m, 1, 0)),
			"least norm":    la.LeastSquares(t.Context(), nil, padded[T](m, 1, 0), at, random[T](rnd, n, 1, 0)),
		} {
			if _, is := err.(mat.Condition); !is {
				t.Errorf("%s, matrix %d: %v for %s", method, i, err, what)
			}
		}
	}
}

// Columns of any scale are no sign of dependence, as long as their diagonal
// elements can be compared at all.
func TestScaledColumns(t *testing.T) {
	const m, n = 50, 12
	for name, e := range engines(t) {
		a := asDense(random[float64](rand.New(rand.NewPCG(3, 9)), m, n, 0))
		for j := range n {
			for i := range m {
				a.Set(i, j, a.At(i, j)*math.Pow(10, -float64(j)))
			}
		}
		var x mat.Dense
		if err := la.LeastSquares[float64](t.Context(), e, &x, a, a.Slice(0, m, 0, 3)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for j := range 3 {
			if !(math.Abs(x.At(j, j)-1) < 1e-12) {
				t.Errorf("%s: x[%d] is %g, want 1", name, j, x.At(j, j))
			}
		}
	}
}

// Where R overflows it does so only when it is asked for: there is a solution.
func TestQROverflow(t *testing.T) {
	const n = 60
	for name, e := range engines(t) {
		a := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, math.MaxFloat64)
				if i > j {
					a.Set(i, j, -math.MaxFloat64)
				}
			}
		}
		q := la.NewQR[float64](e)
		if err := q.Factorize(a); err != nil {
			t.Fatal(err)
		}
		x := mat.NewDense(n, 1, nil)
		if err := q.SolveTo(x, false, a.Slice(0, n, 0, 1)); err != nil || math.Abs(x.At(0, 0)-1) > 1e-13 || math.Abs(x.At(1, 0)) > 1e-13 {
			t.Errorf("%s: %v, x[0] %v", name, err, x.At(0, 0))
		}
		if c := q.Cond(); !(c > 1 && c < 1e3) {
			t.Errorf("%s: condition number %v", name, c)
		}
		var r mat.Dense
		if q.RTo(&r); !math.IsInf(r.At(0, 0), 0) {
			t.Errorf("%s: the length of the first column is %v", name, r.At(0, 0))
		}
	}
}

// Where the quotient of two diagonal elements overflows, they can be divided by
// all the same: the condition is finite, and there is a solution beside it.
func TestConditionOverflow(t *testing.T) {
	lu := mat.NewDense(3, 3, []float64{1e200, 1, 0, 1, 1e-200, 1e-200, 0, 2e-200, 1e-200})
	wide := mat.NewDense(2, 3, []float64{1e200, 0, 0, 1e200, 1e-200, 0})
	for what, a := range map[string]mat.Matrix{
		"triangular": mat.NewTriDense(2, mat.Upper, []float64{1e200, 1, 0, 1e-200}),
		"Cholesky":   mat.NewSymDense(2, []float64{1e200, 1, 1, 2e-200}),
		"LU":         lu, "tall": wide.T(), "wide": wide,
	} {
		for name, e := range engines(t) {
			m, n := a.Dims()
			b, x := mat.NewDense(m, 1, nil), mat.NewDense(n, 1, nil)
			b.Set(m-1, 0, 1)
			x.Set(0, 0, 7)
			report, err := la.Solve[float64](t.Context(), e, x, a, b)
			if c, ok := err.(mat.Condition); !ok || math.IsInf(float64(c), 0) || c != c || x.At(0, 0) == 7 {
				t.Errorf("%s: %s: %v: %v, x[0] %v", name, what, report, err, x.At(0, 0))
			}
			err = la.LeastSquares[float64](t.Context(), e, x, a, b)
			if c, ok := err.(mat.Condition); !ok || math.IsInf(float64(c), 0) || c != c || x.At(0, 0) == 7 {
				t.Errorf("%s: %s: least squares: %v, x[0] %v", name, what, err, x.At(0, 0))
			}
		}
	}
}

// Where a diagonal element of a factor overflows there is a solution all the same.
func TestFactorOverflow(t *testing.T) {
	const top = math.MaxFloat64
	a := mat.NewDense(2, 2, []float64{top, top, top, -top})
	for name, e := range engines(t) {
		b := mat.NewDense(2, 1, []float64{top, top})
		q, lu := la.NewQR[float64](e), la.NewLU[float64](e)
		if err := errors.Join(q.Factorize(a), lu.Factorize(a)); err != nil {
			t.Fatal(err)
		}
		if k := q.Cond(); !(k >= 1 && k < 3) {
			t.Errorf("%s: condition number %v", name, k)
		}
		for what, solve := range map[string]func(x *mat.Dense) error{
			"QR": func(x *mat.Dense) error { return q.SolveTo(x, false, b) },
			"Solve": func(x *mat.Dense) error {
				_, err := la.Solve[float64](t.Context(), e, x, a, b)
				return err
			},
			"LU": func(x *mat.Dense) error { return lu.SolveTo(x, false, b) },
			"vector": func(x *mat.Dense) error {
				return lu.SolveVecTo(x.ColView(0).(*mat.VecDense), true, b.ColView(0).(*mat.VecDense))
			},
			"mixed": func(x *mat.Dense) error {
				_, err := la.SolveGeneral(t.Context(), e, x, a, b)
				return err
			},
		} {
			x := mat.NewDense(2, 1, nil)
			if err := solve(x); err != nil || math.Abs(x.At(0, 0)-1) > 1e-15 || math.Abs(x.At(1, 0)) > 1e-15 {
				t.Errorf("%s: %s: %v, x %v", name, what, err, x.RawMatrix().Data)
			}
		}
		var inverse mat.Dense
		if err := lu.InverseTo(&inverse); err != nil || math.Abs(inverse.At(1, 1)*top+0.5) > 1e-14 {
			t.Errorf("%s: inverse: %v, %v", name, err, inverse.RawMatrix().Data)
		}
		if log, sign := lu.LogDet(); sign != -1 || math.Abs(log-2*math.Log(top)-math.Ln2) > 1e-10 {
			t.Errorf("%s: logarithm of the determinant %v, sign %v", name, log, sign)
		}
	}
}

// LU and Cholesky notice dependent columns, too. What rounding leaves of them
// is a matter of chance here: some matrices are singular as they stand, or not
// positive definite, and those that are not have to be told.
func TestDependentSquare(t *testing.T) {
	const n = 50
	for name, e := range engines(t) {
		rnd := rand.New(rand.NewPCG(8, 8))
		for range 10 {
			g := asDense(random[float64](rnd, n, n-1, 0))
			a := mat.NewDense(n, n, nil)
			a.Slice(0, n, 0, n-1).(*mat.Dense).Copy(g)
			for i := range n {
				a.Set(i, n-1, 0.5*g.At(i, 3)+0.125*g.At(i, 8))
			}
			lu := la.NewLU[float64](e)
			if lu.Factorize(a) == nil {
				if err := lu.SolveTo(&mat.Dense{}, false, g); err == nil {
					t.Errorf("%s: LU solves with a matrix of rank %d; condition number %.3g", name, n-1, lu.Cond())
				}
			}
			a = mat.DenseCopyOf(a.T())
			s := mat.NewSymDense(n, nil)
			if err := la.Syrk[float64](t.Context(), e, blas.NoTrans, 1, a, 0, s); err != nil {
				t.Fatal(err)
			}
			chol := la.NewCholesky[float64](e)
			if chol.Factorize(s) == nil {
				if err := chol.SolveTo(&mat.Dense{}, g); err == nil {
					t.Errorf("%s: Cholesky solves with a matrix of rank %d; condition number %.3g", name, n-1, chol.Cond())
				}
			}
		}
	}
}

// thin returns the product of an m×k matrix and a k×n one, both random; with the transpose of the
// first as the second if that is symmetric.
func thin[T la.Element](rnd *rand.Rand, m, k, n int, symmetric bool) la.General[T] {
	u, v, p := random[T](rnd, m, k, 0), random[T](rnd, k, n, 0), random[T](rnd, m, n, 0)
	for i := range m {
		for j := range n {
			s := 0.0
			for l := range k {
				if symmetric {
					s += float64(u.At(i, l)) * float64(u.At(j, l))
				} else {
					s += float64(u.At(i, l)) * float64(v.At(l, j))
				}
			}
			p.Set(i, j, T(s))
		}
	}
	return p
}

func testThin[T la.Element](t *testing.T) {
	rnd, ctx := rand.New(rand.NewPCG(7, 8)), context.Background()
	for _, n := range []int{3, 10, 30, 100} {
		for range 4 {
			b, tall := random[T](rnd, n, 1, 0), random[T](rnd, 2*n, 1, 0)
			general, spd, ls := thin[T](rnd, n, n-1, n, false), thin[T](rnd, n, n-1, n, true), thin[T](rnd, 2*n, n-1, n, false)
			x := random[T](rnd, n, 1, 0)
			_, solve := la.Solve(ctx, nil, x, general, b)
			_, symmetric := la.Solve(ctx, nil, x, spd, b)
			lu, chol := la.NewLU[T](nil), la.NewCholesky[T](nil)
			errs := map[string]error{
				"Solve": solve, "Solve, symmetric": symmetric, "LeastSquares": la.LeastSquares(ctx, nil, x, ls, tall),
				"LU": errors.Join(lu.Factorize(general), lu.SolveTo(x, false, b)),
			}
			if err := chol.Factorize(la.Symmetric[T]{N: n, Stride: n, Uplo: blas.Upper, Data: spd.Data}); err != nil {
				errs["Cholesky"] = err
			} else {
				errs["Cholesky"] = chol.SolveTo(x, b)
			}
			for method, err := range errs {
				var cond mat.Condition
				var singular *la.SingularError
				var npd *la.NotPositiveDefiniteError
				if !errors.As(err, &cond) && !errors.As(err, &singular) && !errors.As(err, &npd) {
					t.Errorf("%s, n = %d, of rank n−1: error %v", method, n, err)
				}
			}
		}
	}
}

// TestThin: what rounding has made regular is singular all the same, also if no diagonal element of
// the factors is as small as ε.
func TestThin(t *testing.T) {
	t.Run("float64", testThin[float64])
	t.Run("float32", testThin[float32])
}

// TestCondOnce: the norm of the inverse is estimated by the first solution that needs it.
func TestCondOnce(t *testing.T) {
	n := 60
	a := mat.NewSymDense(n, nil)
	for i := range n {
		a.SetSym(i, i, math.Pow(10, -12*float64(i)/float64(n-1)))
	}
	e, err := la.NewEngine(la.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := la.NewCholesky[float64](e)
	if err := c.Factorize(a); err != nil {
		t.Fatal(err)
	}
	var x mat.VecDense
	if err := c.SolveVecTo(&x, mat.NewVecDense(n, nil)); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if got := c.Cond(); math.Abs(got-1e12) > 1e3 {
		t.Errorf("condition %g, want 1e12, without another solution", got)
	}
}

// TestCloneNorms: a clone keeps the norms of its matrix when the original takes another one.
func TestCloneNorms(t *testing.T) {
	first, second := mat.NewDiagDense(3, []float64{1, 1e-20, 1}), mat.NewDiagDense(3, []float64{1, 1, 1})
	b, want, x := mat.NewVecDense(3, []float64{1, 2, 3}), new(mat.VecDense), new(mat.VecDense)
	for name, try := range map[string]func() (fresh, cloned error){
		"Cholesky": func() (fresh, cloned error) {
			var c, d la.Cholesky[float64]
			if err := c.Factorize(first); err != nil {
				t.Fatal(err)
			}
			fresh = c.SolveVecTo(want, b)
			d.Clone(&c)
			if err := c.Factorize(second); err != nil {
				t.Fatal(err)
			}
			return fresh, d.SolveVecTo(x, b)
		},
		"LU": func() (fresh, cloned error) {
			var c, d la.LU[float64]
			if err := c.Factorize(first); err != nil {
				t.Fatal(err)
			}
			fresh = c.SolveVecTo(want, false, b)
			d.Clone(&c)
			if err := c.Factorize(second); err != nil {
				t.Fatal(err)
			}
			return fresh, d.SolveVecTo(x, false, b)
		},
	} {
		if fresh, cloned := try(); fmt.Sprint(fresh) != fmt.Sprint(cloned) || !mat.Equal(x, want) {
			t.Errorf("%s: %v, the clone %v", name, fresh, cloned)
		}
	}
}
