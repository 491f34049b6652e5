package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// rectangle returns the m×n matrix that s names in padded memory.
func rectangle[T la.Element](t testing.TB, s matgen.Spec, pad int) la.General[T] {
	t.Helper()
	gen, err := matgen.New[T](s)
	if err != nil {
		t.Fatal(err)
	}
	g := padded[T](s.M, s.N, pad)
	for i := range s.M {
		for j := range s.N {
			g.Set(i, j, gen.At(i, j))
		}
	}
	return g
}

// luResidual returns ‖P·L·U−A‖ / (max(m,n)‖A‖ε) for the factorization f of a.
// Both are scaled, so that neither over- nor underflow spoils it.
func luResidual[T la.Element](f *la.LU[T], a dense) float64 {
	if a.m == 0 || a.n == 0 {
		return 0
	}
	g := padded[T](a.m, a.n, 1)
	f.FactorTo(g)
	exp := 0
	if top := a.maxAbs(); top > 0 {
		exp = math.Ilogb(top)
	}
	k := min(a.m, a.n)
	l := newDense(a.m, k, func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i < j:
			return 0
		}
		return float64(g.At(i, j))
	})
	ut := newDense(a.n, k, func(j, i int) float64 {
		if i > j {
			return 0
		}
		return math.Ldexp(float64(g.At(i, j)), -exp)
	})
	p := f.Pivots(nil)
	diff := newDense(a.m, a.n, func(i, j int) float64 {
		r := p[i]
		q := min(r, j, k-1) + 1
		return dot2.Dot(-math.Ldexp(a.at(i, j), -exp), l.x[r*k:r*k+q], ut.x[j*k:j*k+q])
	})
	norm := newDense(a.m, a.n, func(i, j int) float64 { return math.Ldexp(a.at(i, j), -exp) }).norm1()
	if norm == 0 {
		norm = 1
	}
	return diff.norm1() / (float64(max(a.m, a.n)) * norm * eps[T]())
}

// luSizes are the shapes to test: around nb and 2·nb.
func luSizes(nb int) (shapes [][2]int) {
	dims := []int{0, 1, nb - 1, nb, nb + 1, 2*nb - 1, 2 * nb, 2*nb + 1, 3*nb + 2}
	for _, m := range dims {
		for _, n := range dims {
			shapes = append(shapes, [2]int{m, n})
		}
	}
	return shapes
}

// tied returns an m×n matrix in which many elements compete for each pivot with
// the same magnitude, and whose factorization is exact in whatever order it is
// computed: the multipliers are 0, ½ and 1, and the pivots powers of two. Rows
// of zeros lie among them, so that pivots have to be looked for further down.
func tied(rnd *rand.Rand, m, n int) func(i, j int) float64 {
	k := min(m/2, n)
	l := make([][]float64, m)
	for i := range l {
		l[i] = make([]float64, k)
		for j := range l[i] {
			switch {
			case i == j:
				l[i][j] = 1
			case i > j && i < k:
				l[i][j] = float64(rnd.IntN(3)-1) / 2
			case i >= 2*k:
				l[i][j] = float64(rnd.IntN(5)-2) / 2
			}
		}
	}
	for i := range k {
		if rnd.IntN(2) == 0 {
			l[i], l[k+i] = l[k+i], l[i]
		}
	}
	u := newDense(k, n, func(i, j int) float64 {
		switch {
		case i > j:
			return 0
		case i == j:
			return float64(int(1) << rnd.IntN(3))
		}
		return float64(rnd.IntN(9) - 4)
	})
	return func(i, j int) float64 {
		s := 0.0
		for p := range k {
			s += l[i][p] * u.at(p, j)
		}
		return s
	}
}

