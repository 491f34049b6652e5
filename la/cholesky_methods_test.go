package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// factored returns the factorization of the matrix that s names, and the
// matrix.
func factored[T la.Element](t *testing.T, e *la.Engine, s matgen.Spec) (*la.Cholesky[T], dense) {
	t.Helper()
	a := symmetric[T](t, s, blas.Lower, 0)
	c := la.NewCholesky[T](e)
	if err := c.Factorize(a); err != nil {
		t.Fatalf("%v, n %d: %v", s.Kind, s.N, err)
	}
	return c, load[T](a, blas.NoTrans)
}

// solved takes a condition for a solution where float32 is right to warn.
func solved(err error, kind matgen.Kind) error {
	if _, ok := err.(mat.Condition); ok && kind == matgen.SPDGraded {
		return nil
	}
	return err
}

// checkSolve solves A·X = B beside B, and in its place, with the same bits.
func checkSolve[T la.Element](t *testing.T, what string, a dense, b la.General[T], solve func(x, b la.General[T]) error) {
	t.Helper()
	x := padded[T](b.Rows, b.Cols, 2)
	x0 := clone(x)
	if err := solve(x, b); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	unchanged(t, what, x, x0, everywhere)
	small(t, solveResidual[T](a, load[T](x, blas.NoTrans), load[T](b, blas.NoTrans)), 30, "%s", what)
	if err := solve(b, b); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for i := range b.Rows {
		for j := range b.Cols {
			if bits(b.At(i, j)) != bits(x.At(i, j)) {
				t.Fatalf("%s: in place (%d, %d) is %v, want %v", what, i, j, b.At(i, j), x.At(i, j))
			}
		}
	}
}

func testSolve[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 1))
	for engine, e := range sorted.Map(engines(t)) {
		for _, kind := range []matgen.Kind{matgen.SPD, matgen.SPDCond, matgen.Lehmer, matgen.SPDGraded, matgen.SPDTiny, matgen.SPDHuge} {
			for _, n := range []int{0, 1, 4, 5, 6, 16, 23} {
				c, a := factored[T](t, e, matgen.Spec{Kind: kind, N: n, Cond: 100})
				if got := c.SymmetricDim(); got != n {
					t.Errorf("SymmetricDim is %d, want %d", got, n)
				}
				for _, nrhs := range []int{0, 1, 2, 5, 11} {
					what := fmt.Sprintf("%s: %v, n %d, nrhs %d", engine, kind, n, nrhs)
					checkSolve(t, what, a, random[T](rnd, n, nrhs, 1), func(x, b la.General[T]) error { return solved(c.SolveTo(x, b), kind) })
				}
				b, x := make(la.Vector[T], n), make(la.Vector[T], n)
				for i := range b {
					b[i] = T(rnd.NormFloat64())
				}
				if err := solved(c.SolveVecTo(x, b), kind); err != nil {
					t.Fatal(err)
				}
				column := func(v la.Vector[T]) dense { return newDense(n, 1, func(i, _ int) float64 { return float64(v[i]) }) }
				small(t, solveResidual[T](a, column(x), column(b)), 30, "%s: %v, n %d, vector", engine, kind, n)
				if err := solved(c.SolveVecTo(b, b), kind); err != nil || n > 0 && bits(b[n-1]) != bits(x[n-1]) {
					t.Errorf("%s: %v, n %d, in place: %v", engine, kind, n, err)
				}
			}
		}
	}
}

func TestCholeskySolve(t *testing.T) {
	t.Run("f64", testSolve[float64])
	t.Run("f32", testSolve[float32])
}

// TestCholeskySolveGonum solves into gonum's matrices.
func TestCholeskySolveGonum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 2))
	const n = 12
	for engine, e := range sorted.Map(engines(t)) {
		c, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: n})
		b := mat.NewDense(n, 3, nil)
		b.Apply(func(int, int, float64) float64 { return rnd.NormFloat64() }, b)
		var x mat.Dense
		if err := c.SolveTo(&x, b); err != nil {
			t.Fatal(err)
		}
		small(t, solveResidual[float64](a, load[float64](&x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "%s: empty", engine)
		// Into a part of b, beside the part that is read.
		if err := c.SolveTo(b.Slice(0, n, 0, 2).(*mat.Dense), b.Slice(0, n, 1, 3)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if b.At(i, 0) != x.At(i, 1) || b.At(i, 1) != x.At(i, 2) {
				t.Fatalf("%s: row %d of the overlapping solution", engine, i)
			}
		}
		var v mat.VecDense
		if err := c.SolveVecTo(&v, x.ColView(1)); err != nil || v.Len() != n {
			t.Fatal(err, v.Len())
		}
		if err := c.SolveVecTo(x.ColView(1).(*mat.VecDense), x.ColView(1)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if v.AtVec(i) != x.At(i, 1) {
				t.Fatalf("%s: element %d solved in place", engine, i)
			}
		}

		for name, err := range map[string]error{
			"rows of b":   c.SolveTo(&mat.Dense{}, mat.NewDense(n+1, 2, nil)),
			"dst":         c.SolveTo(mat.NewDense(n, 3, nil), mat.NewDense(n, 2, nil)),
			"vector b":    c.SolveVecTo(&mat.VecDense{}, mat.NewVecDense(n-1, nil)),
			"vector dst":  c.SolveVecTo(mat.NewVecDense(n+1, nil), mat.NewVecDense(n, nil)),
			"inverse dst": c.InverseTo(mat.NewSymDense(n+1, nil)),
		} {
			var shape *la.ShapeError
			if !errors.As(err, &shape) {
				t.Errorf("%s: %s: %v, want a ShapeError", engine, name, err)
			}
		}
	}
}

