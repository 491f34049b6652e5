package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// method returns the method that Solve should take for a matrix of order n of
// the kind, MethodNone if it depends.
func method(k matgen.Kind, n int) la.Method {
	switch k {
	case matgen.Diagonal, matgen.SPDDiagonal, matgen.Identity:
		return la.MethodDiagonal
	case matgen.Upper, matgen.Lower, matgen.Kahan:
		if n > 1 {
			return la.MethodTriangular
		}
	case matgen.SPD, matgen.SPDCond2, matgen.KMS, matgen.Lehmer, matgen.MinIJ, matgen.SPDTiny, matgen.SPDHuge, matgen.SPDCond:
		if n > 1 {
			return la.MethodCholesky
		}
	case matgen.Random, matgen.Cond, matgen.Cond2, matgen.Graded, matgen.CondSqrt, matgen.CondMax, matgen.Tiny, matgen.Huge:
		if n > 2 {
			return la.MethodLU
		}
	}
	return la.MethodNone
}

// grows is the order from which the growth of partial pivoting spoils the
// residual.
func grows(k matgen.Kind) int {
	if k == matgen.Wilkinson || k == matgen.Foster {
		return 12
	}
	return math.MaxInt
}

func testSolveKinds[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 1))
	for name, opt := range sorted.Map(map[string]la.Options{
		"tiles":  {Workers: 2, NB: 7, Direct: -1},
		"direct": {Workers: 1, Direct: 1 << 20},
		"auto":   {Workers: 2},
	}) {
		e := start(t, opt)
		for _, kind := range matgen.Kinds() {
			for _, n := range []int{1, 3, 7, 8, 23} {
				if n >= grows(kind) {
					continue
				}
				a := rectangle[T](t, matgen.Spec{Kind: kind, M: n, N: n, Seed: 5, NB: 7}, n%3)
				a0, da := clone(a), load[T](a, blas.NoTrans)
				for _, nrhs := range []int{1, 10} {
					what := fmt.Sprintf("%s, %v, n %d, nrhs %d", name, kind, n, nrhs)
					b, x := random[T](rnd, n, nrhs, 1), padded[T](n, nrhs, 2)
					b0, x0 := clone(b), clone(x)
					report, err := la.Solve[T](t.Context(), e, x, a, b)
					unchanged(t, what+": A", a, a0, nil)
					unchanged(t, what+": B", b, b0, nil)
					if want := method(kind, n); want != la.MethodNone && report.Method != want {
						t.Errorf("%s: %+v, want %v", what, report, want)
					}
					var singular *la.SingularError
					var cond mat.Condition
					switch {
					case errors.As(err, &singular):
						unchanged(t, what+": X", x, x0, nil)
						if column := singular.Column; column < 1 || column > n {
							t.Errorf("%s: %v", what, err)
						}
						continue
					case errors.As(err, &cond) && float64(cond) > 1:
					case err != nil:
						t.Errorf("%s: %v", what, err)
						continue
					}
					unchanged(t, what+": X", x, x0, everywhere)
					dx := load[T](x, blas.NoTrans)
					if norm := dx.norm1(); norm-norm != 0 {
						// A singular matrix that rounding has hidden may have a
						// solution out of range; so may one of tiny elements.
						if cond == 0 && kind != matgen.Tiny && kind != matgen.SPDTiny {
							t.Errorf("%s: the solution is not finite", what)
						}
						continue
					}
					small(t, solveResidual[T](da, dx, load[T](b, blas.NoTrans)), 30, "%s, %+v", what, report)
				}
			}
		}
	}
}

// TestSolveKinds solves with every matrix of matgen.
func TestSolveKinds(t *testing.T) {
	t.Run("f64", testSolveKinds[float64])
	t.Run("f32", testSolveKinds[float32])
}

