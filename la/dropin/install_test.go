package dropin_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Install and Restore keep their word, in any order.
func TestInstallRestore(t *testing.T) {
	defer goleak.VerifyNone(t)
	original64, original32 := blas64.Implementation(), blas32.Implementation()
	if err := dropin.Restore(); err != dropin.ErrNotInstalled {
		t.Fatalf("Restore of nothing: %v", err)
	}
	for range 2 {
		if err := dropin.Install(); err != nil {
			t.Fatal(err)
		}
		if err := dropin.Install(); err != dropin.ErrInstalled {
			t.Fatalf("second Install: %v", err)
		}
		if _, ok := blas64.Implementation().(dropin.BLAS); !ok {
			t.Fatalf("blas64 has a %T", blas64.Implementation())
		}
		if _, ok := blas32.Implementation().(dropin.BLAS); !ok {
			t.Fatalf("blas32 has a %T", blas32.Implementation())
		}
		kept := blas64.Implementation()
		if err := dropin.Restore(); err != nil {
			t.Fatal(err)
		}
		if blas64.Implementation() != original64 || blas32.Implementation() != original32 {
			t.Fatalf("restored %T and %T", blas64.Implementation(), blas32.Implementation())
		}
		if err := dropin.Restore(); err != dropin.ErrNotInstalled {
			t.Fatalf("second Restore: %v", err)
		}
		// One that was kept computes without the engine.
		n := 500
		a, c := random(n*n), make([]float64, n*n)
		kept.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, a, n, 0, c, n)
		want := make([]float64, n*n)
		blasgonum.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, a, n, 0, want, n)
		near(t, "after Restore", c, want, 1e-11)
	}
}

// An engine of the caller's is used, left open, and missed if it was closed.
func TestInstallWith(t *testing.T) {
	defer goleak.VerifyNone(t)
	e, err := la.NewEngine(la.Options{Workers: 2, Float: true, NB: 50})
	if err != nil {
		t.Fatal(err)
	}
	l := lapackgonum.Implementation{}
	if err := dropin.InstallWith(dropin.Options{Engine: e, LAPACK: l}); err != nil {
		t.Fatal(err)
	}
	a := mat.NewDense(120, 120, random(120*120))
	var c mat.Dense
	c.Mul(a, a)
	if err := dropin.Restore(); err != nil {
		t.Fatal(err)
	}
	if err := la.Mul[float64](mat.NewDense(120, 120, nil), a, a); err != nil {
		t.Fatal(err)
	}
	if err := dropin.InstallWith(dropin.Options{Engine: e}); err != nil {
		t.Fatalf("again, with the same engine: %v", err)
	}
	defer dropin.Restore()
	e.Close()
	defer func() {
		failed, ok := recover().(*dropin.FailedError)
		if !ok || failed.Routine != "Dgemm" || !errors.Is(failed, exec.ErrClosed) {
			t.Errorf("with a closed engine: %v", failed)
		}
	}()
	c.Mul(a, a)
}

