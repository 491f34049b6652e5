package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// indefinite returns a symmetric matrix of the kind named.
func indefinite[T la.Element](kind string, n int, rng *rand.Rand) la.Symmetric[T] {
	a := la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: max(n, 1), Data: make([]T, n*n)}
	for i := range n {
		for j := i; j < n; j++ {
			x := 2*rng.Float64() - 1
			switch kind {
			case "zero diagonal":
				if i == j {
					x = 0
				}
			case "saddle point":
				if i >= 2*n/3 {
					x = 0
				} else if i == j {
					x += 3
				}
			case "graded":
				x *= math.Pow(10, -float64(i+j)/float64(n)*4)
			case "arrow":
				if i != j && i != 0 {
					x = 0
				}
			case "definite":
				if i == j {
					x = float64(n)
				}
			}
			a.Data[i*n+j] = T(x)
		}
	}
	return a
}

func testLDL[T la.Element](t *testing.T, eps float64) {
	rng := rand.New(rand.NewPCG(10, 10))
	for engine, e := range sorted.Map(map[string]*la.Engine{"default": nil, "rook": nil, "tiles": engineOf(t, la.Options{Workers: 2, NB: 24}), "3 workers": engineOf(t, la.Options{Workers: 3})}) {
		f := la.NewLDLWith[T](e, la.LDLOptions{Rook: engine == "rook"})
		for _, n := range []int{0, 1, 2, 3, 5, 64, 65, 130, 220} {
			for _, kind := range []string{"random", "zero diagonal", "saddle point", "graded", "arrow", "definite"} {
				if n == 1 && kind != "random" {
					continue
				}
				what := fmt.Sprintf("%s, %s, order %d", engine, kind, n)
				a := indefinite[T](kind, n, rng)
				if err := f.Factorize(a); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				full, top := mat.NewDense(n+1, n+1, nil), 0.0
				for i := range n {
					for j := range n {
						full.Set(i, j, float64(a.At(i, j)))
						top = max(top, math.Abs(float64(a.At(i, j))))
					}
				}
				if n == 0 {
					continue
				}
				at := full.Slice(0, n, 0, n).(*mat.Dense)
				// P·A·Pᵀ = L·D·Lᵀ
				l := la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: make([]T, n*n)}
				d := la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: n, Data: make([]T, n*n)}
				f.LTo(l)
				f.DTo(d)
				p := f.Pivots(nil)
				ld, dd := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
				for i := range n {
					for j := range n {
						ld.Set(i, j, float64(l.At(i, j)))
						dd.Set(i, j, float64(d.At(i, j)))
						if engine == "rook" && math.Abs(ld.At(i, j)) > 2.8 {
							t.Fatalf("%s: L has %v", what, ld.At(i, j))
						}
					}
				}
				var product mat.Dense
				product.Product(ld, dd, ld.T())
				worst := 0.0
				for i := range n {
					for j := range n {
						worst = max(worst, math.Abs(product.At(i, j)-at.At(p[i], p[j])))
					}
				}
				if !(worst <= 30*float64(n)*eps*top) {
					t.Errorf("%s: residual %.3g", what, worst)
				}
				// Solutions.
				b := random[T](rng, n, 3, 1)
				x := la.General[T]{Rows: n, Cols: 3, Stride: 3, Data: make([]T, 3*n)}
				err := f.SolveTo(x, b)
				if _, ok := err.(mat.Condition); err != nil && !ok {
					t.Fatalf("%s: %v", what, err)
				}
				for j := range 3 {
					residual, size, right := 0.0, 0.0, 0.0
					for i := range n {
						s := -float64(b.At(i, j))
						right = max(right, math.Abs(s))
						for k := range n {
							s += at.At(i, k) * float64(x.At(k, j))
						}
						residual, size = max(residual, math.Abs(s)), max(size, math.Abs(float64(x.At(i, j))))
					}
					if !(residual <= 30*float64(n)*eps*(top*size*float64(n)+right)) {
						t.Errorf("%s: residual %.3g of a solution of %.3g", what, residual, size)
					}
				}
				// Inertia, determinant and condition by gonum's eigenvalues and LU.
				var eigen mat.EigenSym
				if !eigen.Factorize(symmetricFrom(at), false) {
					t.Fatal("gonum's eigenvalues")
				}
				positive, negative, zero := f.Inertia()
				p0, n0, close := 0, 0, false
				for _, v := range eigen.Values(nil) {
					if math.Abs(v) < 100*float64(n)*eps*top {
						close = true
					}
					if v > 0 {
						p0++
					} else {
						n0++
					}
				}
				if !close && (positive != p0 || negative != n0 || zero != 0) {
					t.Errorf("%s: inertia %d, %d, %d, want %d, %d", what, positive, negative, zero, p0, n0)
				}
				var lu mat.LU
				lu.Factorize(at)
				logWant, signWant := lu.LogDet()
				log, sign := f.LogDet()
				if !close && (sign != signWant || !(math.Abs(log-logWant) <= 1e4*float64(n)*float64(n)*eps*(1+math.Abs(logWant)))) {
					t.Errorf("%s: determinant %v·exp(%v), want %v·exp(%v)", what, sign, log, signWant, logWant)
				}
				if c := f.Cond(); !close && !(c > 0.2*lu.Cond() && c < 5*lu.Cond()) {
					t.Errorf("%s: condition %v, want %v", what, c, lu.Cond())
				}
				if err == nil && n <= 65 {
					inverse := la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: n, Data: make([]T, n*n)}
					if err := f.InverseTo(inverse); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for i := range n {
						for j := range n {
							s := 0.0
							if i == j {
								s = -1
							}
							for k := range n {
								s += at.At(i, k) * float64(inverse.At(k, j))
							}
							if !(math.Abs(s) <= 30*float64(n)*eps*f.Cond()) {
								t.Fatalf("%s: inverse: %v at (%d, %d)", what, s, i, j)
							}
						}
					}
				}
			}
		}
	}
}