func testInverse[T la.Element](t *testing.T) {
	for engine, e := range engines(t) {
		for _, kind := range []matgen.Kind{matgen.SPD, matgen.SPDCond, matgen.Lehmer, matgen.SPDDiagonal} {
			for _, n := range []int{0, 1, 4, 5, 6, 11, 16, 23} {
				c, a := factored[T](t, e, matgen.Spec{Kind: kind, N: n, Cond: 100})
				for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
					what := fmt.Sprintf("%s: %v, n %d, uplo %c", engine, kind, n, uplo)
					g := padded[T](n, n, 2)
					g0 := clone(g)
					inv := la.Symmetric[T]{Uplo: uplo, N: n, Data: g.Data, Stride: g.Stride}
					if err := c.InverseTo(inv); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					unchanged(t, what, g, g0, inside(uplo))
					// ‖I−A·A⁻¹‖ / (n‖A‖‖A⁻¹‖ε), as LAPACK's xPOT03.
					v := load[T](inv, blas.NoTrans)
					one := newDense(n, n, func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
					small(t, solveResidual[T](a, v, one), 30, "%s", what)
				}
			}
		}
	}
}

func TestCholeskyInverse(t *testing.T) {
	t.Run("f64", testInverse[float64])
	t.Run("f32", testInverse[float32])

	// Into tiles, and into an empty matrix.
	for engine, e := range engines(t) {
		const n = 17
		c, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: n})
		var s mat.SymDense
		if err := c.InverseTo(&s); err != nil {
			t.Fatal(err)
		}
		one := newDense(n, n, func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
		small(t, solveResidual[float64](a, load[float64](&s, blas.NoTrans), one), 30, "%s: empty SymDense", engine)
		h := &setSym{hidden[float64]{padded[float64](n, n, 0)}}
		if err := c.InverseTo(h); err != nil {
			t.Fatal(err)
		}
		small(t, solveResidual[float64](a, load[float64](h, blas.NoTrans), one), 30, "%s: hidden", engine)
	}
}

// setSym is a symmetric matrix that can only be set.
type setSym struct{ hidden[float64] }

func (s *setSym) SetSym(i, j int, v float64) {
	s.g.Set(i, j, v)
	s.g.Set(j, i, v)
}

// TestCholeskyFactors checks LTo and UTo for all destinations.
func TestCholeskyFactors(t *testing.T) {
	for engine, e := range engines(t) {
		for _, n := range []int{0, 1, 5, 6, 17} {
			c, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: n})
			var lower, upper mat.TriDense
			c.LTo(&lower)
			c.UTo(&upper)
			if n == 0 {
				if !lower.IsEmpty() || !upper.IsEmpty() {
					t.Error("factors of nothing have elements")
				}
				continue
			}
			if _, kind := lower.Triangle(); kind != mat.Lower {
				t.Error("LTo made an upper triangle")
			}
			l := load[float64](&lower, blas.NoTrans)
			small(t, choleskyResidual[float64](l, a), 30, "%s, n %d", engine, n)
			g := padded[float64](n, n, 1)
			g0 := clone(g)
			c.UTo(&la.Triangular[float64]{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Data: g.Data, Stride: g.Stride})
			unchanged(t, "UTo", g, g0, inside(blas.Upper))
			for i := range n {
				if l.at(i, i) <= 0 {
					t.Errorf("diagonal element %d is %v", i, l.at(i, i))
				}
				for j := i; j < n; j++ {
					if l.at(j, i) != upper.At(i, j) || l.at(j, i) != g.At(i, j) {
						t.Fatalf("%s, n %d: L and U differ at (%d, %d)", engine, n, j, i)
					}
				}
			}
			// The factors of an indefinite engine's choice are still unique.
			var gonum mat.Cholesky
			sym := mat.NewSymDense(n, a.x)
			if !gonum.Factorize(sym) {
				t.Fatal("gonum fails")
			}
			var want mat.TriDense
			gonum.LTo(&want)
			diff := newDense(n, n, func(i, j int) float64 { return l.at(i, j) - want.At(i, j) })
			small(t, diff.norm1()/(float64(n)*l.norm1()*0x1p-53), 30, "%s, n %d: against gonum", engine, n)

			for name, f := range map[string]struct {
				f    func()
				want any
			}{
				"LTo, upper": {func() { c.LTo(mat.NewTriDense(n, mat.Upper, nil)) }, mat.ErrTriangle},
				"UTo, lower": {func() { c.UTo(mat.NewTriDense(n, mat.Lower, nil)) }, mat.ErrTriangle},
				"LTo, order": {func() { c.LTo(mat.NewTriDense(n+1, mat.Lower, nil)) }, mat.ErrShape},
				"UTo, unit": {func() {
					c.UTo(la.Triangular[float64]{Uplo: blas.Upper, Diag: blas.Unit, N: n, Stride: n, Data: make([]float64, n*n)})
				}, mat.ErrTriangle},
			} {
				if got := panics(f.f); got != f.want {
					t.Errorf("%s panics with %v, want %v", name, got, f.want)
				}
			}
		}
	}
}

