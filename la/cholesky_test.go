package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// factor returns L of c, and fails t unless it is finite.
func factor[T la.Element](t *testing.T, c *la.Cholesky[T]) dense {
	t.Helper()
	n := c.SymmetricDim()
	l := la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: max(1, n), Data: make([]T, n*n)}
	c.LTo(l)
	d := load[T](l, blas.NoTrans)
	if norm := d.norm1(); norm-norm != 0 {
		t.Fatalf("the factor is not finite")
	}
	return d
}

// spoiled is the order from which rounding makes a factorization of a kind
// fail, as the kind's comment says; 0 if it never does.
func spoiled[T la.Element](k matgen.Kind) int {
	single := eps[T]() == 0x1p-24
	switch k {
	case matgen.SPDCondMax:
		return 60
	case matgen.Prolate:
		if single {
			return 16
		}
		return 21
	case matgen.Hilbert:
		if single {
			return 6
		}
		return 13
	case matgen.SPDGraded, matgen.SPDCond, matgen.SPDCondSqrt, matgen.Beam:
		// κ·n·ε nears 1 in float32.
		if single {
			return 60
		}
	}
	return 0
}

// choleskySizes are the orders to test: around nb and 2·nb.
func choleskySizes(nb int) []int {
	return []int{0, 1, nb - 1, nb, nb + 1, 2*nb - 1, 2 * nb, 2*nb + 1, 3*nb + 2}
}

func testCholeskyKinds[T la.Element](t *testing.T, opt la.Options, sizes []int) {
	e := start(t, opt)
	c := la.NewCholesky[T](e) // its memory is used again from size to size
	for _, kind := range matgen.Kinds() {
		if !kind.PositiveDefinite() {
			continue
		}
		for _, n := range sizes {
			if limit := spoiled[T](kind); limit > 0 && n >= limit {
				continue
			}
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				what := fmt.Sprintf("%v, n %d, uplo %c", kind, n, uplo)
				a := symmetric[T](t, matgen.Spec{Kind: kind, N: n, Seed: uint64(n), NB: max(1, opt.NB)}, uplo, n%3)
				a0 := clone(general(a))
				if err := c.Factorize(a); err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				unchanged(t, what, general(a), a0, nil)
				small(t, choleskyResidual[T](factor(t, c), load[T](a, blas.NoTrans)), 30, "%s", what)
			}
		}
	}
}

// TestCholeskyKinds factors every positive definite matrix of matgen.
func TestCholeskyKinds(t *testing.T) {
	for _, v := range []struct {
		name  string
		opt   la.Options
		sizes []int
	}{
		{"nb=3", la.Options{Workers: 2, NB: 3, Direct: -1}, choleskySizes(3)},
		{"nb=7", la.Options{Workers: 3, NB: 7, Direct: -1}, choleskySizes(7)},
		{"nb=64", la.Options{Workers: 2, NB: 64, Direct: -1}, []int{63, 65, 129}},
		{"auto", la.Options{Workers: 2}, []int{0, 1, 2, 33, 100, 150}},
		{"direct", la.Options{Workers: 1, Direct: 1 << 20}, []int{1, 5, 70, 140}},
	} {
		t.Run("f64/"+v.name, func(t *testing.T) { testCholeskyKinds[float64](t, v.opt, v.sizes) })
		t.Run("f32/"+v.name, func(t *testing.T) { testCholeskyKinds[float32](t, v.opt, v.sizes) })
	}
}