// symmetricFrom returns a as a SymDense.
func symmetricFrom(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, a.At(i, j))
		}
	}
	return s
}

func TestLDL(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testLDL[float64](t, 0x1p-52) })
	t.Run("float32", func(t *testing.T) { testLDL[float32](t, 0x1p-23) })
}

// TestLDLSingular: the factorization is there, and tells the rank of integers.
func TestLDLSingular(t *testing.T) {
	f := la.NewLDL[float64](nil)
	a := mat.NewSymDense(4, []float64{
		0, 2, 0, 0,
		2, 0, 0, 0,
		0, 0, 1, 1,
		0, 0, 1, 1,
	})
	bad, ok := errors.AsType[*la.SingularError](f.Factorize(a))
	if !ok || bad.Column != 4 && bad.Column != 3 || f.IsEmpty() {
		t.Fatalf("singular: %v", bad)
	}
	if p, n, z := f.Inertia(); p != 2 || n != 1 || z != 1 {
		t.Errorf("inertia %d, %d, %d", p, n, z)
	}
	if f.Det() != 0 || !math.IsInf(f.Cond(), 1) {
		t.Errorf("determinant %v, condition %v", f.Det(), f.Cond())
	}
	var x mat.VecDense
	if err := f.SolveVecTo(&x, la.Vector[float64]{1, 2, 3, 4}); !errors.As(err, &bad) {
		t.Errorf("solution: %v", err)
	}
	// Dependent but for rounding.
	rng := rand.New(rand.NewPCG(11, 11))
	const n = 80
	thin := mat.NewDense(n, n-2, nil)
	for i := range n {
		for j := range n - 2 {
			thin.Set(i, j, rng.NormFloat64())
		}
	}
	s := mat.NewSymDense(n, nil)
	var signs, product mat.Dense
	signs.CloneFrom(thin.T())
	for i := range n - 2 {
		for j := range n {
			if i%2 == 1 {
				signs.Set(i, j, -signs.At(i, j))
			}
		}
	}
	product.Mul(thin, &signs)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, product.At(i, j))
		}
	}
	if err := f.Factorize(s); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.SolveVecTo(&mat.VecDense{}, mat.NewVecDense(n, nil)).(mat.Condition); !ok {
		t.Error("a matrix of rank n−2 has no mat.Condition")
	}
	if c := f.Cond(); !(c > 1e14) {
		t.Errorf("condition %v", c)
	}
}

// TestLDLRange: near the ends of the range.
func TestLDLRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	const n = 40
	for _, exp := range []int{-1020, 1010} {
		a := indefinite[float64]("random", n, rng)
		plain, scaled := la.NewLDL[float64](nil), la.NewLDL[float64](nil)
		if err := plain.Factorize(a); err != nil {
			t.Fatal(err)
		}
		for i := range a.Data {
			a.Data[i] = math.Ldexp(a.Data[i], exp)
		}
		if err := scaled.Factorize(a); err != nil {
			t.Fatal(err)
		}
		p, _ := plain.LogDet()
		s, _ := scaled.LogDet()
		if d := s - p - n*float64(exp)*math.Ln2; !(math.Abs(d) < 1e-9*math.Abs(s)) {
			t.Errorf("2^%d: determinants differ by exp(%v)", exp, d)
		}
		b, x := make(la.Vector[float64], n), make(la.Vector[float64], n)
		for i := range b {
			b[i] = math.Ldexp(rng.NormFloat64(), exp)
		}
		if err := scaled.SolveVecTo(x, b); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			r, size := -math.Ldexp(b[i], -exp), 1.0
			for j := range n {
				v := math.Ldexp(a.At(i, j), -exp) * x[j]
				r, size = r+v, size+math.Abs(v)
			}
			if !(math.Abs(r) < 1e-12*size) {
				t.Errorf("2^%d: residual %v", exp, r)
			}
		}
	}
}

