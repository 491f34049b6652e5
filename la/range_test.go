package la_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// base returns an element of an n×n matrix of integers, symmetric and diagonally dominant, and one of a
// right-hand side for which the solution is ones.
func base(n, i, j int) float64 {
	v := float64((i*j)%3 + (j*i)%5)
	if i == j {
		v += 4 * float64(n)
	}
	return v
}

// scaledSystem returns that times two to the power given, n×n or, if tall, on top of itself, and the
// right-hand side.
func scaledSystem[T la.Element](n, exp int, tall bool) (a la.General[T], b la.General[T]) {
	m := n
	if tall {
		m = 2 * n
	}
	a, b = la.General[T]{Rows: m, Cols: n, Stride: n, Data: make([]T, m*n)}, la.General[T]{Rows: m, Cols: 1, Stride: 1, Data: make([]T, m)}
	for i := range m {
		s := 0.0
		for j := range n {
			a.Set(i, j, T(math.Ldexp(base(n, i%n, j), exp)))
			s += base(n, i%n, j)
		}
		b.Set(i, 0, T(math.Ldexp(s, exp)))
	}
	return a, b
}

func testRange[T la.Element](t *testing.T, exps []int) {
	const n = 20
	near := 50 * eps[T]()
	tri := func(a la.General[T]) la.General[T] {
		u := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
		for i := range n {
			for j := i; j < n; j++ {
				u.Set(i, j, a.At(i, j))
			}
		}
		return u
	}
	for name, e := range engines(t) {
		conds := map[string]float64{}
		for _, exp := range exps {
			what := fmt.Sprintf("%s, 2^%d", name, exp)
			a, b := scaledSystem[T](n, exp, false)
			x := la.General[T]{Rows: n, Cols: 1, Stride: 1, Data: make([]T, n)}
			check := func(method string, err error, want func(i int) float64) {
				t.Helper()
				for i := range n {
					if err != nil || !(math.Abs(float64(x.At(i, 0))/want(i)-1) < near) {
						t.Errorf("%s, %s: %v, x[%d] is %v, want %v", what, method, err, i, x.At(i, 0), want(i))
						break
					}
				}
				clear(x.Data)
			}
			one := func(int) float64 { return 1 }
			symmetric := la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: n, Data: a.Data}
			report, err := la.Solve[T](t.Context(), e, x, a, b)
			check(fmt.Sprint("Solve ", report.Method), err, one)
			lu, chol, qr := la.NewLU[T](e), la.NewCholesky[T](e), la.NewQR[T](e)
			for method, err := range map[string]error{"LU": lu.Factorize(a), "Cholesky": chol.Factorize(symmetric), "QR": qr.Factorize(a)} {
				if err != nil {
					t.Fatalf("%s: %s: %v", what, method, err)
				}
			}
			check("LU", lu.SolveTo(x, false, b), one)
			check("LU, trans", lu.SolveTo(x, true, b), one)
			check("Cholesky", chol.SolveTo(x, b), one)
			check("QR", qr.SolveTo(x, false, b), one)
			check("QR, trans", qr.SolveTo(x, true, b), one)
			upper, right := tri(a), la.General[T]{Rows: n, Cols: 1, Stride: 1, Data: make([]T, n)}
			for i := range n {
				s := 0.0
				for j := i; j < n; j++ {
					s += base(n, i, j)
				}
				right.Set(i, 0, T(math.Ldexp(s, exp)))
			}
			_, err = la.Solve[T](t.Context(), e, x, upper, right)
			check("triangular", err, one)
			tall, long := scaledSystem[T](n, exp, true)
			check("LeastSquares", la.LeastSquares[T](t.Context(), e, x, tall, long), one)
			if err := qr.Factorize(tall); err != nil {
				t.Fatal(err)
			}
			check("QR, tall", qr.SolveTo(x, false, long), one)
			// A copy keeps the scale.
			var other la.Cholesky[T]
			other.Clone(chol)
			check("Cholesky, copied", other.SolveTo(x, b), one)
			var copied la.LU[T]
			copied.Clone(lu)
			check("LU, copied", copied.SolveTo(x, false, b), one)
			// What is divided by a matrix of ordinary size keeps its digits.
			if a, _ := scaledSystem[T](n, exp/2, false); exp < 0 {
				f := la.NewLU[T](e)
				if err := f.Factorize(a); err != nil {
					t.Fatal(err)
				}
				half := func(int) float64 { return math.Ldexp(1, exp-exp/2) }
				check("right-hand side", f.SolveTo(x, false, b), half)
			}
			// Condition numbers, determinants.
			all, err := la.Cond[T](t.Context(), e, a, lapack.MaxColumnSum)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			for method, k := range map[string]float64{"Cond": all, "LU.Cond": lu.Cond(), "Cholesky.Cond": chol.Cond()} {
				if conds[method] == 0 {
					conds[method] = k
				}
				if want := conds[method]; !(math.Abs(k/want-1) < 100*near) {
					t.Errorf("%s: %s is %v, want %v", what, method, k, want)
				}
			}
			log, sign := lu.LogDet()
			if d := chol.LogDet(); sign != 1 || math.Abs(d-log) > 1e-4*math.Abs(log) || math.Abs(d-conds["det"]-float64(n*exp)*math.Ln2) > 1e-3*math.Abs(d) && conds["det"] != 0 {
				t.Errorf("%s: logarithms of the determinant %v, %v", what, log, d)
			} else if exp == 0 {
				conds["det"] = d
			}
			// The factors have the scale of A; what of them is below the range, or above, is rounded.
			u, whole := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}, la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
			lu.FactorTo(whole)
			chol.UTo(la.Triangular[T]{Uplo: blas.Upper, N: n, Stride: n, Data: u.Data})
			corner := math.Ldexp(base(n, 0, 0), exp)
			if got := float64(whole.At(0, 0)); got != corner {
				t.Errorf("%s: LU: first element %v, want %v", what, got, corner)
			}
			if got, want := float64(u.At(0, 0)), math.Sqrt(corner); !(math.Abs(got/want-1) < near) {
				t.Errorf("%s: Cholesky: first element %v, want %v", what, got, want)
			}
			if l := float64(whole.At(n-1, 0)); l != 0 && !(math.Abs(l-base(n, n-1, 0)/base(n, 0, 0)) < near) {
				t.Errorf("%s: LU: last element of the first column %v", what, l)
			}
		}
	}
}

