package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

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
		return dot(l.x[r*k:r*k+q], ut.x[j*k:j*k+q], -math.Ldexp(a.at(i, j), -exp))
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
						b, x := rectangle[T](t, matgen.Spec{M: n, N: nrhs, Seed: 7}, 1), padded[T](n, nrhs, 2)
						x0 := clone(x)
						if err := warned[T](f.SolveTo(x, trans == blas.Trans, b), kind); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						unchanged(t, what, x, x0, everywhere)
						small(t, solveResidual[T](full, load[T](x, blas.NoTrans), load[T](b, blas.NoTrans)), 30, "%s", what)
						if err := warned[T](f.SolveTo(b, trans == blas.Trans, b), kind); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						for i := range n {
							for j := range nrhs {
								if bits(b.At(i, j)) != bits(x.At(i, j)) {
									t.Fatalf("%s: in place (%d, %d) is %v, want %v", what, i, j, b.At(i, j), x.At(i, j))
								}
							}
						}
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
	diff := newDense(b.m, 1, func(i, _ int) float64 { return dot(a.x[i*a.n:(i+1)*a.n], x.x, -b.x[i]) })
	return diff.maxAbs() / (eps[T]() * (a.t().norm1()*x.maxAbs() + b.maxAbs()) * float64(a.n))
}

func TestLUSolve(t *testing.T) {
	t.Run("f64", testLUSolve[float64])
	t.Run("f32", testLUSolve[float32])
}
