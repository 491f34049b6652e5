package la_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestVectorResults: results of one column go into gonum's vectors, empty ones and others,
// without a type parameter or a conversion.
func TestVectorResults(t *testing.T) {
	const n = 12
	rnd := rand.New(rand.NewPCG(8, 8))
	ctx := t.Context()
	sym := symmetricOf(rnd, n)
	for i := range n {
		sym.SetSym(i, i, 3*n)
	}
	a, high := mat.DenseCopyOf(sym), asDense(random[float64](rnd, n+4, n, 0))
	b, long := strided(rnd, n, 1), strided(rnd, n+4, 1)
	tri := mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		for j := range i + 1 {
			tri.SetTri(i, j, a.At(i, j))
		}
	}
	for name, e := range sorted.Map(engines(t)) {
		var solved, fitted, product mat.VecDense
		if err := solved.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		if err := fitted.SolveVec(high, long); err != nil {
			t.Fatal(err)
		}
		product.MulVec(a, b)
		chol, lu, qr := la.NewCholesky[float64](e), la.NewLU[float64](e), la.NewQR[float64](e)
		if err := errors.Join(chol.Factorize(sym), lu.Factorize(a), qr.Factorize(high)); err != nil {
			t.Fatal(err)
		}
		for what, test := range sorted.Map(map[string]struct {
			want *mat.VecDense
			do   func(dst *mat.VecDense) error
		}{
			"Solve":            {&solved, func(dst *mat.VecDense) error { _, err := la.Solve(ctx, e, dst, a, b); return err }},
			"SolveSPD":         {&solved, func(dst *mat.VecDense) error { _, err := la.SolveSPD(ctx, e, dst, sym, b); return err }},
			"SolveGeneral":     {&solved, func(dst *mat.VecDense) error { _, err := la.SolveGeneral(ctx, e, dst, a, b); return err }},
			"LeastSquares":     {&fitted, func(dst *mat.VecDense) error { return la.LeastSquares(ctx, e, dst, high, long) }},
			"Mul":              {&product, func(dst *mat.VecDense) error { return la.Mul(dst, a, b) }},
			"Gemm":             {&product, func(dst *mat.VecDense) error { return la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, dst) }},
			"Cholesky.SolveTo": {&solved, func(dst *mat.VecDense) error { return chol.SolveTo(dst, b) }},
			"LU.SolveTo":       {&solved, func(dst *mat.VecDense) error { return lu.SolveTo(dst, false, b) }},
			"QR.SolveTo":       {&fitted, func(dst *mat.VecDense) error { return qr.SolveTo(dst, false, long) }},
			"LU.SolveVecTo":    {&solved, func(dst *mat.VecDense) error { return lu.SolveVecTo(dst, false, b) }},
			"QR.ApplyQTo twice": {long, func(dst *mat.VecDense) error {
				return errors.Join(qr.ApplyQTo(dst, blas.Left, true, long), qr.ApplyQTo(dst, blas.Left, false, dst))
			}},
		}) {
			var empty mat.VecDense
			other := strided(rnd, test.want.Len(), 3)
			for _, dst := range []*mat.VecDense{&empty, other} {
				if err := test.do(dst); err != nil || !mat.EqualApprox(dst, test.want, 1e-11) {
					t.Errorf("%s, %s: %v: %v, want %v", name, what, err, mat.Formatted(dst.T()), mat.Formatted(test.want.T()))
				}
			}
			if err := test.do(mat.NewVecDense(test.want.Len()+1, nil)); !errors.As(err, new(*la.ShapeError)) {
				t.Errorf("%s, %s into a longer vector: %v", name, what, err)
			}
		}
		x := mat.VecDenseCopyOf(b)
		if err := la.Trsm(ctx, e, blas.Left, blas.NoTrans, 1, tri, x); err != nil {
			t.Errorf("%s, Trsm: %v", name, err)
		}
		var back mat.VecDense
		if back.MulVec(tri, x); !mat.EqualApprox(&back, b, 1e-12) {
			t.Errorf("%s, Trsm: the solution is wrong", name)
		}

		var want mat.Dense
		if err := want.Inverse(a); err != nil {
			t.Fatal(err)
		}
		for _, inverse := range []*mat.SymDense{new(mat.SymDense), mat.NewSymDense(n, nil)} {
			if _, err := la.Inverse(ctx, e, inverse, sym); err != nil || !mat.EqualApprox(inverse, &want, 1e-12) {
				t.Errorf("%s, Inverse into a SymDense: %v", name, err)
			}
		}

		var shape *la.ShapeError
		var empty mat.VecDense
		for what, err := range map[string]error{
			"unsymmetric": func() error { _, err := la.Inverse(ctx, e, new(mat.SymDense), a); return err }(),
			"two columns": la.LeastSquares[float64](ctx, e, &empty, high, mat.NewDense(n+4, 2, nil)),
			"a band":      la.LeastSquares(ctx, e, mat.NewBandDense(n, n, 1, 1, nil), high, long),
			"symmetric":   la.Mul(symmetricOf(rnd, n), a, a),
			"a band B":    la.Trsm(ctx, e, blas.Left, blas.NoTrans, 1, tri, mat.NewBandDense(n, n, 1, 1, nil)),
		} {
			if !errors.As(err, &shape) {
				t.Errorf("%s, %s: %v", name, what, err)
			} else if strings.Contains(what, "band") && !strings.Contains(err.Error(), "mat.BandDense") {
				t.Errorf("%s, %s: %v does not name the type", name, what, err)
			}
		}
	}
	// float32 has its own vectors.
	x := make(la.Vector[float32], 1)
	m := la.General[float32]{Rows: 1, Cols: 1, Stride: 1, Data: []float32{4}}
	if _, err := la.Solve[float32](ctx, nil, x, m, la.Vector[float32]{2}); err != nil || x[0] != 0.5 {
		t.Errorf("float32: %v, %v", x, err)
	}
}