// TestRange: digits are lost neither near the subnormals nor near overflow.
func TestRange(t *testing.T) {
	t.Run("float64", func(t *testing.T) {
		testRange[float64](t, []int{0, -500, -1000, -1030, -1045, -1060, -1074, 500, 960, 1000, 1012})
	})
	t.Run("float32", func(t *testing.T) { testRange[float32](t, []int{0, -60, -110, -130, -149, 60, 100, 110, 116}) })
}

// TestRangeColumns: each right-hand side has its own scale.
func TestRangeColumns(t *testing.T) {
	a, b := scaledSystem[float64](20, -1060, false)
	both := mat.NewDense(20, 2, nil)
	for i := range 20 {
		both.Set(i, 0, math.Ldexp(b.At(i, 0), 1060))
		both.Set(i, 1, b.At(i, 0))
	}
	var x mat.Dense
	lu := la.NewLU[float64](nil)
	if err := lu.Factorize(a); err != nil {
		t.Fatal(err)
	}
	if err := lu.SolveTo(&x, false, both); err == nil {
		t.Error("a solution of 2^1060 has no error")
	}
	a, _ = scaledSystem[float64](20, -100, false)
	if err := lu.Factorize(a); err != nil {
		t.Fatal(err)
	}
	if err := lu.SolveTo(&x, false, both); err != nil || math.Abs(math.Ldexp(x.At(3, 1), 960)-1) > 1e-14 || math.Abs(math.Ldexp(x.At(3, 0), -100)-1) > 1e-14 {
		t.Errorf("%v, x %v, %v", err, x.At(3, 0), x.At(3, 1))
	}
}