// TestLDLWorkers: the bits do not depend on the number of workers, nor on what was factored before.
func TestLDLWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	const n = 700
	a, b := indefinite[float64]("random", n, rng), random[float64](rng, n, 2, 0)
	var want []float64
	for workers := 1; workers <= 3; workers++ {
		f := la.NewLDL[float64](engineOf(t, la.Options{Workers: workers, Deterministic: true}))
		for range 2 {
			if err := f.Factorize(a); err != nil {
				t.Fatal(err)
			}
			l := la.Triangular[float64]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: make([]float64, n*n)}
			f.LTo(l)
			x := la.General[float64]{Rows: n, Cols: 2, Stride: 2, Data: make([]float64, 2*n)}
			if err := f.SolveTo(x, b); err != nil {
				t.Fatal(err)
			}
			if got := append(l.Data, x.Data...); want == nil {
				want = got
			} else if !sameSlices(got, want) {
				t.Errorf("%d workers: other bits", workers)
			}
		}
	}
}

// TestLDLErrors: what is not finite, distributed, or used too soon.
func TestLDLErrors(t *testing.T) {
	f := la.NewLDL[float64](nil)
	for name, call := range map[string]func(){
		"SolveTo": func() { f.SolveTo(&mat.Dense{}, mat.NewDense(1, 1, nil)) }, "Inertia": func() { f.Inertia() },
		"LTo": func() { f.LTo(&mat.TriDense{}) }, "Cond": func() { f.Cond() }, "Pivots": func() { f.Pivots(nil) },
	} {
		func() {
			defer func() {
				if p := recover(); p != la.ErrNotFactorized {
					t.Errorf("%s without a factorization: %v", name, p)
				}
			}()
			call()
		}()
	}
	a := mat.NewSymDense(3, []float64{1, 2, 3, 2, math.Inf(1), 5, 3, 5, 6})
	bad, ok := errors.AsType[*la.NonFiniteError](f.Factorize(a))
	if !ok || bad.Row != 1 || bad.Col != 1 || !f.IsEmpty() {
		t.Errorf("infinity: %v", bad)
	}
	a.SetSym(1, 1, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Factorize(a, la.WithContext(ctx)); !errors.Is(err, context.Canceled) || !f.IsEmpty() {
		t.Errorf("canceled: %v", err)
	}
	if err := f.Factorize(a); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*la.ShapeError](f.SolveTo(&mat.Dense{}, mat.NewDense(2, 1, nil))); !ok {
		t.Error("a wrong shape is no error")
	}
	lower := blocked.New[float64](blocked.SymLower, 3, 3, 2)
	lower.CopyFrom(a, blocked.CopyOptions{})
	var x, y mat.VecDense
	b := mat.NewVecDense(3, []float64{1, 2, 3})
	if err := f.SolveVecTo(&x, b); err != nil {
		t.Fatal(err)
	}
	if err := f.Factorize(lower); err != nil {
		t.Fatal(err)
	}
	if err := f.SolveVecTo(&y, b); err != nil || !mat.Equal(&x, &y) {
		t.Errorf("from tiles: %v, %v", y.RawVector().Data, err)
	}
	if c, err := la.Cond(t.Context(), nil, la.Source[float64](a), lapack.MaxColumnSum); err != nil || !(math.Abs(c-f.Cond()) <= 1e-9*c) {
		t.Errorf("condition %v, %v, want %v", c, err, f.Cond())
	}
}

func BenchmarkLDL(b *testing.B) {
	e, err := la.NewEngine(la.Options{})
	must(err)
	defer e.Close()
	for _, n := range []int{100, 250, 500, 1000, 2000, 4000} {
		rng := rand.New(rand.NewPCG(1, 1))
		a := indefinite[float64]("random", n, rng)
		full := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				full.Set(i, j, a.At(i, j))
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := la.NewLDL[float64](e)
			for b.Loop() {
				must(f.Factorize(a))
			}
			rate(b, float64(n)*float64(n)*float64(n)/3)
		})
		b.Run(fmt.Sprintf("%d/LU", n), func(b *testing.B) {
			f := la.NewLU[float64](e)
			for b.Loop() {
				must(f.Factorize(full))
			}
			rate(b, float64(n)*float64(n)*float64(n)*2/3)
		})
	}
}
