package la_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// luOf returns the factorization of the n×n matrix that s names, and the matrix.
func luOf[T la.Element](t *testing.T, e *la.Engine, s matgen.Spec) (*la.LU[T], dense) {
	t.Helper()
	s.M = s.N
	a := rectangle[T](t, s, 0)
	f := la.NewLU[T](e)
	if err := f.Factorize(a); err != nil {
		t.Fatalf("%v, n %d: %v", s.Kind, s.N, err)
	}
	return f, load[T](a, blas.NoTrans)
}

// TestLUSolveGonum solves into gonum's matrices, and misuses them.
func TestLUSolveGonum(t *testing.T) {
	const n = 12
	for engine, e := range engines(t) {
		f, a := luOf[float64](t, e, matgen.Spec{N: n})
		b := mat.NewDense(n, 3, load[float64](rectangle[float64](t, matgen.Spec{M: n, N: 3, Seed: 2}, 0), blas.NoTrans).x)
		var x mat.Dense
		if err := f.SolveTo(&x, true, b); err != nil {
			t.Fatal(err)
		}
		small(t, solveResidual[float64](a.t(), load[float64](&x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "%s: empty", engine)
		// Into a part of b, beside the part that is read.
		if err := f.SolveTo(b.Slice(0, n, 0, 2).(*mat.Dense), true, b.Slice(0, n, 1, 3)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if b.At(i, 0) != x.At(i, 1) || b.At(i, 1) != x.At(i, 2) {
				t.Fatalf("%s: row %d of the overlapping solution", engine, i)
			}
		}
		var v mat.VecDense
		if err := f.SolveVecTo(&v, false, x.ColView(1)); err != nil || v.Len() != n {
			t.Fatal(err, v.Len())
		}
		if err := f.SolveVecTo(x.ColView(1).(*mat.VecDense), false, x.ColView(1)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if v.AtVec(i) != x.At(i, 1) {
				t.Fatalf("%s: element %d solved in place", engine, i)
			}
		}
		wide := la.NewLU[float64](e)
		if err := wide.Factorize(b); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"rows of b":             f.SolveTo(&mat.Dense{}, false, mat.NewDense(n+1, 2, nil)),
			"dst":                   f.SolveTo(mat.NewDense(n, 3, nil), false, mat.NewDense(n, 2, nil)),
			"vector b":              f.SolveVecTo(&mat.VecDense{}, false, mat.NewVecDense(n-1, nil)),
			"vector dst":            f.SolveVecTo(mat.NewVecDense(n+1, nil), false, mat.NewVecDense(n, nil)),
			"inverse dst":           f.InverseTo(mat.NewDense(n, n+1, nil)),
			"SolveTo, rectangle":    wide.SolveTo(&mat.Dense{}, false, mat.NewDense(n, 1, nil)),
			"SolveVecTo, rectangle": wide.SolveVecTo(&mat.VecDense{}, false, mat.NewVecDense(n, nil)),
			"InverseTo, rectangle":  wide.InverseTo(&mat.Dense{}),
		} {
			var shape *la.ShapeError
			if !errors.As(err, &shape) {
				t.Errorf("%s: %s: %v, want a ShapeError", engine, name, err)
			}
		}
		for name, g := range map[string]func(){
			"Det": func() { wide.Det() }, "LogDet": func() { wide.LogDet() }, "Cond": func() { wide.Cond() },
		} {
			if got := panics(g); got != mat.ErrSquare {
				t.Errorf("%s panics with %v", name, got)
			}
		}
	}
}

func testLUInverse[T la.Element](t *testing.T) {
	for engine, e := range engines(t) {
		for name, f := range lus[T](t, e) {
			for _, kind := range []matgen.Kind{matgen.Random, matgen.Cond, matgen.Lower, matgen.Lehmer, matgen.Tiny} {
				for _, n := range []int{0, 1, 4, 5, 6, 11, 16, 23} {
					what := fmt.Sprintf("%s: %s, %v, n %d", engine, name, kind, n)
					a := rectangle[T](t, matgen.Spec{Kind: kind, M: n, N: n, Cond: 100}, 1)
					if err := f.Factorize(a); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					// In place, in a view, and by way of Set.
					g, h := padded[T](n, n, 2), padded[T](n, n, 0)
					g0 := clone(g)
					for _, dst := range []la.Sink[T]{g, hidden[T]{h}} {
						if err := f.InverseTo(dst); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						// ‖I−A·A⁻¹‖ / (n‖A‖‖A⁻¹‖ε), as LAPACK's xGET03.
						one := newDense(n, n, func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
						small(t, solveResidual[T](load[T](a, blas.NoTrans), load[T](dst, blas.NoTrans), one), 30, "%s", what)
					}
					unchanged(t, what, g, g0, everywhere)
				}
			}
		}
	}
}

func TestLUInverse(t *testing.T) {
	t.Run("f64", testLUInverse[float64])
	t.Run("f32", testLUInverse[float32])
	f, a := luOf[float64](t, nil, matgen.Spec{N: 7})
	var inv mat.Dense
	if err := f.InverseTo(&inv); err != nil {
		t.Fatal(err)
	}
	one := newDense(7, 7, func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
	small(t, solveResidual[float64](a, load[float64](&inv, blas.NoTrans), one), 30, "empty Dense")
}

// TestLUFactors checks LTo, UTo, FactorTo and the permutation for all
// destinations, against gonum.
func TestLUFactors(t *testing.T) {
	for engine, e := range engines(t) {
		for _, s := range [][2]int{{0, 0}, {1, 1}, {5, 5}, {6, 6}, {17, 17}, {17, 6}, {6, 17}} {
			m, n := s[0], s[1]
			what := fmt.Sprintf("%s, %d×%d", engine, m, n)
			a := rectangle[float64](t, matgen.Spec{M: m, N: n}, 1)
			f := la.NewLU[float64](e)
			if err := f.Factorize(a); err != nil {
				t.Fatal(err)
			}
			if r, c := f.Dims(); r != m || c != n {
				t.Errorf("%s: %d×%d", what, r, c)
			}
			var lower, upper mat.TriDense
			if m == 0 {
				f.LTo(&lower)
				f.UTo(&upper)
				if !lower.IsEmpty() || !upper.IsEmpty() {
					t.Error("factors of nothing have elements")
				}
				continue
			}
			var packed mat.Dense
			f.FactorTo(&packed)
			if got := panics(func() { f.FactorTo(mat.NewDense(m+1, n, nil)) }); got != mat.ErrShape {
				t.Errorf("%s: FactorTo panics with %v", what, got)
			}
			if m > n {
				if got := panics(func() { f.LTo(&lower) }); got != mat.ErrShape {
					t.Errorf("%s: LTo panics with %v", what, got)
				}
			} else {
				f.LTo(&lower)
				g := padded[float64](m, m, 1)
				g0 := clone(g)
				f.LTo(&la.Triangular[float64]{Uplo: blas.Lower, Diag: blas.Unit, N: m, Data: g.Data, Stride: g.Stride})
				unchanged(t, "LTo", g, g0, func(i, j int) bool { return i > j })
				for i := range m {
					if lower.At(i, i) != 1 {
						t.Fatalf("%s: L(%d, %d) = %v", what, i, i, lower.At(i, i))
					}
					for j := range i {
						if lower.At(i, j) != packed.At(i, j) || g.At(i, j) != packed.At(i, j) {
							t.Fatalf("%s: L(%d, %d) = %v", what, i, j, lower.At(i, j))
						}
					}
				}
				for name, c := range map[string]struct {
					f    func()
					want any
				}{
					"LTo, upper": {func() { f.LTo(mat.NewTriDense(m, mat.Upper, nil)) }, mat.ErrTriangle},
					"LTo, order": {func() { f.LTo(mat.NewTriDense(m+1, mat.Lower, nil)) }, mat.ErrShape},
				} {
					if got := panics(c.f); got != c.want {
						t.Errorf("%s panics with %v, want %v", name, got, c.want)
					}
				}
			}
			if m < n {
				if got := panics(func() { f.UTo(&upper) }); got != mat.ErrShape {
					t.Errorf("%s: UTo panics with %v", what, got)
				}
			} else {
				f.UTo(&upper)
				for i := range n {
					for j := i; j < n; j++ {
						if upper.At(i, j) != packed.At(i, j) {
							t.Fatalf("%s: U(%d, %d) = %v", what, i, j, upper.At(i, j))
						}
					}
				}
				for name, c := range map[string]struct {
					f    func()
					want any
				}{
					"UTo, lower": {func() { f.UTo(mat.NewTriDense(n, mat.Lower, nil)) }, mat.ErrTriangle},
					"UTo, order": {func() { f.UTo(mat.NewTriDense(n+1, mat.Upper, nil)) }, mat.ErrShape},
					"UTo, unit": {func() {
						f.UTo(la.Triangular[float64]{Uplo: blas.Upper, Diag: blas.Unit, N: n, Stride: n, Data: make([]float64, n*n)})
					}, mat.ErrTriangle},
				} {
					if got := panics(c.f); got != c.want {
						t.Errorf("%s panics with %v, want %v", name, got, c.want)
					}
				}
			}
			for name, g := range map[string]func(){"Pivots": func() { f.Pivots(make([]int, m+1)) }, "Swaps": func() { f.Swaps(make([]int, 0)) }} {
				if got := panics(g); got != la.ErrSliceLength {
					t.Errorf("%s: %s panics with %v", what, name, got)
				}
			}
			if m != n {
				continue
			}
			var gonum mat.LU
			gonum.Factorize(mat.NewDense(n, n, load[float64](a, blas.NoTrans).x))
			want := gonum.RowPivots(nil)
			if got := f.Pivots(nil); !slices.Equal(got, want) || !slices.Equal(f.Pivots(make([]int, n)), want) {
				t.Errorf("%s: pivots %v, gonum's %v", what, got, want)
			}
			var l, u mat.TriDense
			gonum.LTo(&l)
			gonum.UTo(&u)
			if !mat.EqualApprox(&lower, &l, 1e-12) || !mat.EqualApprox(&upper, &u, 1e-12) {
				t.Errorf("%s: the factors are not gonum's", what)
			}
			// P·L·U = A with gonum's own means.
			var pa mat.Dense
			pa.Mul(&lower, &upper)
			pa.PermuteRows(f.Pivots(nil), false)
			if !mat.EqualApprox(&pa, mat.NewDense(n, n, load[float64](a, blas.NoTrans).x), 1e-12) {
				t.Errorf("%s: P·L·U is not A", what)
			}
		}
	}
}

// TestLUDet compares determinants with gonum's and with those that are known.
func TestLUDet(t *testing.T) {
	for engine, e := range engines(t) {
		for name, f := range lus[float64](t, e) {
			for n := range 13 {
				a := rectangle[float64](t, matgen.Spec{M: n, N: n, Seed: uint64(n)}, 0)
				if err := f.Factorize(a); err != nil {
					t.Fatal(err)
				}
				want := 1.0
				if n > 0 {
					want = mat.Det(mat.NewDense(n, n, load[float64](a, blas.NoTrans).x))
				}
				log, sign := f.LogDet()
				if got := f.Det(); !(math.Abs(got-want) <= 1e-9*math.Abs(want)) || sign != math.Copysign(1, want) || !(math.Abs(log-math.Log(math.Abs(want))) < 1e-9) {
					t.Errorf("%s: %s, n %d: %v (log %v, sign %v), want %v", engine, name, n, got, log, sign, want)
				}
			}
		}
		f, _ := luOf[float64](t, e, matgen.Spec{Kind: matgen.Huge, N: 12})
		if l, _ := f.LogDet(); !math.IsInf(math.Abs(f.Det()), 1) || l-l != 0 || l < 1000 {
			t.Errorf("huge: det %v, log det %v", f.Det(), l)
		}
	}
}

// TestLUCond compares the estimate with ‖A‖·‖A⁻¹‖.
func TestLUCond(t *testing.T) {
	for engine, e := range engines(t) {
		for _, kind := range []matgen.Kind{matgen.Random, matgen.Cond, matgen.Cond2, matgen.CondSqrt, matgen.Upper, matgen.Lower, matgen.Graded, matgen.Kahan, matgen.Wilkinson, matgen.Tiny, matgen.Huge, matgen.Beam} {
			for _, n := range []int{1, 2, 5, 6, 23} {
				f, a := luOf[float64](t, e, matgen.Spec{Kind: kind, N: n})
				inv := padded[float64](n, n, 0)
				if err := f.InverseTo(inv); err != nil {
					continue // so ill-conditioned that the diagonal shows it
				}
				want, got := a.norm1()*load[float64](inv, blas.NoTrans).norm1(), f.Cond()
				if !(got <= want*1.001 && got >= want/3) {
					t.Errorf("%s: %v, n %d: estimate %.4g of %.4g", engine, kind, n, got, want)
				}
			}
		}
		f := la.NewLU[float64](e)
		if err := f.Factorize(padded[float64](0, 0, 0)); err != nil || f.Cond() != 0 || f.Det() != 1 || f.Growth() != 1 {
			t.Errorf("nothing: %v, condition %v, determinant %v, growth %v", err, f.Cond(), f.Det(), f.Growth())
		}
	}
	var tiny la.LU[float64]
	if err := tiny.Factorize(mat.NewDense(2, 2, []float64{5e-324, 0, 0, 5e-324})); err != nil {
		t.Fatal(err)
	}
	if got := tiny.Cond(); got != 1 {
		t.Errorf("the condition of denormal numbers is %v", got)
	}
}

// TestLUCondition checks that solving with a matrix that is singular to working
// precision says so, and solves all the same.
func TestLUCondition(t *testing.T) {
	for engine, e := range engines(t) {
		a := mat.NewDense(11, 11, nil)
		for i := range 11 {
			for j := i; j < 11; j++ { // or it were a matter of units only
				a.Set(10-i, j, math.Pow(100, -float64(i)))
			}
		}
		f := la.NewLU[float64](e)
		if err := f.Factorize(a); err != nil {
			t.Fatal(err)
		}
		var x, inv mat.Dense
		var v mat.VecDense
		for name, err := range map[string]error{
			"SolveTo":    f.SolveTo(&x, false, mat.NewDense(11, 1, nil)),
			"SolveVecTo": f.SolveVecTo(&v, true, mat.NewVecDense(11, nil)),
			"InverseTo":  f.InverseTo(&inv),
		} {
			cond, ok := err.(mat.Condition)
			if !ok || !(float64(cond) > 1e15 && float64(cond) < 1e21) {
				t.Errorf("%s: %s: %v, want a condition of 1e20", engine, name, err)
			}
		}
		if x.IsEmpty() || v.IsEmpty() || inv.IsEmpty() || math.Abs(inv.At(10, 0)/1e20-1) > 1e-14 {
			t.Errorf("%s: no results beside the condition", engine)
		}
		if got := f.Cond(); !(got > 2e20 && got < 2.1e20) {
			t.Errorf("%s: condition %g", engine, got)
		}
		var y la.LU[float32]
		if err := y.Factorize(la.General[float32]{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0, 1e-8, 1, 1}}); err != nil {
			t.Fatal(err)
		}
		z := make(la.Vector[float32], 2)
		if _, ok := y.SolveVecTo(z, false, z).(mat.Condition); !ok {
			t.Errorf("%s: 1e8 is no condition for float32", engine)
		}
	}
}

// TestLUClone checks that a copy lives on when its original does not, and what
// an empty one does.
func TestLUClone(t *testing.T) {
	for engine, e := range engines(t) {
		f, a := luOf[float64](t, e, matgen.Spec{N: 13})
		cond, det, growth := f.Cond(), f.Det(), f.Growth()
		g, _ := luOf[float64](t, nil, matgen.Spec{N: 4})
		g.Clone(f)
		if err := f.Factorize(mat.NewDense(13, 13, nil)); err == nil {
			t.Fatal("zero is not singular")
		}
		small(t, luResidual(g, a), 30, "%s", engine)
		if g.Cond() != cond || g.Det() != det || g.Growth() != growth {
			t.Errorf("%s: condition %v, determinant %v and growth %v, were %v, %v and %v", engine, g.Cond(), g.Det(), g.Growth(), cond, det, growth)
		}
		g.Clone(g)
		small(t, luResidual(g, a), 30, "%s: of itself", engine)
	}
	var f la.LU[float64]
	if !f.IsEmpty() {
		t.Error("the zero value is not empty")
	}
	f.Reset()
	for name, g := range map[string]func(){
		"Dims": func() { f.Dims() }, "Det": func() { f.Det() }, "LogDet": func() { f.LogDet() }, "Cond": func() { f.Cond() },
		"Growth": func() { f.Growth() }, "Pivots": func() { f.Pivots(nil) }, "Swaps": func() { f.Swaps(nil) }, "Pivoting": func() { f.Pivoting() },
		"LTo": func() { f.LTo(&mat.TriDense{}) }, "UTo": func() { f.UTo(&mat.TriDense{}) }, "FactorTo": func() { f.FactorTo(&mat.Dense{}) },
		"SolveTo":    func() { f.SolveTo(&mat.Dense{}, false, &mat.Dense{}) },
		"SolveVecTo": func() { f.SolveVecTo(&mat.VecDense{}, false, &mat.VecDense{}) },
		"InverseTo":  func() { f.InverseTo(&mat.Dense{}) }, "Clone": func() { new(la.LU[float64]).Clone(&f) },
	} {
		if got := panics(g); got != la.ErrNotFactorized {
			t.Errorf("%s of nothing panics with %v", name, got)
		}
	}
}

// TestLUClosed computes with an engine that is closed.
func TestLUClosed(t *testing.T) {
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 8})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := luOf[float64](t, e, matgen.Spec{N: 4})
	second, _ := luOf[float64](t, e, matgen.Spec{N: 100})
	e.Close()
	for _, f := range []*la.LU[float64]{first, second} {
		n, _ := f.Dims()
		a := mat.NewDense(n, n, nil)
		f.FactorTo(a) // a copy needs no worker
		for name, err := range map[string]error{
			"SolveTo":    f.SolveTo(&mat.Dense{}, false, a),
			"SolveVecTo": f.SolveVecTo(&mat.VecDense{}, true, mat.NewVecDense(n, nil)),
			"InverseTo":  f.InverseTo(&mat.Dense{}),
			"Factorize":  la.NewLU[float64](e).Factorize(a),
		} {
			if err != exec.ErrClosed {
				t.Errorf("n %d: %s: %v, want exec.ErrClosed", n, name, err)
			}
		}
		if cond := f.Cond(); cond == cond {
			t.Errorf("n %d: condition %v, want NaN", n, cond)
		}
	}
}

