package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// randomSPD returns a well-conditioned positive definite matrix.
func randomSPD[T la.Element](n int, rng *rand.Rand) la.Symmetric[T] {
	a := la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: max(n, 1), Data: make([]T, n*n)}
	for i := range n {
		for j := i + 1; j < n; j++ {
			a.Data[i*n+j] = T(rng.Float64() - 0.5)
		}
		a.Data[i*n+i] = T(float64(n)/2 + 1 + rng.Float64())
	}
	return a
}

// factorError returns the largest element of L·Lᵀ − A by the largest of A, in units of n·ε.
func factorError[T la.Element](c *la.Cholesky[T], a func(i, j int) float64, eps float64) float64 {
	n := c.SymmetricDim()
	u := la.Triangular[T]{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: max(n, 1), Data: make([]T, n*n)}
	c.UTo(u)
	worst, top := 0.0, 0.0
	for i := range n {
		if !(u.At(i, i) > 0) {
			return math.Inf(1)
		}
		for j := i; j < n; j++ {
			s := 0.0
			for l := range i + 1 {
				s += float64(u.Data[l*n+i]) * float64(u.Data[l*n+j])
			}
			worst, top = max(worst, math.Abs(s-a(i, j))), max(top, math.Abs(a(i, j)))
		}
	}
	if top == 0 {
		return 0
	}
	return worst / top / float64(n) / eps
}

func testCholeskyUpdates[T la.Element](t *testing.T, eps float64) {
	rng := rand.New(rand.NewPCG(5, 5))
	for engine, e := range sorted.Map(map[string]*la.Engine{
		"default": nil, "tiles of 8": engineOf(t, la.Options{Workers: 2, NB: 8, Deterministic: true}),
		"3 workers": engineOf(t, la.Options{Workers: 3, Deterministic: true}),
	}) {
		for _, n := range []int{0, 1, 2, 7, 8, 9, 33, 150} {
			a := randomSPD[T](n, rng)
			at := func(i, j int) float64 { return float64(a.At(i, j)) }
			var c la.Cholesky[T]
			orig := la.NewCholesky[T](e)
			if err := orig.Factorize(a); err != nil {
				t.Fatal(err)
			}
			c.Clone(orig)
			before := factorBits(orig)
			for _, k := range []int{1, 3, 12} {
				x := la.General[T]{Rows: n, Cols: k, Stride: k, Data: make([]T, n*k)}
				for i := range x.Data {
					x.Data[i] = T(rng.NormFloat64())
				}
				for _, alpha := range []float64{0, 0.5, -0.01, 1e-3, -1e-4} {
					changed := func(i, j int) float64 {
						s := at(i, j)
						for l := range k {
							s += float64(T(alpha)) * float64(x.At(i, l)) * float64(x.At(j, l))
						}
						return s
					}
					to := la.NewCholesky[T](e)
					if err := to.SymRankK(orig, T(alpha), x); err != nil {
						t.Fatalf("%s, n %d, k %d, alpha %v: %v", engine, n, k, alpha, err)
					}
					if r := factorError(to, changed, eps); !(r < 10) {
						t.Errorf("%s, n %d, k %d, alpha %v: residual %.3g", engine, n, k, alpha, r)
					}
					if k == 1 {
						if err := c.SymRankOne(orig, T(alpha), la.Vector[T](x.Data)); err != nil {
							t.Fatal(err)
						}
						if !sameSlices(factorBits(&c), factorBits(to)) {
							t.Errorf("%s, n %d: SymRankOne and SymRankK differ", engine, n)
						}
						if err := c.SymRankOne(&c, -T(alpha), la.Vector[T](x.Data)); err != nil {
							t.Fatal(err)
						}
						if r := factorError(&c, at, eps); !(r < 20) {
							t.Errorf("%s, n %d, alpha %v, there and back: residual %.3g", engine, n, alpha, r)
						}
						b := random[T](rng, n, 2, 0)
						y := la.General[T]{Rows: n, Cols: 2, Stride: 2, Data: make([]T, 2*n)}
						if err := to.SolveTo(y, b); err != nil {
							t.Errorf("%s, n %d: %v", engine, n, err)
						}
						if k := to.Cond(); n > 0 && !(k >= 0.99 && k < 1e3*float64(n)) {
							t.Errorf("%s, n %d: condition %v", engine, n, k)
						}
					}
				}
			}
			if !sameSlices(factorBits(orig), before) {
				t.Errorf("%s, n %d: the original has changed", engine, n)
			}
			for i := 0; i < n; i += max(1, n/4) {
				if err := c.DropVecSym(orig, i); err != nil {
					t.Fatal(err)
				}
				without := func(p, q int) float64 {
					if p >= i {
						p++
					}
					if q >= i {
						q++
					}
					return at(p, q)
				}
				if r := factorError(&c, without, eps); c.SymmetricDim() != n-1 || !(r < 10) {
					t.Errorf("%s, n %d without %d: residual %.3g", engine, n, i, r)
				}
			}
			if n == 0 {
				continue
			}
			// Dropped and added again, the last row is the same.
			last := make(la.Vector[T], n)
			for i := range last {
				last[i] = a.At(i, n-1)
			}
			if err := c.DropVecSym(orig, n-1); err != nil {
				t.Fatal(err)
			}
			if err := c.ExtendVecSym(&c, last); err != nil {
				t.Fatal(err)
			}
			if r := factorError(&c, at, eps); !(r < 10) {
				t.Errorf("%s, n %d extended: residual %.3g", engine, n, r)
			}
			testHalfSolves(t, fmt.Sprintf("%s, n %d", engine, n), &c, a, eps, rng)
		}
	}
}