// What programs do with mat comes out as before, on matrices large enough for
// tasks.
func TestMat(t *testing.T) {
	defer goleak.VerifyNone(t)
	const n, extra = 330, 47
	rnd := rand.New(rand.NewPCG(3, 4))
	a := mat.NewDense(n, n, random(n*n))
	tall := mat.NewDense(n+extra, n, random((n+extra)*n))
	wide := mat.DenseCopyOf(tall.T())
	b := mat.NewDense(n, 3, random(3*n))
	var spd mat.SymDense
	spd.SymOuterK(1, tall.T())
	lower := mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		for j := range i {
			lower.SetTri(i, j, rnd.NormFloat64()/n)
		}
		lower.SetTri(i, i, 1+rnd.Float64())
	}
	programs := map[string]func() []float64{
		"Mul":    func() []float64 { var c mat.Dense; c.Mul(tall, wide); return c.RawMatrix().Data },
		"MulTT":  func() []float64 { var c mat.Dense; c.Mul(wide.T(), tall.T()); return c.RawMatrix().Data },
		"MulTri": func() []float64 { var c mat.Dense; c.Mul(lower, a); return c.RawMatrix().Data },
		"MulSym": func() []float64 { var c mat.Dense; c.Mul(&spd, a); return c.RawMatrix().Data },
		"MulVec": func() []float64 { var c mat.VecDense; c.MulVec(tall, b.ColView(0)); return c.RawVector().Data },
		"Solve":  func() []float64 { var x mat.Dense; must(x.Solve(a, b)); return x.RawMatrix().Data },
		"SolveVec": func() []float64 {
			var x mat.VecDense
			must(x.SolveVec(a, b.ColView(1)))
			return x.RawVector().Data
		},
		"LeastSquares": func() []float64 {
			var x mat.Dense
			must(x.Solve(tall, tall.Slice(0, n+extra, 0, 2)))
			return x.RawMatrix().Data
		},
		"LeastNorm": func() []float64 { var x mat.Dense; must(x.Solve(wide, b)); return x.RawMatrix().Data },
		"Inverse":   func() []float64 { var x mat.Dense; must(x.Inverse(a)); return x.RawMatrix().Data },
		"InverseTri": func() []float64 {
			var x mat.TriDense
			must(x.InverseTri(lower))
			return mat.DenseCopyOf(&x).RawMatrix().Data
		},
		"Det": func() []float64 { l, s := mat.LogDet(a); return []float64{l, s} },
		"Cholesky": func() []float64 {
			var c mat.Cholesky
			if !c.Factorize(&spd) {
				t.Error("not positive definite")
			}
			var x mat.Dense
			must(c.SolveTo(&x, b))
			var inv mat.SymDense
			must(c.InverseTo(&inv))
			return append(x.RawMatrix().Data, mat.DenseCopyOf(&inv).RawMatrix().Data...)
		},
		"LU": func() []float64 {
			var f mat.LU
			f.Factorize(a)
			var x, y mat.Dense
			must(f.SolveTo(&x, false, b))
			must(f.SolveTo(&y, true, b))
			out := append(x.RawMatrix().Data, y.RawMatrix().Data...)
			for _, p := range f.RowPivots(nil) {
				out = append(out, float64(p))
			}
			return out
		},
		"QR": func() []float64 {
			var f mat.QR
			f.Factorize(tall)
			var q, r, x mat.Dense
			f.QTo(&q)
			f.RTo(&r)
			must(f.SolveTo(&x, true, b))
			return append(append(q.RawMatrix().Data, r.RawMatrix().Data...), x.RawMatrix().Data...)
		},
		"LQ": func() []float64 {
			var f mat.LQ
			f.Factorize(wide)
			var q, l mat.Dense
			f.QTo(&q)
			f.LTo(&l)
			return append(q.RawMatrix().Data, l.RawMatrix().Data...)
		},
		"EigenSym": func() []float64 {
			var f mat.EigenSym
			if !f.Factorize(&spd, true) {
				t.Error("no eigenvalues")
			}
			return f.Values(nil)
		},
		"SVD": func() []float64 {
			var f mat.SVD
			if !f.Factorize(tall, mat.SVDThin) {
				t.Error("no singular values")
			}
			return f.Values(nil)
		},
		"Cond": func() []float64 {
			var f mat.LU
			f.Factorize(a)
			var g mat.QR
			g.Factorize(a)
			var c mat.Cholesky
			c.Factorize(&spd)
			return []float64{math.Log(f.Cond()), math.Log(g.Cond()), math.Log(c.Cond())}
		},
	}
	want := make(map[string][]float64)
	for name, program := range programs {
		want[name] = program()
	}
	if err := dropin.Install(); err != nil {
		t.Fatal(err)
	}
	defer dropin.Restore()
	for name, program := range programs {
		t.Run(name, func(t *testing.T) { near(t, name, program(), want[name], 1e-8) })
	}
}

// Many callers at once share the workers.
func TestConcurrentCallers(t *testing.T) {
	defer goleak.VerifyNone(t)
	if err := dropin.Install(); err != nil {
		t.Fatal(err)
	}
	defer dropin.Restore()
	var all sync.WaitGroup
	for g := range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for _, n := range []int{5, 40, 150, 300 + g} {
				a := mat.NewDense(n, n, random(n*n))
				for i := range n {
					a.Set(i, i, float64(2*n))
				}
				var inv, c mat.Dense
				must(inv.Inverse(a))
				c.Mul(a, &inv)
				for i := range n {
					for j := range n {
						want := 0.0
						if i == j {
							want = 1
						}
						if math.Abs(c.At(i, j)-want) > 1e-12*float64(n) {
							t.Errorf("n=%d: A·A⁻¹ has %g at (%d, %d)", n, c.At(i, j), i, j)
							return
						}
					}
				}
			}
		})
	}
	all.Wait()
}

// NaN and infinities come out where they should, and stay out where beta is
// zero or memory is not the matrix's.
func TestNonFinite(t *testing.T) {
	b := dropin.NewBLAS(dropin.Options{Small: -1})
	l := dropin.NewLAPACK(dropin.Options{Small: -1})
	nan := math.NaN()
	for _, n := range []int{9, 70, 400} {
		ld := n + 3
		a := random(n * ld)
		c := make([]float64, n*ld)
		for i := range c {
			c[i] = nan
		}
		b.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, ld, a, ld, 0, c, ld)
		for i, v := range c {
			if inside := i%ld < n; math.IsNaN(v) == inside {
				t.Fatalf("n=%d: C(%d, %d) is %v", n, i/ld, i%ld, v)
			}
		}
		a[2*ld+1] = nan
		b.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, ld, a, ld, 0, c, ld)
		if !math.IsNaN(c[2*ld]) || !math.IsNaN(c[1]) && n > 1 && !math.IsNaN(c[ld+1]) && !math.IsNaN(c[2*ld+1]) {
			t.Errorf("n=%d: NaN was lost in a product", n)
		}
		if l.Dpotrf(blas.Lower, n, a, ld) {
			t.Errorf("n=%d: a matrix with a NaN is positive definite", n)
		}
		if norm := l.Dlange('O', n, n, a, ld, make([]float64, n)); !math.IsNaN(norm) {
			t.Errorf("n=%d: norm %v of a matrix with a NaN", n, norm)
		}
	}
}