// TestLUPivots compares pivots with those of gonum's Dgetrf, for random
// matrices and for such with many elements of equal magnitude.
func TestLUPivots(t *testing.T) {
	for engine, e := range engines(t) {
		f := la.NewLU[float64](e)
		for _, s := range luSizes(5) {
			m, n := s[0], s[1]
			seed := uint64(m + 100*n)
			for what, at := range map[string]func(i, j int) float64{
				"random": func(i, j int) float64 { return matgen.Uniform(seed, i, j) },
				"ties":   tied(rand.New(rand.NewPCG(10, seed)), m, n),
				"ones":   func(i, j int) float64 { return 1 },
				"zeros":  func(i, j int) float64 { return 0 },
			} {
				a := padded[float64](m, n, 1)
				want := make([]float64, m*n)
				for i := range m {
					for j := range n {
						want[i*n+j] = at(i, j)
						a.Set(i, j, want[i*n+j])
					}
				}
				before := clone(a)
				ipiv := make([]int, min(m, n))
				ok := gonum.Implementation{}.Dgetrf(m, n, want, max(1, n), ipiv)
				err := f.Factorize(a)
				var singular *la.SingularError
				if ok != (err == nil) || err != nil && !errors.As(err, &singular) {
					t.Fatalf("%s: %s, %d×%d: %v, Dgetrf says %v", engine, what, m, n, err, ok)
				}
				if got := f.Swaps(nil); !slices.Equal(got, ipiv) {
					t.Errorf("%s: %s, %d×%d: pivots %v, want %v", engine, what, m, n, got, ipiv)
				}
				unchanged(t, what, a, before, nil)
				small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s: %s, %d×%d", engine, what, m, n)
			}
		}
	}
}

// warned takes a condition for a solution where float32 is right to warn.
func warned[T la.Element](err error, kind matgen.Kind) error {
	if _, ok := err.(mat.Condition); ok && kind == matgen.Graded && eps[T]() > 0x1p-30 {
		return nil
	}
	return err
}

func testLUSolve[T la.Element](t *testing.T) {
	for engine, e := range engines(t) {
		for _, kind := range []matgen.Kind{matgen.Random, matgen.Cond, matgen.Tiny, matgen.Huge, matgen.Graded, matgen.Lehmer} {
			for _, n := range []int{0, 1, 4, 5, 6, 16, 23} {
				a := rectangle[T](t, matgen.Spec{Kind: kind, M: n, N: n, Cond: 100, NB: 5}, 1)
				f := la.NewLU[T](e)
				if err := f.Factorize(a); err != nil {
					t.Fatalf("%s: %v, n %d: %v", engine, kind, n, err)
				}
				for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
					full := load[T](a, trans)
					for _, nrhs := range []int{0, 1, 2, 5, 11} {
						what := fmt.Sprintf("%s: %v, n %d, nrhs %d, trans %c", engine, kind, n, nrhs, trans)
						checkSolve(t, what, full, rectangle[T](t, matgen.Spec{M: n, N: nrhs, Seed: 7}, 1), func(x, b la.General[T]) error {
							return warned[T](f.SolveTo(x, trans == blas.Trans, b), kind)
						})
					}
					b, x := make(la.Vector[T], n), make(la.Vector[T], n)
					for i := range b {
						b[i] = T(matgen.Uniform(8, i, 0))
					}
					if err := warned[T](f.SolveVecTo(x, trans == blas.Trans, b), kind); err != nil {
						t.Fatal(err)
					}
					column := func(v la.Vector[T]) dense { return newDense(n, 1, func(i, _ int) float64 { return float64(v[i]) }) }
					small(t, solveResidual[T](full, column(x), column(b)), 30, "%s: %v, n %d, vector", engine, kind, n)
					small(t, hpl[T](full, column(x), column(b)), 16, "%s: %v, n %d, vector, HPL", engine, kind, n)
				}
			}
		}
	}
}

// hpl returns ‖Ax−b‖∞ / (ε(‖A‖∞‖x‖∞+‖b‖∞)n).
func hpl[T la.Element](a, x, b dense) float64 {
	if a.n == 0 {
		return 0
	}
	diff := newDense(b.m, 1, func(i, _ int) float64 { return dot2.Dot(-b.x[i], a.x[i*a.n:(i+1)*a.n], x.x) })
	return diff.maxAbs() / (eps[T]() * (a.t().norm1()*x.maxAbs() + b.maxAbs()) * float64(a.n))
}