// TestRangeCheckpoint: a factorization that keeps states has the scale, too, and one that goes on.
func TestRangeCheckpoint(t *testing.T) {
	e := start(t, la.Options{Workers: 2, NB: 4, Direct: -1})
	for _, exp := range []int{-1060, 1012} {
		a, b := scaledSystem[float64](20, exp, false)
		x := mat.NewDense(20, 1, nil)
		check := func(what string, err error) {
			t.Helper()
			if err != nil || math.Abs(x.At(7, 0)-1) > 1e-13 {
				t.Errorf("2^%d, %s: %v, x %v", exp, what, err, x.At(7, 0))
			}
			x.Zero()
		}
		lu, chol, qr := la.NewLU[float64](e), la.NewCholesky[float64](e), la.NewQR[float64](e)
		keep := func() la.Checkpoint { return la.Checkpoint{Dir: t.TempDir(), Every: 2} }
		if err := lu.Factorize(a, la.WithContext(t.Context()), keep()); err != nil {
			t.Fatal(err)
		}
		check("LU", lu.SolveTo(x, false, b))
		if err := chol.Factorize(la.Symmetric[float64]{Uplo: blas.Upper, N: 20, Stride: 20, Data: a.Data}, la.WithContext(t.Context()), keep()); err != nil {
			t.Fatal(err)
		}
		check("Cholesky", chol.SolveTo(x, b))
		if err := qr.Factorize(a, la.WithContext(t.Context()), keep()); err != nil {
			t.Fatal(err)
		}
		check("QR", qr.SolveTo(x, false, b))
	}
}

// TestRangeDistributed: matrices on nodes have the scale of those here, and so have their right
// sides: solutions have the bits of a system in the middle of the range.
func TestRangeDistributed(t *testing.T) {
	d, _ := nodes(t, 2, true)
	defer d.Close()
	e, err := la.NewEngine(la.Options{Runtime: d, NB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, n := t.Context(), 20
	at := func(exp int, kind blocked.Kind, m, n int) *blocked.Matrix[float64] {
		a := waves(kind, m, n, 8)
		for i, j := range a.StoredTiles() {
			tile := a.Tile(i, j)
			for r := range tile.Rows {
				for c := range tile.Cols {
					v := tile.At(r, c)
					if kind == blocked.Full && i == j && r == c {
						v += 9
					}
					tile.Set(r, c, math.Ldexp(math.Trunc(v*64), exp)) // few digits, which no scale cuts off
				}
			}
		}
		return away(t, d, a, 1, 2)
	}
	for name, solve := range map[string]func(exp int) (*blocked.Matrix[float64], error){
		"Cholesky": func(exp int) (*blocked.Matrix[float64], error) {
			x, f := at(exp, blocked.Full, n, 3), la.NewCholesky[float64](e)
			return x, errors.Join(f.Factorize(at(exp, blocked.SymUpper, n, n), la.WithContext(ctx), la.InPlace()), f.SolveTo(x, x, la.WithContext(ctx), la.InPlace()))
		},
		"LU": func(exp int) (*blocked.Matrix[float64], error) {
			x, f := at(exp, blocked.Full, n, 3), la.NewLU[float64](e)
			return x, errors.Join(f.Factorize(at(exp, blocked.Full, n, n), la.WithContext(ctx), la.InPlace()), f.SolveTo(x, false, x, la.WithContext(ctx), la.InPlace()))
		},
		"QR": func(exp int) (*blocked.Matrix[float64], error) {
			x, f := at(exp, blocked.Full, n, 3), la.NewQR[float64](e)
			return x, errors.Join(f.Factorize(at(exp, blocked.Full, n, n), la.WithContext(ctx), la.InPlace()), f.SolveTo(x, false, x, la.WithContext(ctx), la.InPlace()))
		},
	} {
		want, err := solve(0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, exp := range []int{-1074, -1040, 1000} {
			got, err := solve(exp)
			if err != nil {
				t.Errorf("%s, 2^%d: %v", name, exp, err)
				continue
			}
			for i := range n {
				for j := range 3 {
					if g, w := got.At(i, j), want.At(i, j); g != w {
						t.Fatalf("%s, 2^%d: X(%d,%d) is %v, want %v", name, exp, i, j, g, w)
					}
				}
			}
		}
	}
}