// TestCholeskyLarge factors matrices of the sizes that people have, some with
// a condition number above 10¹⁰.
func TestCholeskyLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("factors matrices of order 1000: run by make test-long")
	}
	e := start(t, la.Options{})
	for _, kind := range []matgen.Kind{matgen.SPD, matgen.Beam, matgen.Poisson2D, matgen.SPDGraded, matgen.Lehmer, matgen.MinIJ, matgen.Moler, matgen.KMS, matgen.SPDCondSqrt, matgen.SPDHuge, matgen.SPDTiny} {
		for _, n := range []int{511, 1000} {
			if n == 1000 && kind != matgen.SPD && kind != matgen.Beam { // a residual takes ten times as long as the factor
				continue
			}
			a := symmetric[float64](t, matgen.Spec{Kind: kind, N: n}, blas.Upper, 0)
			c := la.NewCholesky[float64](e)
			if err := c.Factorize(a); err != nil {
				t.Errorf("%v, n %d: %v", kind, n, err)
				continue
			}
			small(t, choleskyResidual[float64](factor(t, c), load[float64](a, blas.NoTrans)), 30, "%v, n %d", kind, n)
		}
	}
}

// TestCholeskySources factors one matrix in all the forms in which it can be
// had.
func TestCholeskySources(t *testing.T) {
	const n = 17
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Lower, 2)
	full := padded[float64](n, n, 1)
	sym, big := mat.NewSymDense(n, nil), mat.NewSymDense(n+4, nil)
	for i := range n {
		for j := range n {
			full.Set(i, j, a.At(i, j))
			sym.SetSym(i, j, a.At(i, j))
			big.SetSym(i+2, j+2, a.At(i, j))
		}
	}
	upper := la.Symmetric[float64]{Uplo: blas.Upper, N: n, Data: full.Data, Stride: full.Stride}
	tiled := func(kind blocked.Kind, nb int) *blocked.Matrix[float64] {
		m, _ := blocked.From[float64](full, kind, nb, blocked.CopyOptions{})
		return m
	}
	for engine, e := range engines(t) {
		for name, src := range map[string]la.SymmetricSource[float64]{
			"lower": a, "*Symmetric": &a, "upper": upper, "SymDense": sym, "slice": big.SliceSym(2, n+2),
			"hidden": hidden[float64]{full}, "tiles, lower": tiled(blocked.SymLower, 5), "tiles, upper": tiled(blocked.SymUpper, 5),
			"tiles, full": tiled(blocked.Full, 5), "tiles, lower triangle": tiled(blocked.TriLower, 5), "tiles, upper triangle": tiled(blocked.TriUpper, 5), "other tiles": tiled(blocked.SymLower, 4), "subset": mat.NewSymDense(n, sym.RawSymmetric().Data),
		} {
			c := la.NewCholesky[float64](e)
			if err := c.Factorize(src); err != nil {
				t.Errorf("%s: %s: %v", engine, name, err)
				continue
			}
			small(t, choleskyResidual[float64](factor(t, c), load[float64](full, blas.NoTrans)), 30, "%s: %s", engine, name)
		}
		band := mat.NewSymBandDense(n, 1, nil)
		for i := range n {
			band.SetSymBand(i, i, 2)
			if i > 0 {
				band.SetSymBand(i-1, i, -1)
			}
		}
		for name, src := range map[string]mat.Symmetric{"band": band, "diagonal": mat.NewDiagDense(2, []float64{4, 9})} {
			c := la.NewCholesky[float64](e)
			if err := c.Factorize(src); err != nil {
				t.Errorf("%s: %s: %v", engine, name, err)
				continue
			}
			small(t, choleskyResidual[float64](factor(t, c), load[float64](src, blas.NoTrans)), 30, "%s: %s", engine, name)
		}
	}
}

// potf2 is the unblocked factorization, of which it returns LAPACK's info.
// Reference: LAPACK xPOTF2.
func potf2[T la.Element](a la.Source[T]) int {
	n, _ := a.Dims()
	l := make([][]T, n)
	for i := range n {
		l[i] = make([]T, i+1)
		for j := range i + 1 {
			s := a.At(i, j)
			for k := range j {
				s -= l[i][k] * l[j][k]
			}
			switch {
			case j < i:
				l[i][j] = s / l[j][j]
			case !(s > 0):
				return i + 1
			default:
				l[i][i] = T(math.Sqrt(float64(s)))
			}
		}
	}
	return 0
}