func TestLUSolve(t *testing.T) {
	t.Run("f64", testLUSolve[float64])
	t.Run("f32", testLUSolve[float32])
}

// lus are the factorizations with every pivoting; where that breaks down they
// fall back.
func lus[T la.Element](t testing.TB, e *la.Engine) map[string]*la.LU[T] {
	t.Helper()
	all := map[string]*la.LU[T]{"default": la.NewLU[T](e)}
	for _, p := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
		f, err := la.NewLUWith[T](e, la.LUOptions{Pivoting: p, OnBreakdown: la.FallBack})
		if err != nil {
			t.Fatal(err)
		}
		all[p.String()] = f
	}
	return all
}

// factorized fails t unless err is nil, or a *SingularError where f has a zero
// on the diagonal of U in the column that it names, and none before. It reports
// whether A is singular.
func factorized[T la.Element](t *testing.T, f *la.LU[T], err error, format string, args ...any) (singular bool) {
	t.Helper()
	first := 0
	m, n := f.Dims()
	g := padded[T](m, n, 0)
	f.FactorTo(g)
	for i := min(m, n) - 1; i >= 0; i-- {
		if g.At(i, i) == 0 {
			first = i + 1
		}
	}
	var s *la.SingularError
	if first == 0 && err != nil || first != 0 && (!errors.As(err, &s) || s.Column != first) {
		t.Errorf(format+": %v, the first zero is in column %d", append(args, err, first)...)
	}
	return first != 0
}

func testLUKinds[T la.Element](t *testing.T, opt la.Options, sizes []int) {
	e := start(t, opt)
	nb := max(1, opt.NB)
	for name, f := range lus[T](t, e) {
		for _, kind := range matgen.Kinds() {
			for at, n := range sizes {
				for _, m := range []int{n, n + 2, sizes[(at+2)%len(sizes)]} {
					if m != n && kind.Square() {
						continue
					}
					if kind == matgen.Wilkinson && n > 100 && eps[T]() > 0x1p-30 {
						continue // 2¹²⁸ is out of range
					}
					tile := min(1, max(0, (min(m, n)-1)/nb))
					s := matgen.Spec{Kind: kind, M: m, N: n, Seed: uint64(n), NB: nb, TileRow: at % (tile + 1), TileCol: at / 2 % (tile + 1)}
					if kind.Symmetric() {
						s.TileCol = s.TileRow
					}
					what := fmt.Sprintf("%s, %v, %d×%d", name, kind, m, n)
					a := rectangle[T](t, s, n%3)
					a0 := clone(a)
					singular := factorized(t, f, f.Factorize(a), "%s", what)
					unchanged(t, what, a, a0, nil)
					limit := 30.0
					if kind == matgen.Foster || kind == matgen.Wilkinson {
						limit *= f.Growth() // what they are for
					}
					small(t, luResidual(f, load[T](a, blas.NoTrans)), limit, "%s", what)
					switch kind {
					case matgen.FirstColumnZero, matgen.LastColumnZero, matgen.LastHalfZero, matgen.FirstZero, matgen.LastZero, matgen.MiddleZero:
						if !singular && min(m, n) == n && n > 0 {
							t.Errorf("%s: not singular", what)
						}
					}
				}
			}
		}
	}
}

// TestLUKinds factors every matrix of matgen, LAPACK's eleven types among them,
// with every pivoting.
func TestLUKinds(t *testing.T) {
	for _, v := range []struct {
		name     string
		opt      la.Options
		f64, f32 []int // sizes
	}{
		{"nb=3", la.Options{Workers: 2, NB: 3, Direct: -1}, []int{0, 1, 2, 3, 4, 7, 20}, []int{0, 4, 20}},
		{"nb=7", la.Options{Workers: 3, NB: 7, Direct: -1}, []int{8, 40}, []int{8}},
		{"nb=64", la.Options{Workers: 2, NB: 64, Direct: -1}, []int{100}, []int{65}},
		{"auto", la.Options{Workers: 2}, []int{0, 1, 2, 33}, []int{0, 33}},
	} {
		t.Run("f64/"+v.name, func(t *testing.T) { testLUKinds[float64](t, v.opt, v.f64) })
		t.Run("f32/"+v.name, func(t *testing.T) { testLUKinds[float32](t, v.opt, v.f32) })
	}
}

