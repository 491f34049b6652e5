package la_test

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// filled returns the m×n matrix of what f gives for each place.
func filled(m, n int, f func(i, j int) float64) *mat.Dense {
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, f(i, j))
		}
	}
	return a
}

// noisyUnit returns an element of a unit upper triangular matrix of elements near −1. It has no small
// pivot, and is singular to working precision from order 60 on.
func noisyUnit(i, j int) float64 {
	switch {
	case i == j:
		return 1
	case i > j:
		return 0
	}
	return -1 + math.Sin(float64(i*37+j*101))/100
}

// TestSingularFactors: a program gets a mat.Condition for a matrix that is singular to working precision
// though no diagonal element of its factor is small.
func TestSingularFactors(t *testing.T) {
	s, c := math.Sincos(1.2)
	var noisy, squared mat.Dense
	noisy.Mul(filled(60, 60, func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i < j:
			return 0
		}
		return math.Sin(float64(i*37+j*101)) / 4
	}), filled(60, 60, noisyUnit))
	u := filled(60, 60, noisyUnit)
	squared.Mul(u.T(), u)
	for name, a := range map[string]mat.Matrix{
		"Kahan": filled(120, 120, func(i, j int) float64 {
			switch {
			case i == j:
				return math.Pow(s, float64(i))
			case i < j:
				return -c * math.Pow(s, float64(i))
			}
			return 0
		}),
		"unit triangle": mat.NewTriDense(200, mat.Upper, filled(200, 200, func(i, j int) float64 {
			switch {
			case i == j:
				return 1
			case i > j:
				return 0
			}
			return 2 * math.Sin(float64(i*i*7+j*j*13+i*j))
		}).RawMatrix().Data),
		"noisy L·U": &noisy,
		"200×100, unit diagonal of R": filled(200, 100, func(i, j int) float64 {
			if i < 100 {
				return 0.6 * noisyUnit(i, j)
			}
			return 0.8 * noisyUnit(i-100, j)
		}),
		"no Cholesky by rounding": mat.NewSymDense(60, squared.RawMatrix().Data),
	} {
		m, n := a.Dims()
		var b, x, g mat.Dense
		b.Mul(a, mat.NewDense(n, 1, ones(n)))
		if _, ok := g.Solve(mat.DenseCopyOf(a), &b).(mat.Condition); !ok {
			t.Fatalf("%s is not singular for gonum", name)
		}
		solvers := map[string]func() error{
			"Solve":        func() error { _, err := la.Solve[float64](t.Context(), nil, &x, a, &b); return err },
			"LeastSquares": func() error { return la.LeastSquares[float64](t.Context(), nil, &x, a, &b) },
		}
		if m == n {
			solvers["SolveGeneral"] = func() error { _, err := la.SolveGeneral(t.Context(), nil, &x, a, &b); return err }
		}
		for method, solve := range solvers {
			x.Reset()
			if err := solve(); !refused(t, name+", "+method, err) {
				t.Errorf("%s: %s has no error, and x[0] is %v for 1", name, method, x.At(0, 0))
			}
		}
	}
}

// TestSmallestSystems: systems of subnormal elements that are well conditioned are solved to the last
// digits.
func TestSmallestSystems(t *testing.T) {
	s := math.Ldexp(1, -1060)
	a, b := mat.NewDense(3, 2, []float64{s, 0, s, s, 0, 0}), mat.NewDense(3, 1, []float64{3 * s, 5 * s, 0})
	want := mat.NewDense(2, 1, []float64{3, 2})
	q := la.NewQR[float64](nil)
	if err := q.Factorize(a); err != nil {
		t.Fatal(err)
	}
	var x mat.Dense
	if err := q.SolveTo(&x, false, b); err != nil || !mat.EqualApprox(&x, want, 1e-14) {
		t.Errorf("QR: %v, %v, want 3 and 2", err, x.RawMatrix().Data)
	}
	if k := q.Cond(); !(k >= 1 && k < 10) {
		t.Errorf("QR: condition number %v", k)
	}
	x.Reset()
	if _, err := la.Solve[float64](t.Context(), nil, &x, a, b); err != nil || !mat.EqualApprox(&x, want, 1e-14) {
		t.Errorf("Solve of 3×2: %v, %v, want 3 and 2", err, x.RawMatrix().Data)
	}
	for _, exp := range []int{-1045, -1060} {
		a := filled(20, 20, func(i, j int) float64 {
			v := float64(i*j%3 + j*i%5)
			if i == j {
				v += 100
			}
			return math.Ldexp(v, exp)
		})
		var b, x mat.Dense
		b.Mul(a, mat.NewDense(20, 1, ones(20))) // sums of integers: exact
		if _, err := la.Solve[float64](t.Context(), nil, &x, a, &b); err != nil || !mat.EqualApprox(&x, mat.NewDense(20, 1, ones(20)), 1e-14) {
			t.Errorf("2^%d: %v, x[1] %v, want 1", exp, err, x.At(1, 0))
		}
		if k, err := la.Cond[float64](t.Context(), nil, a, 'O'); err != nil || !(k < 10) {
			t.Errorf("2^%d: condition number %v, %v", exp, k, err)
		}
	}
}