// factorBits returns the factor's elements.
func factorBits[T la.Element](c *la.Cholesky[T]) []T {
	n := c.SymmetricDim()
	u := la.Triangular[T]{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: max(n, 1), Data: make([]T, n*n)}
	c.UTo(u)
	return u.Data
}

// sameSlices reports whether x and y have the same numbers.
func sameSlices[T la.Element](x, y []T) bool {
	for i, v := range x {
		if v != y[i] {
			return false
		}
	}
	return len(x) == len(y)
}

// testHalfSolves multiplies solutions by the factor again.
func testHalfSolves[T la.Element](t *testing.T, what string, c *la.Cholesky[T], a la.Symmetric[T], eps float64, rng *rand.Rand) {
	t.Helper()
	n := c.SymmetricDim()
	u := factorBits(c)
	b := random[T](rng, n, 3, 1)
	for _, trans := range []bool{false, true} {
		x := la.General[T]{Rows: n, Cols: 3, Stride: 3, Data: make([]T, 3*n)}
		if err := c.SolveLTo(x, trans, b); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range 3 {
				s, size := -float64(b.At(i, j)), math.Abs(float64(b.At(i, j)))
				for l := range n {
					v := float64(u[l*n+i]) // L(i, l)
					if trans {
						v = float64(u[i*n+l])
					}
					s += v * float64(x.At(l, j))
					size += math.Abs(v * float64(x.At(l, j)))
				}
				if !(math.Abs(s) <= 4*float64(n)*eps*size) {
					t.Errorf("%s, trans %v: residual %.3g at (%d, %d)", what, trans, s, i, j)
				}
			}
		}
		// Both halves are the whole.
		y := la.General[T]{Rows: n, Cols: 3, Stride: 3, Data: make([]T, 3*n)}
		if err := c.SolveLTo(y, false, b); err != nil {
			t.Fatal(err)
		}
		if err := c.SolveLTo(y, true, y); err != nil {
			t.Fatal(err)
		}
		if err := c.SolveTo(x, b); err != nil {
			t.Fatal(err)
		}
		if !sameSlices(x.Data, y.Data) {
			t.Errorf("%s: two halves are not the bits of the whole", what)
		}
	}
}

func TestCholeskyUpdates(t *testing.T) {
	testCholeskyUpdates[float64](t, 0x1p-52)
	testCholeskyUpdates[float32](t, 0x1p-23)
}

// TestCholeskyUpdateErrors: what fails leaves the receiver as it was.
func TestCholeskyUpdateErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, e := range []*la.Engine{nil, engineOf(t, la.Options{Workers: 2, NB: 16})} {
		const n = 50
		a := randomSPD[float64](n, rng)
		c := la.NewCholesky[float64](e)
		x := make(la.Vector[float64], n)
		for name, f := range map[string]func(){
			"SymRankOne": func() { c.SymRankOne(la.NewCholesky[float64](e), 1, x) },
			"Extend":     func() { c.ExtendVecSym(la.NewCholesky[float64](e), x) },
			"Drop":       func() { c.DropVecSym(la.NewCholesky[float64](e), 0) },
			"SolveLTo":   func() { c.SolveLTo(&mat.Dense{}, false, x) },
		} {
			func() {
				defer func() {
					if p := recover(); p != la.ErrNotFactorized {
						t.Errorf("%s without a factorization: %v", name, p)
					}
				}()
				f()
			}()
		}
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
		before := factorBits(c)
		same := func(what string) {
			t.Helper()
			if !sameSlices(factorBits(c), before) {
				t.Errorf("%s: the receiver has changed", what)
			}
		}
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		x[7] = 30 // A(7, 7) is about 26
		npd, ok := errors.AsType[*la.NotPositiveDefiniteError](c.SymRankOne(c, -1, x))
		if !ok || npd.Minor < 1 || npd.Minor > 8 {
			t.Errorf("downdate: %v", npd)
		}
		same("a downdate that is not positive definite")
		x[20] = math.NaN()
		if bad, ok := errors.AsType[*la.NonFiniteError](c.SymRankOne(c, 1, x)); !ok || bad.Row != 20 || bad.Col != 0 {
			t.Errorf("NaN: %v", bad)
		}
		if bad, ok := errors.AsType[*la.NonFiniteError](c.SymRankOne(c, math.Inf(1), x)); !ok || bad.Row != 0 {
			t.Errorf("infinite alpha: %v", bad)
		}
		same("NaN")
		if err := c.SymRankOne(c, 0, x); err != nil {
			t.Errorf("alpha 0: %v", err)
		}
		same("alpha 0")
		long := make(la.Vector[float64], n+1)
		copy(long, x)
		if bad, ok := errors.AsType[*la.NonFiniteError](c.ExtendVecSym(c, long)); !ok || bad.Row != 20 || bad.Col != n {
			t.Errorf("Extend, NaN: %v", bad)
		}
		long[20] = 0
		if npd, ok := errors.AsType[*la.NotPositiveDefiniteError](c.ExtendVecSym(c, long)); !ok || npd.Minor != n+1 {
			t.Errorf("Extend, not positive definite: %v", npd)
		}
		var tiny la.Cholesky[float64]
		if err := tiny.Factorize(mat.NewSymDense(1, []float64{1e-300})); err != nil {
			t.Fatal(err)
		}
		if _, ok := errors.AsType[*la.OverflowError](tiny.ExtendVecSym(&tiny, la.Vector[float64]{0, 1e300})); !ok || tiny.SymmetricDim() != 1 {
			t.Error("Extend: the last element overflows, which is no error")
		}
		for _, err := range []error{c.ExtendVecSym(c, x), c.SymRankOne(c, 1, long), c.SolveLTo(&mat.Dense{}, false, long)} {
			if _, ok := errors.AsType[*la.ShapeError](err); !ok {
				t.Errorf("shapes: %v", err)
			}
		}
		same("errors")
		func() {
			defer func() {
				if p := recover(); p != mat.ErrIndexOutOfRange {
					t.Errorf("Drop: %v", p)
				}
			}()
			c.DropVecSym(c, n)
		}()
	}
}