// minor fails t unless err says that the matrix is not positive definite and
// names the minor.
func minor(t *testing.T, err error, want int, format string, args ...any) {
	t.Helper()
	var npd *la.NotPositiveDefiniteError
	if !errors.As(err, &npd) || npd.Minor != want {
		t.Errorf(format+": %v, want minor %d", append(args, err, want)...)
	}
}

func testMinors[T la.Element](t *testing.T, e *la.Engine, what string, n int) {
	rnd := rand.New(rand.NewPCG(5, uint64(n)))
	c := la.NewCholesky[T](e)
	for want := 1; want <= n; want++ {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			a := symmetric[T](t, matgen.Spec{Kind: matgen.Indefinite, N: n, Minor: want, Seed: uint64(want)}, uplo, 0)
			before := clone(general(a))
			if info := potf2[T](a); info != want {
				t.Fatalf("n %d: the reference finds minor %d, matgen says %d", n, info, want)
			}
			minor(t, c.Factorize(a), want, "%s, n %d, uplo %c", what, n, uplo)
			unchanged(t, what, general(a), before, nil)

			// More than one minor fails, and the later ones may do so sooner:
			// blocks on the diagonal do not depend on one another.
			b := symmetric[T](t, matgen.Spec{Kind: matgen.SPDDiagonal, N: n}, uplo, 0)
			b.SetSym(want-1, want-1, -1)
			for i := want; i < n; i++ {
				b.SetSym(i, i, T(rnd.IntN(3)-1))
			}
			minor(t, c.Factorize(b), want, "%s, diagonal, n %d, uplo %c", what, n, uplo)
			if !c.IsEmpty() {
				t.Fatalf("%s: a factorization that has failed", what)
			}
		}
	}
}

// TestMinors lets every minor fail in turn, inside tiles and across their
// borders, whatever the policy and the number of workers.
func TestMinors(t *testing.T) {
	for i, nb := range []int{3, 7, 16} {
		for j, policy := range dispatch.Kinds() {
			workers := 1 + (i+j)%3 // in pairs with tile sizes and with policies
			e := start(t, la.Options{Workers: workers, NB: nb, Direct: -1, Policy: policy, Float: true})
			what := fmt.Sprintf("nb %d, %v, %d workers", nb, policy, workers)
			testMinors[float64](t, e, what, 3*nb+2)
			if workers == 2 {
				testMinors[float32](t, e, what, 3*nb+2)
			}
		}
	}
	testMinors[float64](t, nil, "direct", 70)
	testMinors[float32](t, nil, "direct", 50)
}

// TestZeroMinors factors LAPACK's singular test matrices.
func TestZeroMinors(t *testing.T) {
	for engine, e := range engines(t) {
		for _, n := range []int{1, 2, 4, 5, 6, 11, 16, 23} {
			for kind, want := range map[matgen.Kind]int{matgen.FirstZero: 1, matgen.LastZero: n, matgen.MiddleZero: n/2 + 1} {
				a := symmetric[float64](t, matgen.Spec{Kind: kind, N: n}, blas.Lower, 0)
				minor(t, la.NewCholesky[float64](e).Factorize(a), want, "%s: %v, n %d", engine, kind, n)
			}
		}
	}
}