// TestLUZeroPivots has the first zero pivot in every position, and others after
// it: the column is LAPACK's, and the factorization complete.
func TestLUZeroPivots(t *testing.T) {
	for _, nb := range []int{1, 3, 7, 100} {
		e := start(t, la.Options{Workers: 2, NB: nb, Direct: -1})
		for name, f := range lus[float64](t, e) {
			for _, shape := range [][2]int{{16, 16}, {19, 16}, {16, 19}, {40, 8}} {
				m, n := shape[0], shape[1]
				for zero := range min(m, n) {
					a := rectangle[float64](t, matgen.Spec{M: m, N: n, Seed: uint64(zero)}, 0)
					for i := range m {
						a.Set(i, zero, 0)
						if zero%3 == 0 {
							a.Set(i, n-1, 0)
						}
					}
					what := fmt.Sprintf("nb %d, %s, %d×%d", nb, name, m, n)
					var s *la.SingularError
					if err := f.Factorize(a); !errors.As(err, &s) || s.Column != zero+1 {
						t.Errorf("%s: %v, want column %d", what, err, zero+1)
						continue
					}
					small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s, zero in column %d", what, zero)
					if m != n {
						continue
					}
					if log, sign := f.LogDet(); f.Det() != 0 || !math.IsInf(log, -1) || sign != 0 || !math.IsInf(f.Cond(), 1) {
						t.Errorf("%s: determinant %v, condition %v", what, f.Det(), f.Cond())
					}
					x := rectangle[float64](t, matgen.Spec{M: n, N: 2}, 1)
					x0 := clone(x)
					for call, err := range map[string]error{
						"SolveTo": f.SolveTo(x, false, x), "transposed": f.SolveTo(x, true, x),
						"SolveVecTo": f.SolveVecTo(make(la.Vector[float64], n), false, make(la.Vector[float64], n)),
						"InverseTo":  f.InverseTo(padded[float64](n, n, 0)),
					} {
						if !errors.As(err, &s) || s.Column != zero+1 {
							t.Errorf("%s: %s: %v, want column %d", what, call, err, zero+1)
						}
					}
					unchanged(t, what, x, x0, nil)
				}
			}
		}
	}
}

// TestLUNonFinite puts infinities and NaN everywhere.
func TestLUNonFinite(t *testing.T) {
	const m, n = 12, 9
	for engine, e := range engines(t) {
		for name, f := range lus[float32](t, e) {
			for i := range m {
				for j := range n {
					a := rectangle[float32](t, matgen.Spec{M: m, N: n}, 1)
					a.Set(m-1, n-1, float32(math.NaN())) // the first one counts
					a.Set(i, j, float32([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[(i+j)%3]))
					var nf *la.NonFiniteError
					if err := f.Factorize(a); !errors.As(err, &nf) || nf.Row != i || nf.Col != j {
						t.Errorf("%s: %s, (%d, %d): %v", engine, name, i, j, err)
					}
					if !f.IsEmpty() {
						t.Fatal("a factorization that has failed")
					}
				}
			}
		}
	}
}

// TestLUSources factors one matrix in all the forms in which it can be had.
func TestLUSources(t *testing.T) {
	const n = 17
	g := rectangle[float64](t, matgen.Spec{M: n, N: n}, 2)
	full, sym := load[float64](g, blas.NoTrans), symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Lower, 1)
	big := mat.NewDense(n+4, n+4, nil)
	big.Slice(2, n+2, 2, n+2).(*mat.Dense).Copy(mat.NewDense(n, n, full.x))
	tiled, _ := blocked.From[float64](g, blocked.Full, 5, blocked.CopyOptions{})
	other, _ := blocked.From[float64](g, blocked.Full, 4, blocked.CopyOptions{})
	tri := mat.NewTriDense(n, mat.Lower, full.x)
	for engine, e := range engines(t) {
		for name, src := range map[string]la.Source[float64]{
			"general": g, "*General": &g, "hidden": hidden[float64]{g}, "Dense": mat.NewDense(n, n, full.x), "transposed": mat.NewDense(n, n, full.x).T(),
			"slice": big.Slice(2, n+2, 2, n+2), "tiles": tiled, "other tiles": other, "symmetric": sym, "triangle": tri, "triangle, transposed": tri.T(),
			"vector": mat.NewVecDense(n, full.x[:n]), "rows": big.Slice(3, 6, 2, n),
		} {
			for pivoting, f := range lus[float64](t, e) {
				factorized(t, f, f.Factorize(src), "%s: %s, %s", engine, pivoting, name)
				small(t, luResidual(f, load[float64](src, blas.NoTrans)), 30, "%s: %s, %s", engine, pivoting, name)
			}
		}
	}
}