// TestDet compares determinants with those that are known.
func TestDet(t *testing.T) {
	near := func(what string, got, want, tol float64) {
		t.Helper()
		if got != want && !(math.Abs(got-want) <= tol*max(1, math.Abs(want))) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for engine, e := range engines(t) {
		for _, n := range []int{1, 5, 12, 23} {
			for kind, want := range map[matgen.Kind]float64{matgen.Identity: 1, matgen.MinIJ: 1, matgen.Beam: 1, matgen.Moler: 1,
				matgen.KMS: math.Pow(0.75, float64(n-1))} {
				if kind == matgen.Beam && n > 12 {
					continue // ill-conditioned: the determinant is lost, and may be
				}
				c, _ := factored[float64](t, e, matgen.Spec{Kind: kind, N: n})
				near(fmt.Sprintf("%s: det %v, n %d", engine, kind, n), c.Det(), want, 1e-9)
				near(fmt.Sprintf("%s: log det %v, n %d", engine, kind, n), c.LogDet(), math.Log(want), 1e-9)
			}
			c, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: n})
			var gonum mat.Cholesky
			gonum.Factorize(mat.NewSymDense(n, a.x))
			near(fmt.Sprintf("%s: log det, n %d", engine, n), c.LogDet(), gonum.LogDet(), 1e-12)
		}
		c, _ := factored[float64](t, e, matgen.Spec{Kind: matgen.Identity, N: 0})
		if c.Det() != 1 || c.LogDet() != 0 || c.Cond() != 0 {
			t.Errorf("nothing has determinant %v and condition %v", c.Det(), c.Cond())
		}
		// The determinant is out of range, its logarithm is not.
		c, _ = factored[float64](t, e, matgen.Spec{Kind: matgen.SPDHuge, N: 12})
		if d, l := c.Det(), c.LogDet(); !math.IsInf(d, 1) || l-l != 0 || l < 1000 {
			t.Errorf("huge: det %v, log det %v", d, l)
		}
		c, _ = factored[float64](t, e, matgen.Spec{Kind: matgen.SPDTiny, N: 12})
		if d, l := c.Det(), c.LogDet(); d != 0 || l-l != 0 || l > -1000 {
			t.Errorf("tiny: det %v, log det %v", d, l)
		}
	}
}

// TestCond compares the estimate with ‖A‖·‖A⁻¹‖.
func TestCond(t *testing.T) {
	for engine, e := range engines(t) {
		for _, kind := range matgen.Kinds() {
			if !kind.PositiveDefinite() || kind == matgen.SPDCondMax || kind == matgen.Prolate || kind == matgen.Hilbert {
				continue // the inverse means nothing there
			}
			for _, n := range []int{1, 2, 5, 6, 23} {
				c, a := factored[float64](t, e, matgen.Spec{Kind: kind, N: n, NB: 5})
				var inv mat.SymDense
				if err := c.InverseTo(&inv); err != nil {
					continue // so ill-conditioned that the diagonal shows it
				}
				want, got := a.norm1()*load[float64](&inv, blas.NoTrans).norm1(), c.Cond()
				if !(got <= want*1.001 && got >= want/3) {
					t.Errorf("%s: %v, n %d: estimate %.4g of %.4g", engine, kind, n, got, want)
				}
			}
		}
	}
	c, _ := factored[float32](t, nil, matgen.Spec{Kind: matgen.Identity, N: 1})
	if got := c.Cond(); got != 1 {
		t.Errorf("the condition of one is %v", got)
	}
	// A matrix whose inverse is out of range.
	var denormal la.Cholesky[float64]
	if err := denormal.Factorize(mat.NewSymDense(2, []float64{5e-324, 0, 0, 5e-324})); err != nil {
		t.Fatal(err)
	}
	if got := denormal.Cond(); got != 1 {
		t.Errorf("the condition of denormal numbers is %v", got)
	}
}

