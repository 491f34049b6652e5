package la_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// optionMatrices returns two well-conditioned matrices of order n.
func optionMatrices(n int) (spd *mat.SymDense, full *mat.Dense) {
	spd, full = mat.NewSymDense(n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		spd.SetSym(i, i, float64(n))
		full.Set(i, i, float64(n))
		full.Set(i, (i+1)%n, 1)
	}
	return spd, full
}

// TestOptionsRefused: a method names what it does not take, reads nothing, and leaves an empty factorization.
func TestOptionsRefused(t *testing.T) {
	spd, full := optionMatrices(3)
	x := mat.NewDense(3, 1, []float64{1, 2, 3})
	bad := mat.NewDense(3, 3, []float64{math.NaN(), 0, 0, 0, 0, 0, 0, 0, 0}) // nothing reads it
	var chol la.Cholesky[float64]
	var lu la.LU[float64]
	var qr la.QR[float64]
	var ldl la.LDL[float64]
	var pivoted la.PivotedQR[float64]
	var eigen la.EigenSym[float64]
	var svd la.SVD[float64]
	var pca la.PCA[float64]
	var truncated la.TruncatedSVD[float64]
	ready := func() {
		t.Helper()
		if err := errors.Join(chol.Factorize(spd), lu.Factorize(full), qr.Factorize(full), ldl.Factorize(spd), pivoted.Factorize(full), eigen.Factorize(spd, true),
			svd.Factorize(full, mat.SVDThin), pca.Factorize(full, nil), truncated.Factorize(full, 1)); err != nil {
			t.Fatal(err)
		}
	}
	ready()
	keep, part := la.Checkpoint{Dir: t.TempDir()}, la.EigenIndices(0, 1)
	for _, c := range []struct {
		want string
		err  error
	}{
		{"Cholesky.SolveTo takes no Checkpoint", chol.SolveTo(x, x, keep)},
		{"Cholesky.SolveVecTo takes no InPlace", chol.SolveVecTo(la.Vector[float64]{1, 2, 3}, la.Vector[float64]{1, 2, 3}, la.InPlace())},
		{"Cholesky.InverseTo takes no InPlace", chol.InverseTo(spd, la.InPlace())},
		{"Cholesky.SolveLTo takes no InPlace", chol.SolveLTo(x, false, x, la.InPlace())},
		{"Cholesky.SymRankOne takes no InPlace", chol.SymRankOne(&chol, 1, la.Vector[float64]{1, 2, 3}, la.InPlace())},
		{"Cholesky.SymRankK takes no InPlace", chol.SymRankK(&chol, 1, x, la.InPlace())},
		{"Cholesky.ExtendVecSym takes no InPlace", chol.ExtendVecSym(&chol, la.Vector[float64]{1, 2, 3}, la.InPlace())},
		{"Cholesky.DropVecSym takes no InPlace", chol.DropVecSym(&chol, 0, la.InPlace())},
		{"LDL.SolveTo takes no InPlace", ldl.SolveTo(x, x, la.InPlace())},
		{"LDL.SolveVecTo takes no InPlace", ldl.SolveVecTo(la.Vector[float64]{1, 2, 3}, la.Vector[float64]{1, 2, 3}, la.InPlace())},
		{"LDL.InverseTo takes no InPlace", ldl.InverseTo(spd, la.InPlace())},
		{"LDL.Factorize takes no Checkpoint", ldl.Factorize(nil, keep)},
		{"LU.SolveTo takes no EigenPart", lu.SolveTo(x, false, x, part)},
		{"LU.SolveVecTo takes no InPlace", lu.SolveVecTo(la.Vector[float64]{1, 2, 3}, false, la.Vector[float64]{1, 2, 3}, la.InPlace())},
		{"LU.InverseTo takes no InPlace; LU.InverseTo takes no Checkpoint", lu.InverseTo(full, la.InPlace(), keep)},
		{"QR.SolveTo takes no Checkpoint", qr.SolveTo(x, false, x, keep)},
		{"QR.SolveVecTo takes no InPlace", qr.SolveVecTo(la.Vector[float64]{1, 2, 3}, false, la.Vector[float64]{1, 2, 3}, la.InPlace())},
		{"QR.QTo takes no InPlace", qr.QTo(full, la.InPlace())},
		{"QR.QThinTo takes no InPlace", qr.QThinTo(full, la.InPlace())},
		{"QR.ApplyQTo takes no InPlace", qr.ApplyQTo(x, blas.Left, false, x, la.InPlace())},
		{"SVD.SolveTo takes no InPlace", svd.SolveTo(x, x, 1, la.InPlace())},
		{"SVD.PseudoInverseTo takes no InPlace", svd.PseudoInverseTo(full, 1, la.InPlace())},
		{"SolveSPD takes no WithContext", second(la.SolveSPD(t.Context(), nil, x, spd, x, la.WithContext(t.Context())))},
		{"SolveGeneral takes no Checkpoint", second(la.SolveGeneral(t.Context(), nil, x, full, x, keep))},
		{"Cholesky.Factorize takes no EigenPart", chol.Factorize(nil, part)},
		{"LU.Factorize takes no EigenPart", lu.Factorize(bad, part)},
		{"PivotedQR.SolveTo takes no InPlace", pivoted.SolveTo(x, x, 3, la.InPlace())},
		{"PivotedQR.QThinTo takes no InPlace", pivoted.QThinTo(full, la.InPlace())},
		{"PivotedQR.NullSpaceTo takes no InPlace", pivoted.NullSpaceTo(full, 0, la.InPlace())},
		{"PivotedQR.Factorize takes no LeastNorm", pivoted.Factorize(bad, la.LeastNorm{})},
		{"LeastSquares takes no InPlace", la.LeastSquares[float64](t.Context(), nil, x, full, x, la.InPlace())},
		{"QR.Factorize takes no TruncatedOptions", qr.Factorize(bad, la.TruncatedOptions{})},
		{"EigenSym.Factorize takes no Checkpoint", eigen.Factorize(nil, true, keep)},
		{"SVD.Factorize takes no EigenPart", svd.Factorize(bad, mat.SVDThin, part)},
		{"SVD.Factorize takes no GeneralizedForm", svd.Factorize(bad, mat.SVDThin, la.ABxIsLambdaX)},
		{"EigenSym.Factorize has no Reduction(3)", eigen.Factorize(nil, true, la.Reduction(3))},
		{"PCA.Factorize takes no Checkpoint", pca.Factorize(bad, nil, keep)},
		{"TruncatedSVD.Factorize takes no InPlace", truncated.Factorize(bad, 1, la.InPlace())},
	} {
		if _, ok := errors.AsType[*la.OptionsError](c.err); !ok || !strings.HasSuffix(c.err.Error(), ": "+c.want) {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
	if !chol.IsEmpty() || !lu.IsEmpty() || !qr.IsEmpty() || !ldl.IsEmpty() || !pivoted.IsEmpty() || !eigen.IsEmpty() || !svd.IsEmpty() {
		t.Error("a refused factorization leaves another")
	}
	ready()
	for name, cond := range map[string]func(...la.CallOption) float64{"Cholesky": chol.Cond, "LU": lu.Cond, "QR": qr.Cond} {
		func() {
			defer func() {
				if _, ok := recover().(*la.OptionsError); !ok {
					t.Errorf("%s.Cond takes InPlace", name)
				}
			}()
			cond(la.InPlace())
		}()
	}
}

// TestOptionsContext: a context reaches every call that takes long.
func TestOptionsContext(t *testing.T) {
	const n = 5
	spd, full := optionMatrices(n)
	x, square := mat.NewDense(n, 1, nil), mat.NewDense(n, n, nil)
	v := mat.NewVecDense(n, nil)
	var chol la.Cholesky[float64]
	var lu la.LU[float64]
	var qr la.QR[float64]
	var svd la.SVD[float64]
	var ldl la.LDL[float64]
	var pivoted la.PivotedQR[float64]
	if err := errors.Join(chol.Factorize(spd), lu.Factorize(full), qr.Factorize(full), svd.Factorize(full, mat.SVDThin),
		ldl.Factorize(spd), pivoted.Factorize(full)); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	ctx := la.WithContext(ended)
	tile, half := blocked.New[float64](blocked.Full, n, n, n), blocked.New[float64](blocked.SymUpper, n, n, n)
	for name, err := range map[string]error{
		"Cholesky.SolveTo":          chol.SolveTo(x, x, ctx),
		"Cholesky.SolveLTo":         chol.SolveLTo(x, false, x, ctx),
		"Cholesky.SymRankOne":       chol.SymRankOne(&chol, 1, v, ctx),
		"Cholesky.SymRankK":         chol.SymRankK(&chol, 1, x, ctx),
		"Cholesky.ExtendVecSym":     chol.ExtendVecSym(&chol, mat.NewVecDense(n+1, nil), ctx),
		"Cholesky.DropVecSym":       chol.DropVecSym(&chol, 0, ctx),
		"LDL.Factorize":             new(la.LDL[float64]).Factorize(spd, ctx),
		"LDL.SolveTo":               ldl.SolveTo(x, x, ctx),
		"LDL.SolveVecTo":            ldl.SolveVecTo(v, v, ctx),
		"LDL.InverseTo":             ldl.InverseTo(mat.NewSymDense(n, nil), ctx),
		"PivotedQR.Factorize":       new(la.PivotedQR[float64]).Factorize(full, ctx),
		"PivotedQR.SolveTo":         pivoted.SolveTo(x, x, n, ctx),
		"PivotedQR.QThinTo":         pivoted.QThinTo(square, ctx),
		"PivotedQR.NullSpaceTo":     pivoted.NullSpaceTo(mat.NewDense(n, 1, nil), n-1, ctx),
		"Cholesky.SolveVecTo":       chol.SolveVecTo(v, v, ctx),
		"Cholesky.InverseTo":        chol.InverseTo(mat.NewSymDense(n, nil), ctx),
		"LU.SolveTo":                lu.SolveTo(x, false, x, ctx),
		"LU.SolveVecTo":             lu.SolveVecTo(v, true, v, ctx),
		"LU.InverseTo":              lu.InverseTo(square, ctx),
		"QR.SolveTo":                qr.SolveTo(x, false, x, ctx),
		"QR.SolveVecTo":             qr.SolveVecTo(v, false, v, ctx),
		"QR.QTo":                    qr.QTo(square, ctx),
		"QR.QThinTo":                qr.QThinTo(square, ctx),
		"QR.ApplyQTo":               qr.ApplyQTo(x, blas.Left, false, x, ctx),
		"SVD.SolveTo":               svd.SolveTo(x, x, n, ctx),
		"SVD.PseudoInverseTo":       svd.PseudoInverseTo(square, n, ctx),
		"Cholesky.Factorize":        new(la.Cholesky[float64]).Factorize(spd, ctx),
		"LU.Factorize":              new(la.LU[float64]).Factorize(full, ctx),
		"QR.Factorize":              new(la.QR[float64]).Factorize(full, ctx),
		"EigenSym.Factorize":        new(la.EigenSym[float64]).Factorize(spd, true, ctx, la.EigenIndices(0, 2)),
		"SVD.Factorize":             new(la.SVD[float64]).Factorize(full, mat.SVDThin, ctx),
		"PCA.Factorize":             new(la.PCA[float64]).Factorize(full, nil, ctx),
		"TruncatedSVD.Factorize":    new(la.TruncatedSVD[float64]).Factorize(full, 2, ctx, la.TruncatedOptions{Seed: 2}),
		"Cholesky.SolveTo in place": chol.SolveTo(tile, tile, ctx, la.InPlace()),
		"LU.SolveTo in place":       lu.SolveTo(tile, false, tile, ctx, la.InPlace()),
		"QR.SolveTo in place":       qr.SolveTo(tile, false, tile, ctx, la.InPlace()),
		"Cholesky in place":         new(la.Cholesky[float64]).Factorize(half, ctx, la.InPlace()),
		"LU in place":               new(la.LU[float64]).Factorize(tile, ctx, la.InPlace()),
		"QR in place":               new(la.QR[float64]).Factorize(tile, ctx, la.InPlace()),
		"LU with a checkpoint":      new(la.LU[float64]).Factorize(full, ctx, la.Checkpoint{Dir: t.TempDir()}),
	} {
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, cond := range map[string]func(...la.CallOption) float64{"Cholesky": chol.Cond, "LU": lu.Cond, "QR": qr.Cond} {
		if k := cond(ctx); !math.IsNaN(k) {
			t.Errorf("%s.Cond %v after the end of its context", name, k)
		}
		if k := cond(nil, ctx, la.WithContext(t.Context())); !(k >= 1) { // the last context counts
			t.Errorf("%s.Cond %v", name, k)
		}
	}
}