// TestLURefactorize factors one matrix after another with one LU, after failures
// too, and checks that memory is used again.
func TestLURefactorize(t *testing.T) {
	for _, opt := range []la.Options{{Workers: 2, NB: 5, Direct: -1}, {Workers: 2, NB: 16, Direct: 20}} {
		for name, f := range lus[float64](t, start(t, opt)) {
			for round, s := range [][2]int{{12, 12}, {12, 12}, {30, 30}, {3, 3}, {0, 0}, {30, 20}, {30, 20}, {20, 30}, {12, 12}, {21, 21}} {
				a := rectangle[float64](t, matgen.Spec{M: s[0], N: s[1], Seed: uint64(round)}, 0)
				what := fmt.Sprintf("%s, round %d", name, round)
				if round%3 == 2 {
					bad := clone(a)
					if len(bad.Data) > 3 {
						bad.Data[0] = math.NaN()
						if err := f.Factorize(bad); err == nil || !f.IsEmpty() {
							t.Errorf("%s: %v", what, err)
						}
					}
				}
				factorized(t, f, f.Factorize(a), "%s", what)
				small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s", what)
				if round%2 == 0 {
					f.Reset()
					if !f.IsEmpty() {
						t.Fatal("not empty after Reset")
					}
				}
			}
		}
	}
	a := rectangle[float64](t, matgen.Spec{M: 400, N: 400}, 0)
	f := la.NewLU[float64](start(t, la.Options{Workers: 1, Deterministic: true}))
	if err := f.Factorize(a); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		if err := f.Factorize(a); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 400*400*8 {
		t.Errorf("%d bytes allocated for three factorizations in memory that is there", got)
	}
}

// TestLULarge factors matrices of the sizes that people have.
func TestLULarge(t *testing.T) {
	if testing.Short() {
		t.Skip("factors matrices of order 1000: run by make test-long")
	}
	e := start(t, la.Options{})
	for name, f := range lus[float64](t, e) {
		for _, kind := range []matgen.Kind{matgen.Random, matgen.Cond, matgen.CondSqrt, matgen.CondMax, matgen.Graded, matgen.Tiny, matgen.Huge, matgen.ZeroTile, matgen.ScaledTile, matgen.LastHalfZero, matgen.Hilbert, matgen.Lehmer} {
			for _, n := range []int{511, 1000} {
				if n == 1000 && kind != matgen.Random && kind != matgen.CondMax { // a residual takes ten times as long as the factors
					continue
				}
				a := rectangle[float64](t, matgen.Spec{Kind: kind, M: n, N: n, NB: 128}, 0)
				factorized(t, f, f.Factorize(a), "%s, %v, n %d", name, kind, n)
				small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s, %v, n %d", name, kind, n)
			}
		}
	}
}