// TestCondition checks that solving with a matrix that is singular to working
// precision says so, and solves all the same.
func TestCondition(t *testing.T) {
	for engine, e := range engines(t) {
		s := mat.NewSymDense(11, nil)
		for i := range 11 {
			s.SetSym(i, i, math.Pow(4e4, -float64(i)))
			if i > 0 { // without which it were a matter of units only
				s.SetSym(i-1, i, math.Pow(4e4, 0.5-float64(i))/2)
			}
		}
		c := la.NewCholesky[float64](e)
		if err := c.Factorize(s); err != nil {
			t.Fatal(err)
		}
		var x mat.Dense
		var v mat.VecDense
		var inv mat.SymDense
		for name, err := range map[string]error{
			"SolveTo":    c.SolveTo(&x, mat.NewDense(11, 1, nil)),
			"SolveVecTo": c.SolveVecTo(&v, mat.NewVecDense(11, nil)),
			"InverseTo":  c.InverseTo(&inv),
		} {
			cond, ok := err.(mat.Condition)
			if !ok || !(float64(cond) > 1e46 && float64(cond) < 1e47) {
				t.Errorf("%s: %s: %v, want a condition of 2e46", engine, name, err)
			}
		}
		if x.IsEmpty() || v.IsEmpty() || inv.IsEmpty() || math.Abs(inv.At(10, 10)/math.Pow(4e4, 10)-22./12) > 1e-12 {
			t.Errorf("%s: no results beside the condition", engine)
		}
		if got := c.Cond(); !(got > 1e46 && got < 1e47) {
			t.Errorf("%s: condition %g", engine, got)
		}
		// The same in float32 is singular much earlier, and 1e12 is harmless
		// in float64.
		f := la.NewCholesky[float32](e)
		if err := f.Factorize(la.Symmetric[float32]{Uplo: blas.Upper, N: 2, Stride: 2, Data: []float32{1, 5e-11, 0, 1e-20}}); err != nil {
			t.Fatal(err)
		}
		y := make(la.Vector[float32], 2)
		if _, ok := f.SolveVecTo(y, y).(mat.Condition); !ok {
			t.Errorf("%s: 1e10 is no condition for float32", engine)
		}
		g, _ := factored[float64](t, e, matgen.Spec{Kind: matgen.SPDGraded, N: 12})
		if err := g.SolveVecTo(&v, mat.NewVecDense(12, nil)); err == nil {
			t.Error("a vector of 11 elements took a solution of 12")
		}
		v.Reset()
		if err := g.SolveVecTo(&v, mat.NewVecDense(12, nil)); err != nil {
			t.Errorf("%s: graded: %v", engine, err)
		}
	}
}

// TestClone checks that a copy lives on when its original does not.
func TestClone(t *testing.T) {
	for engine, e := range engines(t) {
		c, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: 13})
		cond, det := c.Cond(), c.LogDet()
		d, _ := factored[float64](t, nil, matgen.Spec{Kind: matgen.SPD, N: 4})
		d.Clone(c)
		if err := c.Factorize(mat.NewSymDense(13, nil)); err == nil {
			t.Fatal("zero is not positive definite")
		}
		small(t, choleskyResidual[float64](factor(t, d), a), 30, "%s", engine)
		if d.Cond() != cond || d.LogDet() != det {
			t.Errorf("%s: condition %v and log det %v, were %v and %v", engine, d.Cond(), d.LogDet(), cond, det)
		}
		d.Clone(d)
		small(t, choleskyResidual[float64](factor(t, d), a), 30, "%s: of itself", engine)
	}
}

// TestSolveMany has many more right-hand sides than unknowns, and the other
// way round, in tiles that do not fit either.
func TestSolveMany(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 3))
	for _, opt := range []la.Options{{Workers: 2}, {Workers: 2, Direct: -1}, {Workers: 2, NB: 32}} {
		e := start(t, opt)
		for _, s := range [][2]int{{100, 400}, {200, 3}, {3, 300}, {129, 129}} {
			c, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: s[0]})
			b := blocked.New[float64](blocked.Full, s[0], s[1], 16)
			for i := range s[0] {
				for j := range s[1] {
					b.Set(i, j, rnd.NormFloat64())
				}
			}
			rhs := load[float64](b, blas.NoTrans)
			if err := c.SolveTo(b, b); err != nil {
				t.Fatal(err)
			}
			small(t, solveResidual[float64](a, load[float64](b, blas.NoTrans), rhs), 30, "n %d, nrhs %d", s[0], s[1])
		}
	}
}