// TestCholeskyUpdateScaled: a factor near the ends of the range.
func TestCholeskyUpdateScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, exp := range []int{-1010, 1000} {
		const n = 30
		a := randomSPD[float64](n, rng)
		for i := range a.Data {
			a.Data[i] = math.Ldexp(a.Data[i], exp)
		}
		x := make(la.Vector[float64], n)
		for i := range x {
			x[i] = math.Ldexp(rng.NormFloat64(), exp/2)
		}
		var c la.Cholesky[float64]
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
		if err := c.SymRankOne(&c, 2, x); err != nil {
			t.Fatal(err)
		}
		got := func(i, j int) float64 {
			return math.Ldexp(a.At(i, j), -exp) + 2*math.Ldexp(x[i], -exp/2)*math.Ldexp(x[j], -exp/2)
		}
		u := factorBits(&c)
		for i := range u {
			u[i] = math.Ldexp(u[i], -exp/2)
		}
		worst := 0.0
		for i := range n {
			for j := i; j < n; j++ {
				s := -got(i, j)
				for l := range n {
					s += u[l*n+i] * u[l*n+j]
				}
				worst = max(worst, math.Abs(s))
			}
		}
		if !(worst < 1e-13*n) {
			t.Errorf("2^%d: residual %.3g", exp, worst)
		}
	}
}

// TestCholeskyUpdateWorkers: the bits do not depend on the number of workers.
func TestCholeskyUpdateWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const n = 200
	a, x := randomSPD[float64](n, rng), random[float64](rng, n, 2, 0)
	var want []float64
	for workers := 1; workers <= 3; workers++ {
		c := la.NewCholesky[float64](engineOf(t, la.Options{Workers: workers, NB: 32, Deterministic: true}))
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
		for _, alpha := range []float64{1, -0.1} {
			if err := c.SymRankK(c, alpha, x); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.DropVecSym(c, 40); err != nil {
			t.Fatal(err)
		}
		if got := factorBits(c); want == nil {
			want = got
		} else if !sameSlices(got, want) {
			t.Errorf("%d workers: other bits", workers)
		}
	}
}

func BenchmarkSymRankOne(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{100, 500, 2000} {
		a := randomSPD[float64](n, rng)
		x := mat.NewVecDense(n, nil)
		for i := range n {
			x.SetVec(i, rng.NormFloat64())
		}
		e, err := la.NewEngine(la.Options{})
		must(err)
		defer e.Close()
		b.Run(fmt.Sprintf("%d/la", n), func(b *testing.B) {
			c := la.NewCholesky[float64](e)
			must(c.Factorize(a))
			sign := 1.0
			for b.Loop() {
				must(c.SymRankOne(c, sign, x))
				sign = -sign
			}
		})
		b.Run(fmt.Sprintf("%d/gonum", n), func(b *testing.B) {
			var c mat.Cholesky
			s := mat.NewSymDense(n, a.Data)
			if !c.Factorize(s) {
				b.Fatal()
			}
			sign := 1.0
			for b.Loop() {
				if !c.SymRankOne(&c, sign, x) {
					b.Fatal()
				}
				sign = -sign
			}
		})
	}
}
