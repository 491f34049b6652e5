package la_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// TestOverflow solves systems whose matrices are so small that the solutions are out of
// range: every solver says so and leaves dst as it was.
func TestOverflow(t *testing.T) {
	const n = 9
	tiny := func(m, n int) *mat.Dense {
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				a.Set(i, j, 1e-300/float64(1+i+j))
			}
			if i < n {
				a.Set(i, i, 5e-300)
			}
		}
		return a
	}
	square := tiny(n, n)
	for i := range n {
		square.Set(i, 0, square.At(i, 0)+1e-301*float64(i)) // not symmetric
	}
	symmetric := mat.NewSymDense(n, nil)
	upper := mat.NewTriDense(n, mat.Upper, nil)
	diagonal := mat.NewDiagDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			symmetric.SetSym(i, j, tiny(n, n).At(i, j))
			upper.SetTri(i, j, tiny(n, n).At(i, j))
		}
		diagonal.SetDiag(i, 5e-300)
	}
	// 3·10⁻³⁰⁹ is a number, and its inverse is not.
	smaller := func(a mat.Matrix) *mat.Dense {
		var b mat.Dense
		b.Scale(1e-9, a)
		return &b
	}
	b := func(m int, v float64) *mat.Dense {
		x := mat.NewDense(m, 2, nil)
		for i := range m {
			x.Set(i, 0, v)
			x.Set(i, 1, 1e-300)
		}
		return x
	}
	const had = 42
	for name, e := range engines(t) {
		for what, test := range map[string]struct {
			m, n  int // of dst
			solve func(dst *mat.Dense, v float64) error
		}{
			"LU": {n, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.Solve[float64](t.Context(), e, dst, square, b(n, v))
				return err
			}},
			"Cholesky": {n, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.Solve[float64](t.Context(), e, dst, symmetric, b(n, v))
				return err
			}},
			"triangular": {n, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.Solve[float64](t.Context(), e, dst, upper, b(n, v))
				return err
			}},
			"diagonal": {n, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.Solve[float64](t.Context(), e, dst, diagonal, b(n, v))
				return err
			}},
			"high": {n, 2, func(dst *mat.Dense, v float64) error {
				return la.LeastSquares[float64](t.Context(), e, dst, tiny(n+3, n), b(n+3, v))
			}},
			"wide": {n + 3, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.Solve[float64](t.Context(), e, dst, tiny(n, n+3), b(n, v))
				return err
			}},
			"SolveGeneral": {n, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.SolveGeneral(t.Context(), e, dst, square, b(n, v))
				return err
			}},
			"SolveSPD": {n, 2, func(dst *mat.Dense, v float64) error {
				_, err := la.SolveSPD(t.Context(), e, dst, symmetric, b(n, v))
				return err
			}},
			"LU.SolveTo": {n, 2, func(dst *mat.Dense, v float64) error {
				f := la.NewLU[float64](e)
				return errors.Join(f.Factorize(square, la.WithContext(t.Context())), f.SolveTo(dst, true, b(n, v)))
			}},
			"Cholesky.SolveTo": {n, 2, func(dst *mat.Dense, v float64) error {
				c := la.NewCholesky[float64](e)
				return errors.Join(c.Factorize(symmetric, la.WithContext(t.Context())), c.SolveTo(dst, b(n, v)))
			}},
			"QR.SolveTo": {n, 2, func(dst *mat.Dense, v float64) error {
				q := la.NewQR[float64](e)
				return errors.Join(q.Factorize(tiny(n+3, n), la.WithContext(t.Context())), q.SolveTo(dst, false, b(n+3, v)))
			}},
			"inverse by LU": {n, n, func(dst *mat.Dense, v float64) error {
				_, err := la.Inverse[float64](t.Context(), e, dst, smaller(square))
				return err
			}},
			"inverse by Cholesky": {n, n, func(dst *mat.Dense, v float64) error {
				_, err := la.Inverse[float64](t.Context(), e, dst, smaller(symmetric))
				return err
			}},
			"inverse of a triangle": {n, n, func(dst *mat.Dense, v float64) error {
				_, err := la.Inverse[float64](t.Context(), e, dst, smaller(upper))
				return err
			}},
			"inverse of a diagonal": {n, n, func(dst *mat.Dense, v float64) error {
				_, err := la.Inverse[float64](t.Context(), e, dst, smaller(diagonal))
				return err
			}},
		} {
			dst := mat.NewDense(test.m, test.n, nil)
			for i := range test.m {
				for j := range test.n {
					dst.Set(i, j, had)
				}
			}
			err := test.solve(dst, 1e10)
			var overflow *la.OverflowError
			if !errors.As(err, &overflow) || overflow.Row < 0 || overflow.Row >= test.m || overflow.Col < 0 || overflow.Col >= test.n {
				t.Errorf("%s, %s: %v, want an *OverflowError", name, what, err)
			}
			if mat.Min(dst) != had || mat.Max(dst) != had {
				t.Errorf("%s, %s: dst has changed after %v", name, what, err)
			}
			if test.n == n {
				continue // inverses have no b
			}
			// What b brings along is b's.
			if err := test.solve(dst, math.NaN()); err != nil || !math.IsNaN(mat.Sum(dst)) {
				t.Errorf("%s, %s: NaN in b: %v", name, what, err)
			}
			if err := test.solve(dst, 1e-300); err != nil {
				t.Errorf("%s, %s: a solution in range: %v", name, what, err)
			}
		}
	}
}