// TestSolveSingular expects LAPACK's column of matrices whose zeros are exact.
func TestSolveSingular(t *testing.T) {
	const n = 13
	lower, diagonal := mat.NewTriDense(n, mat.Lower, nil), mat.NewDiagDense(n, nil)
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		lower.SetTri(i, i, float64(i-4))
		lower.SetTri(i, 0, 1)
		diagonal.SetDiag(i, float64(i-6))
		symmetric.SetSym(i, i, 1)
	}
	lower.SetTri(0, 0, 1)
	symmetric.SetSym(2, 1, 1) // two equal rows
	for name, e := range engines(t) {
		for what, c := range map[string]struct {
			a      la.Source[float64]
			method la.Method
			column int
		}{
			"first column": {rectangle[float64](t, matgen.Spec{Kind: matgen.FirstColumnZero, M: n, N: n}, 1), la.MethodLU, 1},
			"last column":  {rectangle[float64](t, matgen.Spec{Kind: matgen.LastColumnZero, M: n, N: n}, 1), la.MethodLU, n},
			"zeros":        {mat.NewDense(n, n, nil), la.MethodDiagonal, 1},
			"triangular":   {lower, la.MethodTriangular, 5},
			"transposed":   {lower.T(), la.MethodTriangular, 5},
			"diagonal":     {diagonal, la.MethodDiagonal, 7},
			"symmetric":    {symmetric, la.MethodLU, 3},
		} {
			x := mat.NewDense(n, 2, nil)
			report, err := la.Solve[float64](t.Context(), e, x, c.a, mat.NewDense(n, 2, nil))
			var singular *la.SingularError
			if !errors.As(err, &singular) || singular.Column != c.column || report.Method != c.method {
				t.Errorf("%s, %s: %+v, %v; want column %d by %v", name, what, report, err, c.column, c.method)
			}
			if _, err := la.Inverse[float64](t.Context(), e, mat.NewDense(n, n, nil), c.a); !errors.As(err, &singular) {
				t.Errorf("%s, inverse of %s: %v", name, what, err)
			}
			if cond, err := la.Cond(t.Context(), e, c.a, 'O'); !math.IsInf(cond, 1) || err != nil {
				t.Errorf("%s, condition of %s: %v, %v", name, what, cond, err)
			}
		}
	}
}