// TestLUProgress checks that progress ends with all tasks.
func TestLUProgress(t *testing.T) {
	w := &watcher{t: t}
	e := start(t, la.Options{Workers: 2, NB: 4, Direct: -1, Progress: w.report})
	for _, s := range [][2]int{{15, 15}, {40, 10}, {10, 40}, {70, 70}, {3, 3}} {
		a := rectangle[float64](t, matgen.Spec{M: s[0], N: s[1]}, 0)
		for i := range min(s[0], s[1]) {
			a.Set(i, i, a.At(i, i)+2)
		}
		for _, pivoting := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
			f, err := la.NewLUWith[float64](e, la.LUOptions{Pivoting: pivoting, GrowthLimit: 1e300})
			if err != nil {
				t.Fatal(err)
			}
			check := func(call string, err error) {
				t.Helper()
				if done, total, _ := w.take(); err != nil || done != total {
					t.Errorf("%v, %v: %s: %v, %d of %d tasks", pivoting, s, call, err, done, total)
				}
			}
			check("Factorize", f.Factorize(a))
			if s[0] == s[1] {
				check("SolveTo", f.SolveTo(&mat.Dense{}, false, mat.NewDense(s[0], 9, nil)))
				check("InverseTo", f.InverseTo(&mat.Dense{}))
			}
		}
	}
}

// TestLUSolveMany has many more right-hand sides than unknowns, and the other
// way round, in tiles that do not fit either.
func TestLUSolveMany(t *testing.T) {
	for _, opt := range []la.Options{{Workers: 2}, {Workers: 2, Direct: -1}, {Workers: 2, NB: 32}} {
		e := start(t, opt)
		for _, s := range [][2]int{{100, 400}, {200, 3}, {3, 300}, {129, 129}} {
			f, a := luOf[float64](t, e, matgen.Spec{N: s[0]})
			b, _ := blocked.From[float64](rectangle[float64](t, matgen.Spec{M: s[0], N: s[1], Seed: 3}, 0), blocked.Full, 16, blocked.CopyOptions{})
			rhs := load[float64](b, blas.NoTrans)
			if err := f.SolveTo(b, false, b); err != nil {
				t.Fatal(err)
			}
			small(t, solveResidual[float64](a, load[float64](b, blas.NoTrans), rhs), 30, "n %d, nrhs %d", s[0], s[1])
		}
	}
}