// TestOverflowInverseTo does the same for inverses of factorizations, and for float32.
func TestOverflowInverseTo(t *testing.T) {
	tiny := mat.NewSymDense(2, []float64{1e-309, 0, 0, 2e-309})
	var c la.Cholesky[float64]
	var f la.LU[float64]
	var overflow *la.OverflowError
	if err := errors.Join(c.Factorize(tiny), c.InverseTo(new(mat.SymDense))); !errors.As(err, &overflow) {
		t.Errorf("Cholesky: %v", err)
	}
	if err := errors.Join(f.Factorize(tiny), f.InverseTo(new(mat.Dense))); !errors.As(err, &overflow) {
		t.Errorf("LU: %v", err)
	}
	x := la.General[float32]{Rows: 1, Cols: 1, Stride: 1, Data: []float32{7}}
	a := la.General[float32]{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1e-38}}
	b := la.General[float32]{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1e10}}
	if _, err := la.Solve[float32](t.Context(), nil, x, a, b); !errors.As(err, &overflow) || x.Data[0] != 7 {
		t.Errorf("float32: %v, x = %v", err, x.Data)
	}
}

// TestOverflowDistributed does the same where the matrices are on other nodes.
func TestOverflowDistributed(t *testing.T) {
	const n, nb = 12, 5
	d, _ := nodes(t, 2, true)
	e := start(t, la.Options{Runtime: d, NB: nb})
	here := waves(blocked.SymUpper, n, n, nb)
	for i := range n {
		for j := i; j < n; j++ {
			here.Set(i, j, 1e-310*here.At(i, j))
		}
	}
	a := away(t, d, here, 1, 2)
	b := mat.NewDense(n, 1, nil)
	b.Set(7, 0, 1)
	x := blocked.New[float64](blocked.Full, n, 1, nb)
	var overflow *la.OverflowError
	if _, err := la.Solve[float64](t.Context(), e, x, a, b); !errors.As(err, &overflow) || overflow.Col != 0 {
		t.Errorf("Solve: %v", err)
	}
	b.Set(7, 0, math.NaN())
	if _, err := la.Solve[float64](t.Context(), e, x, a, b); err != nil {
		t.Errorf("Solve with NaN in b: %v", err)
	}
	if _, err := la.Inverse[float64](t.Context(), e, blocked.New[float64](blocked.Full, n, n, nb), a); !errors.As(err, &overflow) {
		t.Errorf("Inverse: %v", err)
	}
}