// TestNonFinite puts infinities and NaN everywhere.
func TestNonFinite(t *testing.T) {
	const n = 12
	for engine, e := range engines(t) {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			in := inside(uplo)
			for i := range n {
				for j := range n {
					if !in(i, j) {
						continue
					}
					a := symmetric[float32](t, matgen.Spec{Kind: matgen.SPD, N: n}, uplo, 1)
					a.SetSym(i, j, float32([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[(i+j)%3]))
					a.SetSym(n-1, n-1, float32(math.NaN())) // the first one counts
					c := la.NewCholesky[float32](e)
					var nf *la.NonFiniteError
					if err := c.Factorize(a); !errors.As(err, &nf) || nf.Row != min(i, j) || nf.Col != max(i, j) {
						t.Errorf("%s: uplo %c, (%d, %d): %v", engine, uplo, i, j, err)
					}
					if !c.IsEmpty() {
						t.Fatal("a factorization that has failed")
					}
				}
			}
		}
		// What is not stored does not count.
		a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Lower, 1)
		if err := la.NewCholesky[float64](e).Factorize(a); err != nil {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

// TestRefactorize factors one matrix after another with one Cholesky, after
// failures too.
func TestRefactorize(t *testing.T) {
	for _, opt := range []la.Options{{Workers: 2, NB: 5, Direct: -1}, {Workers: 2, NB: 16, Direct: 20}} {
		e := start(t, opt)
		c := la.NewCholesky[float64](e)
		for round, n := range []int{12, 12, 30, 3, 0, 30, 30, 12, 21} {
			bad := symmetric[float64](t, matgen.Spec{Kind: matgen.Indefinite, N: max(1, n)}, blas.Upper, 0)
			switch round % 3 {
			case 1:
				minor(t, c.Factorize(bad), max(1, n), "round %d", round)
			case 2:
				bad.Data[0] = math.NaN()
				if err := c.Factorize(bad); err == nil || !c.IsEmpty() {
					t.Errorf("round %d: %v", round, err)
				}
			}
			a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n, Seed: uint64(round)}, blas.Upper, 0)
			if err := c.Factorize(a); err != nil {
				t.Fatal(err)
			}
			small(t, choleskyResidual[float64](factor(t, c), load[float64](a, blas.NoTrans)), 30, "round %d, n %d", round, n)
			if round%2 == 0 {
				c.Reset()
			}
		}
	}
	// The memory of a former factorization is used again.
	e := start(t, la.Options{Workers: 1, NB: 64, Direct: -1})
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: 512}, blas.Upper, 0)
	c := la.NewCholesky[float64](e)
	if err := c.Factorize(a); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 4 {
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 4; got > 512*512*8/2/2 {
		t.Errorf("factoring again allocates %d bytes", got)
	}
}

// TestNotFactorized checks that nothing works without a factorization.
func TestNotFactorized(t *testing.T) {
	var failed la.Cholesky[float64]
	if err := failed.Factorize(mat.NewSymDense(1, []float64{-1})); err == nil {
		t.Fatal("-1 is not positive definite")
	}
	var reset la.Cholesky[float64]
	if err := reset.Factorize(mat.NewSymDense(1, []float64{4})); err != nil {
		t.Fatal(err)
	}
	reset.Reset()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var cancelled la.Cholesky[float64]
	if err := cancelled.Factorize(mat.NewSymDense(1, []float64{4}), la.WithContext(ended)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for name, c := range map[string]*la.Cholesky[float64]{"zero": {}, "failed": &failed, "reset": &reset, "cancelled": &cancelled} {
		for method, f := range map[string]func(){
			"SymmetricDim": func() { c.SymmetricDim() },
			"SolveTo":      func() { c.SolveTo(&mat.Dense{}, mat.NewDense(1, 1, nil)) },
			"SolveVecTo":   func() { c.SolveVecTo(&mat.VecDense{}, mat.NewVecDense(1, nil)) },
			"InverseTo":    func() { c.InverseTo(&mat.SymDense{}) },
			"Det":          func() { c.Det() },
			"LogDet":       func() { c.LogDet() },
			"Cond":         func() { c.Cond() },
			"LTo":          func() { c.LTo(&mat.TriDense{}) },
			"UTo":          func() { c.UTo(&mat.TriDense{}) },
			"Clone":        func() { new(la.Cholesky[float64]).Clone(c) },
		} {
			if v := panics(f); v != la.ErrNotFactorized {
				t.Errorf("%s: %s panics with %v", name, method, v)
			}
		}
		if c.Reset(); !c.IsEmpty() {
			t.Errorf("%s: not empty", name)
		}
	}
}