// TestSolveIndefinite has Cholesky fail at every minor; the solution comes by
// LU, and the error of Cholesky does not come at all.
func TestSolveIndefinite(t *testing.T) {
	const n = 16
	rnd := rand.New(rand.NewPCG(1, 9))
	for name, e := range sorted.Map(engines(t)) {
		for m := 1; m <= n; m++ {
			a := rectangle[float64](t, matgen.Spec{Kind: matgen.Indefinite, M: n, N: n, Minor: m}, 0)
			b, x := random[float64](rnd, n, 2, 0), padded[float64](n, 2, 0)
			report, err := la.Solve[float64](t.Context(), e, x, a, b)
			want := la.SolveReport{Method: la.MethodLU, Minor: m}
			if a.At(m-1, m-1) <= 0 {
				want.Minor = 0 // the diagonal says so already
			}
			var cond mat.Condition
			if err != nil && !errors.As(err, &cond) || report != want {
				t.Errorf("%s, minor %d: %+v, %v", name, m, report, err)
				continue
			}
			small(t, solveResidual[float64](load[float64](a, blas.NoTrans), load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "%s, minor %d", name, m)
		}
	}
}

// TestSolveSources solves with matrices of all types.
func TestSolveSources(t *testing.T) {
	const n = 11
	rnd := rand.New(rand.NewPCG(2, 2))
	sym, band, diag := mat.NewSymDense(n, nil), mat.NewSymBandDense(n, 1, nil), mat.NewDiagDense(n, nil)
	tri, dense := mat.NewTriDense(n, mat.Upper, nil), mat.NewDense(n, n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, rnd.NormFloat64())
			tri.SetTri(i, j, rnd.NormFloat64())
		}
		for j := range n {
			dense.Set(i, j, rnd.NormFloat64())
		}
		sym.SetSym(i, i, 2*n)
		tri.SetTri(i, i, 3)
		band.SetSymBand(i, i, 4)
		diag.SetDiag(i, float64(i+1))
		if i > 0 {
			band.SetSymBand(i-1, i, -1)
		}
	}
	unit := la.Triangular[float64]{Uplo: blas.Lower, Diag: blas.Unit, N: n, Stride: n, Data: dense.RawMatrix().Data}
	tiled := func(kind blocked.Kind, src la.Source[float64], nb int) *blocked.Matrix[float64] {
		m, _ := blocked.From(src, kind, nb, blocked.CopyOptions{})
		return m
	}
	for engine, e := range sorted.Map(engines(t)) {
		for name, c := range sorted.Map(map[string]struct {
			a    la.Source[float64]
			want la.Method
		}{
			"Dense":          {dense, la.MethodLU},
			"Dense.T":        {dense.T(), la.MethodLU},
			"slice":          {dense.Slice(2, 9, 3, 10), la.MethodLU},
			"hidden":         {hidden[float64]{la.General[float64]{Rows: n, Cols: n, Stride: n, Data: dense.RawMatrix().Data}}, la.MethodLU},
			"SymDense":       {sym, la.MethodCholesky},
			"SymDense.T":     {sym.T(), la.MethodCholesky},
			"as Dense":       {mat.DenseCopyOf(sym), la.MethodCholesky},
			"SymBandDense":   {band, la.MethodCholesky},
			"TriDense":       {tri, la.MethodTriangular},
			"TriDense.T":     {tri.T(), la.MethodTriangular},
			"TriDense.TTri":  {tri.TTri(), la.MethodTriangular},
			"tri as Dense":   {mat.DenseCopyOf(tri), la.MethodTriangular},
			"tri as Dense.T": {mat.DenseCopyOf(tri).T(), la.MethodTriangular},
			"unit":           {unit, la.MethodTriangular},
			"DiagDense":      {diag, la.MethodDiagonal},
			"diag as Dense":  {mat.DenseCopyOf(diag), la.MethodDiagonal},
			"tiles":          {tiled(blocked.Full, dense, 5), la.MethodLU},
			"other tiles":    {tiled(blocked.Full, dense, 4), la.MethodLU},
			"tiles, lower":   {tiled(blocked.SymLower, sym, 5), la.MethodCholesky},
			"tiles, upper":   {tiled(blocked.SymUpper, sym, 3), la.MethodCholesky},
			"tiles, tri":     {tiled(blocked.TriUpper, tri, 5), la.MethodTriangular},
		}) {
			what := engine + ", " + name
			m, _ := c.a.Dims()
			b := random[float64](rnd, m, 3, 1)
			var x, inv mat.Dense
			report, err := la.Solve[float64](t.Context(), e, &x, c.a, b)
			if err != nil || report != (la.SolveReport{Method: c.want, Band: name == "SymBandDense"}) {
				t.Errorf("%s: %+v, %v; want %v", what, report, err, c.want)
				continue
			}
			da := load[float64](c.a, blas.NoTrans)
			small(t, solveResidual[float64](da, load[float64](&x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "%s", what)
			if report, err := la.Inverse[float64](t.Context(), e, &inv, c.a); err != nil || report.Method != c.want {
				t.Errorf("%s: inverse: %+v, %v", what, report, err)
				continue
			}
			eye := newDense(m, m, func(i, j int) float64 {
				if i == j {
					return 1
				}
				return 0
			})
			small(t, solveResidual[float64](da, load[float64](&inv, blas.NoTrans), eye), 30, "%s: inverse", what)
			// dst = A and dst = B.
			if d, ok := c.a.(*mat.Dense); ok {
				own := mat.DenseCopyOf(d)
				if _, err := la.Inverse[float64](t.Context(), e, own, own); err != nil || !mat.Equal(own, &inv) {
					t.Errorf("%s: in place: another inverse, %v", what, err)
				}
				own = mat.DenseCopyOf(d)
				square := mat.NewDense(m, m, nil)
				square.Copy(asDense(b))
				var want mat.Dense
				if _, err := la.Solve[float64](t.Context(), e, &want, own, square); err != nil {
					t.Fatal(err)
				}
				if _, err := la.Solve[float64](t.Context(), e, own, own, square); err != nil || !mat.Equal(own, &want) {
					t.Errorf("%s: dst = A: another solution, %v", what, err)
				}
			}
			if _, err := la.Solve[float64](t.Context(), e, b, c.a, b); err != nil || !mat.Equal(asDense(b), &x) {
				t.Errorf("%s: dst = B: another solution, %v", what, err)
			}
		}
	}
}

func testLeastSquares[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, opt := range sorted.Map(map[string]la.Options{
		"tiles": {Workers: 2, NB: 5, Direct: -1},
		"auto":  {Workers: 1},
	}) {
		e := start(t, opt)
		for _, dims := range [][2]int{{1, 1}, {9, 1}, {1, 9}, {12, 5}, {5, 12}, {31, 7}, {7, 31}, {16, 15}, {10, 10}} {
			m, n := dims[0], dims[1]
			for _, nrhs := range []int{1, 6} {
				what := fmt.Sprintf("%s, %d×%d, nrhs %d", name, m, n, nrhs)
				a, b := random[T](rnd, m, n, 2), random[T](rnd, m, nrhs, 1)
				a0, b0 := clone(a), clone(b)
				x := padded[T](n, nrhs, 0)
				if err := la.LeastSquares[T](t.Context(), e, x, a, b); err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				unchanged(t, what+": A", a, a0, nil)
				unchanged(t, what+": B", b, b0, nil)
				da, db := load[T](a, blas.NoTrans), load[T](b, blas.NoTrans)
				checkSolution[T](t, what, da, load[T](x, blas.NoTrans), db)
				if m == n {
					continue
				}
				y := padded[T](n, nrhs, 3)
				report, err := la.Solve[T](t.Context(), e, y, transposed(a), b)
				if _, shape := err.(*la.ShapeError); !shape {
					t.Errorf("%s: Aᵀ: %+v, %v", what, report, err)
				}
				report, err = la.Solve[T](t.Context(), e, y, a, b)
				if err != nil || report.Method != la.MethodQR {
					t.Errorf("%s: %+v, %v", what, report, err)
				}
				checkSolution[T](t, what+", Solve", da, load[T](y, blas.NoTrans), db)
			}
		}
	}
}

func TestLeastSquares(t *testing.T) {
	t.Run("f64", testLeastSquares[float64])
	t.Run("f32", testLeastSquares[float32])
}

// TestSolveFiles solves systems from Matrix Market files, unsymmetric ones with
// condition numbers up to 10¹⁵ among them.
func TestSolveFiles(t *testing.T) {
	dir := t.TempDir()
	for engine, e := range map[string]*la.Engine{"tiles": start(t, la.Options{Workers: 2, NB: 32, Direct: -1}), "auto": nil} {
		for _, c := range []struct {
			s    matgen.Spec
			cond float64
			want la.Method
		}{
			{matgen.Spec{Kind: matgen.Cond, M: 90, N: 90, Cond: 1e15}, 1e14, la.MethodLU},
			{matgen.Spec{Kind: matgen.Cond, M: 120, N: 120, Cond: 1e8}, 1e7, la.MethodLU},
			{matgen.Spec{Kind: matgen.Graded, M: 100, N: 100}, 1e5, la.MethodLU},
			{matgen.Spec{Kind: matgen.Kahan, M: 60, N: 60}, 1e3, la.MethodTriangular},
			{matgen.Spec{Kind: matgen.Beam, M: 200, N: 200}, 1e9, la.MethodCholesky},
			{matgen.Spec{Kind: matgen.Random, M: 110, N: 30}, 0, la.MethodQR},
		} {
			a := rectangle[float64](t, c.s, 0)
			m, _ := blocked.From[float64](a, blocked.Full, 50, blocked.CopyOptions{})
			path := filepath.Join(dir, fmt.Sprintf("%v-%d.mtx", c.s.Kind, c.s.M))
			if err := file.Write(path, m, &file.WriteOptions{Coordinate: true}); err != nil {
				t.Fatal(err)
			}
			back, err := file.Read[float64](path, &file.ReadOptions{NB: 64})
			if err != nil {
				t.Fatal(err)
			}
			what := engine + ": " + filepath.Base(path)
			b := random[float64](rand.New(rand.NewPCG(1, 1)), c.s.M, 2, 0)
			var x mat.Dense
			report, err := la.Solve[float64](t.Context(), e, &x, back, b)
			var bad mat.Condition
			if err != nil && !errors.As(err, &bad) || report.Method != c.want {
				t.Fatalf("%s: %+v, %v", what, report, err)
			}
			da, dx, db := load[float64](a, blas.NoTrans), load[float64](&x, blas.NoTrans), load[float64](b, blas.NoTrans)
			if c.s.M != c.s.N {
				checkSolution[float64](t, what, da, dx, db)
				continue
			}
			small(t, solveResidual[float64](da, dx, db), 30, "%s", what)
			if cond, err := la.Cond[float64](t.Context(), e, back, 'O'); err != nil || cond < c.cond {
				t.Errorf("%s: condition %g, %v; want above %g", what, cond, err, c.cond)
			}
			refined, err := la.SolveGeneral(t.Context(), e, &x, back, b)
			if err != nil && !errors.As(err, &bad) || !(refined.BackwardError < 1e-13) {
				t.Errorf("%s: mixed: %+v, %v", what, refined, err)
			}
			small(t, solveResidual[float64](da, load[float64](&x, blas.NoTrans), db), 30, "%s: mixed, %+v", what, refined)
		}
	}
}

// asDense returns a copy of g.
func asDense(g la.General[float64]) *mat.Dense {
	d := mat.NewDense(g.Rows, g.Cols, nil)
	for i := range g.Rows {
		for j := range g.Cols {
			d.Set(i, j, g.At(i, j))
		}
	}
	return d
}