func must(err error) {
	var bad mat.Condition
	if err != nil && !errors.As(err, &bad) {
		panic(err)
	}
}

func random(n int) []float64 {
	rnd := rand.New(rand.NewPCG(uint64(n), 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = rnd.NormFloat64()
	}
	return x
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	size := 1.0
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tol*size) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, v, want[i])
		}
	}
}

// The zero values compute too.
func TestZeroValue(t *testing.T) {
	const n = 300
	a := random(n * n)
	got, want := make([]float64, n*n), make([]float64, n*n)
	dropin.BLAS{}.Dgemm(blas.Trans, blas.NoTrans, n, n, n, 1, a, n, a, n, 0, got, n)
	blasgonum.Implementation{}.Dgemm(blas.Trans, blas.NoTrans, n, n, n, 1, a, n, a, n, 0, want, n)
	near(t, "Dgemm", got, want, 1e-12)
	for i := range n {
		got[i*n+i] += 1
		want[i*n+i] += 1
	}
	if !(dropin.LAPACK{}).Dpotrf(blas.Upper, n, got, n) || !(lapackgonum.Implementation{}).Dpotrf(blas.Upper, n, want, n) {
		t.Fatal("AᵀA + I is not positive definite")
	}
	near(t, "Dpotrf", got, want, 1e-12)
}

// The float32 routines agree with gonum's in float64.
func TestFloat32(t *testing.T) {
	for _, nb := range []int{7, 0} {
		opt := la.Options{Workers: 2, Float: true, Static: true, NB: nb}
		if nb > 0 {
			opt.Direct = -1
		}
		e, err := la.NewEngine(opt)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		b, ref := dropin.NewBLAS(dropin.Options{Engine: e, Small: -1}), blasgonum.Implementation{}
		const m, n, ld = 41, 30, 45
		rnd := rand.New(rand.NewPCG(7, 8))
		a, x, c := make([]float32, ld*ld), make([]float32, ld*ld), make([]float32, ld*ld)
		for i := range a {
			a[i], x[i], c[i] = rnd.Float32()-0.5, rnd.Float32()-0.5, rnd.Float32()-0.5
		}
		for i := range ld {
			a[i*ld+i] = 4 + rnd.Float32()
		}
		compare := func(name string, f func(b blas.Float32, c []float32)) {
			got, want := append([]float32(nil), c...), append([]float32(nil), c...)
			f(b, got)
			f(ref, want)
			for i := range got {
				if d := math.Abs(float64(got[i] - want[i])); !(d < 1e-4) {
					t.Fatalf("nb=%d: %s: element %d is %v, want %v", nb, name, i, got[i], want[i])
				}
			}
		}
		both := []blas.Transpose{blas.NoTrans, blas.Trans}
		for _, tA := range both {
			for _, tB := range both {
				compare("Sgemm", func(b blas.Float32, c []float32) {
					b.Sgemm(tA, tB, m, n, 37, 1.5, a, ld, x, ld, 0.5, c, ld)
				})
			}
			compare("Sgemv", func(b blas.Float32, c []float32) { b.Sgemv(tA, m, n, 2, a, ld, x, 1, -1, c, 2) })
			for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
				compare("Ssyrk", func(b blas.Float32, c []float32) { b.Ssyrk(uplo, tA, n, 37, 2, x, ld, 0.5, c, ld) })
				compare("Ssyr2k", func(b blas.Float32, c []float32) { b.Ssyr2k(uplo, tA, n, 37, 2, x, ld, a, ld, 0.5, c, ld) })
				compare("Strsv", func(b blas.Float32, c []float32) { b.Strsv(uplo, tA, blas.NonUnit, m, a, ld, c, 1) })
				for _, side := range []blas.Side{blas.Left, blas.Right} {
					compare("Ssymm", func(b blas.Float32, c []float32) { b.Ssymm(side, uplo, m, n, 2, a, ld, x, ld, 0.5, c, ld) })
					compare("Strsm", func(b blas.Float32, c []float32) {
						b.Strsm(side, uplo, tA, blas.NonUnit, m, n, 2, a, ld, c, ld)
					})
					compare("Strmm", func(b blas.Float32, c []float32) {
						b.Strmm(side, uplo, tA, blas.NonUnit, m, n, 2, a, ld, c, ld)
					})
				}
			}
		}
	}
}
