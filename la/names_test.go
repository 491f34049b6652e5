package la_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// TestErrorsNameTheCall: an error about shapes names the function that was called and its operands as
// its documentation does.
func TestErrorsNameTheCall(t *testing.T) {
	ctx := t.Context()
	d := func(m, n int) *mat.Dense { return mat.NewDense(m, n, nil) }
	v := func(n int) *mat.VecDense { return mat.NewVecDense(n, nil) }
	full := func(n, nb int) *blocked.Matrix[float64] { return blocked.New[float64](blocked.Full, n, n, nb) }
	sym, tri := mat.NewSymDense(3, nil), mat.NewTriDense(3, mat.Upper, []float64{1, 2, 3, 0, 1, 2, 0, 0, 1})
	band := mat.NewBandDense(3, 3, 1, 1, nil)
	one := mat.NewDense(3, 3, []float64{2, 1, 0, 1, 3, 1, 0, 1, 4})
	var chol la.Cholesky[float64]
	var lu, tall la.LU[float64]
	var qr la.QR[float64]
	high := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 7})
	if err := errors.Join(chol.Factorize(mat.NewSymDense(3, one.RawMatrix().Data)), lu.Factorize(one), qr.Factorize(one), tall.Factorize(high)); err != nil {
		t.Fatal(err)
	}
	e, err := la.NewEngine(la.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	sparse, err := csr.FromCOO(e.Runtime(), 3, 3, []int{0, 1, 2}, []int{0, 1, 2}, []float64{1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	solved := func(_ la.SolveReport, err error) error { return err }
	refined := func(_ la.Refinement, err error) error { return err }
	number := func(_ float64, err error) error { return err }
	small := full(2, 2)
	short, long := make([]float64, 2), make([]float64, 3)
	for _, c := range []struct {
		op, operands string // those that the text names
		err          error
	}{
		{"Mul", "a b", la.Mul(d(3, 3), d(3, 2), d(3, 3))},
		{"Mul", "dst", la.Mul(d(2, 2), d(3, 3), d(3, 3))},
		{"Mul", "dst", la.Mul(v(2), d(3, 3), v(3))},
		{"Mul", "dst", la.Mul(band, d(3, 3), d(3, 3))},
		{"MulVec", "a x", la.MulVec(v(3), d(3, 2), v(3))},
		{"MulVec", "dst", la.MulVec(v(2), d(3, 3), v(3))},
		{"Gemm", "op(A) op(B)", la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, d(3, 2), d(3, 3), 0, d(3, 3))},
		{"Gemm", "C", la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, d(3, 3), d(3, 3), 0, d(2, 3))},
		{"Gemm", "C", la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, d(3, 3), d(3, 3), 0, band)},
		{"Gemm", "transposition", la.Gemm(ctx, e, 'X', blas.NoTrans, 1, d(3, 3), d(3, 3), 0, d(3, 3))},
		{"Gemv", "op(A) x", la.Gemv(ctx, e, blas.NoTrans, 1, d(3, 2), v(3), 0, v(3))},
		{"Gemv", "y", la.Gemv(ctx, e, blas.NoTrans, 1, d(3, 3), v(3), 0, v(2))},
		{"Gemv", "transposition", la.Gemv(ctx, e, 'X', 1, d(3, 3), v(3), 0, v(3))},
		{"Syrk", "C", la.Syrk(ctx, e, blas.NoTrans, 1, d(2, 3), 0, sym)},
		{"Trsm", "A B", la.Trsm(ctx, e, blas.Left, blas.NoTrans, 1, tri, d(2, 3))},
		{"Trsm", "side", la.Trsm(ctx, e, 'X', blas.NoTrans, 1, tri, d(3, 3))},
		{"Trsm", "B", la.Trsm(ctx, e, blas.Left, blas.NoTrans, 1, tri, band)},
		{"Trsm", "B", la.Trsm(ctx, e, blas.Left, blas.NoTrans, 0, tri, band)},
		{"Solve", "A b", solved(la.Solve(ctx, e, d(3, 1), one, d(2, 1)))},
		{"Solve", "dst", solved(la.Solve(ctx, e, d(2, 1), one, d(3, 1)))},
		{"Solve", "dst", solved(la.Solve(ctx, e, band, one, d(3, 3)))},
		{"LeastSquares", "A b", la.LeastSquares(ctx, e, d(2, 1), d(3, 2), d(2, 1))},
		{"LeastSquares", "dst", la.LeastSquares(ctx, e, d(3, 1), d(3, 2), d(3, 1))},
		{"SolveSPD", "A b", refined(la.SolveSPD(ctx, e, d(3, 1), sym, d(2, 1)))},
		{"SolveSPD", "dst", refined(la.SolveSPD(ctx, e, d(2, 1), sym, d(3, 1)))},
		{"SolveGeneral", "A", refined(la.SolveGeneral(ctx, e, d(3, 1), d(3, 2), d(3, 1)))},
		{"SolveGeneral", "A b", refined(la.SolveGeneral(ctx, e, d(3, 1), d(3, 3), d(2, 1)))},
		{"SolveSPD", "A", refined(la.SolveSPD(ctx, e, small, full(3, 2), small, la.InPlace()))},
		{"SolveSPD", "A", refined(la.SolveSPD(ctx, e, small, sym, small, la.InPlace()))},
		{"SolveSPD", "dst b", refined(la.SolveSPD(ctx, e, small, blocked.New[float64](blocked.SymUpper, 2, 2, 2), full(2, 2), la.InPlace()))},
		{"SolveSPD", "A B", refined(la.SolveSPD(ctx, e, small, blocked.New[float64](blocked.SymUpper, 3, 3, 2), small, la.InPlace()))},
		{"SolveGeneral", "A", refined(la.SolveGeneral(ctx, e, small, blocked.New[float64](blocked.SymUpper, 3, 3, 2), small, la.InPlace()))},
		{"SolveGeneral", "A B", refined(la.SolveGeneral(ctx, e, small, full(3, 2), small, la.InPlace()))},
		{"Inverse", "A", solved(la.Inverse(ctx, e, d(3, 3), d(3, 2)))},
		{"Inverse", "dst", solved(la.Inverse(ctx, e, d(2, 2), one))},
		{"Inverse", "dst", solved(la.Inverse(ctx, e, band, one))},
		{"Cond", "A", number(la.Cond(ctx, e, d(3, 2), lapack.MaxColumnSum))},
		{"SolveTo", "A b", chol.SolveTo(d(3, 1), d(2, 1))},
		{"SolveTo", "dst", chol.SolveTo(d(2, 1), d(3, 1))},
		{"SolveVecTo", "A b", chol.SolveVecTo(v(3), v(2))},
		{"SolveVecTo", "dst", chol.SolveVecTo(v(2), v(3))},
		{"InverseTo", "dst", chol.InverseTo(mat.NewSymDense(2, nil))},
		{"SolveTo", "A B", chol.SolveTo(small, small, la.InPlace())},
		{"SolveTo", "dst b", chol.SolveTo(small, full(2, 2), la.InPlace())},
		{"SolveTo", "dst b", chol.SolveTo(d(3, 1), d(3, 1), la.InPlace())},
		{"SolveTo", "A b", lu.SolveTo(d(3, 1), false, d(2, 1))},
		{"SolveTo", "dst", lu.SolveTo(band, false, d(3, 3))},
		{"SolveTo", "A", tall.SolveTo(d(3, 1), false, d(2, 1))},
		{"SolveVecTo", "A b", lu.SolveVecTo(v(3), false, v(2))},
		{"InverseTo", "dst", lu.InverseTo(d(2, 2))},
		{"InverseTo", "A", tall.InverseTo(d(2, 2))},
		{"SolveTo", "A B", lu.SolveTo(small, false, small, la.InPlace())},
		{"SolveTo", "dst b", lu.SolveTo(d(3, 1), false, d(3, 1), la.InPlace())},
		{"SolveTo", "op(A) b", qr.SolveTo(d(3, 1), false, d(2, 1))},
		{"SolveTo", "dst", qr.SolveTo(d(2, 1), false, d(3, 1))},
		{"SolveVecTo", "op(A) b", qr.SolveVecTo(v(3), false, v(2))},
		{"QTo", "dst", qr.QTo(d(2, 2))},
		{"QThinTo", "dst", qr.QThinTo(d(2, 2))},
		{"ApplyQTo", "Q b", qr.ApplyQTo(d(3, 3), blas.Left, false, d(2, 3))},
		{"ApplyQTo", "dst", qr.ApplyQTo(d(2, 3), blas.Left, false, d(3, 3))},
		{"ApplyQTo", "side", qr.ApplyQTo(d(3, 3), 'X', false, d(3, 3))},
		{"SolveTo", "A B X", qr.SolveTo(small, false, small, la.InPlace())},
		{"SolveTo", "dst b", qr.SolveTo(d(3, 1), false, d(3, 1), la.InPlace())},
		{"Factorize", "a", new(la.Cholesky[float64]).Factorize(sym, la.InPlace())},
		{"Factorize", "a", new(la.LU[float64]).Factorize(one, la.InPlace())},
		{"Factorize", "a", new(la.QR[float64]).Factorize(one, la.InPlace())},
		{"Factorize", "a", new(la.Cholesky[float64]).Factorize(full(3, 2), la.InPlace())},
		{"Factorize", "a", new(la.LU[float64]).Factorize(blocked.New[float64](blocked.SymUpper, 3, 3, 2), la.WithContext(ctx), la.InPlace())},
		{"Factorize", "a", new(la.QR[float64]).Factorize(blocked.New[float64](blocked.SymUpper, 3, 3, 2), la.WithContext(ctx), la.InPlace())},
		{"MulVecTo", "op(A) x dst", sparse.MulVecTo(ctx, short, false, long)},
		{"MulTo", "a b", sparse.MulTo(ctx, d(3, 3), d(2, 3))},
		{"MulTo", "dst", sparse.MulTo(ctx, d(2, 3), d(3, 3))},
		{"GramTo", "dst", sparse.GramTo(ctx, mat.NewSymDense(2, nil))},
		{"CG", "A x b", func() error { _, err := krylov.CG(ctx, sparse, short, long, krylov.CGOptions{}); return err }()},
		{"LSQR", "A x b", func() error { _, err := krylov.LSQR(ctx, sparse, short, long, krylov.LSQROptions{}); return err }()},
	} {
		shape, ok := errors.AsType[*la.ShapeError](c.err)
		if !ok || shape.Op != c.op {
			t.Errorf("%s: %v", c.op, c.err)
			continue
		}
		words := strings.FieldsFunc(strings.NewReplacer("is a ", "is ", "want a ", "", "neither a ", "", "nor a ", "").Replace(shape.Detail), func(r rune) bool { return strings.ContainsRune(" ,;", r) })
		named := map[string]bool{}
		for _, w := range words {
			named[w] = true
		}
		for _, operand := range strings.Fields(c.operands) {
			if !named[operand] {
				t.Errorf("%s: %v does not name %s", c.op, c.err, operand)
			}
			delete(named, operand)
		}
		for _, other := range []string{"a", "A", "b", "B", "C", "dst", "x", "X", "y", "Q"} {
			if named[other] {
				t.Errorf("%s: %v speaks of %s", c.op, c.err, other)
			}
		}
	}
}

// TestErrorsCountAlike: texts count rows, columns and orders from 1, and say so.
func TestErrorsCountAlike(t *testing.T) {
	dense := func(v ...float64) *mat.Dense { return mat.NewDense(3, 3, v) }
	b := mat.NewDense(3, 1, []float64{1, 1, 1})
	for _, c := range []struct {
		a    mat.Matrix
		want string
	}{
		{dense(1, 2, 3, 4, 5, math.NaN(), 7, 8, 10), "row 2, column 3 (counted from 1) is not finite"},
		{dense(0, 2, 3, 0, 5, 6, 0, 8, 10), "column 1 (counted from 1) is zero"},
		{dense(1, 2, 3, 4, 5, 9, 2, 4, 6), "column 3 (counted from 1) depends on those before it"},
		{mat.NewTriDense(3, mat.Upper, []float64{1, 2, 3, 0, 0, 2, 0, 0, 1}), "column 2 (counted from 1) has a zero on the diagonal"},
		{mat.NewTriDense(3, mat.Lower, []float64{0, 0, 0, 2, 1, 0, 2, 3, 1}), "column 1 (counted from 1) has a zero on the diagonal"},
		{mat.NewDiagDense(3, []float64{1, 2, 0}), "column 3 (counted from 1) has a zero on the diagonal"},
		{mat.NewDiagDense(3, []float64{1, 5e-324, 1}), "row 2, column 1 (counted from 1) overflows"},
	} {
		_, err := la.Solve(t.Context(), nil, new(mat.Dense), c.a, b)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for want, err := range map[string]error{
		"row 3 (counted from 1): bad":           &csr.StructureError{Row: 2, Reason: "bad"},
		"column 4 (counted from 1) in the rows": &la.BreakdownError{Column: 4},
		"leading minor of order 2 is not":       &la.NotPositiveDefiniteError{Minor: 2},
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
