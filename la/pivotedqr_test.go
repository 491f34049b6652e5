package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// lowRank returns an m×n matrix whose singular values fall from 1 by a tenth at the given rank, and are noise below.
func lowRank(rng *rand.Rand, m, n, rank int, noise float64) *mat.Dense {
	x, y := mat.NewDense(m, max(rank, 1), nil), mat.NewDense(max(rank, 1), n, nil)
	for i := range m {
		for j := range rank {
			x.Set(i, j, rng.NormFloat64()/math.Sqrt(float64(m)))
		}
	}
	for i := range rank {
		for j := range n {
			y.Set(i, j, rng.NormFloat64()/math.Sqrt(float64(n))*math.Pow(10, -float64(i)/float64(rank)))
		}
	}
	var a mat.Dense
	a.Mul(x, y)
	for i := range m {
		for j := range n {
			a.Set(i, j, a.At(i, j)+noise*rng.NormFloat64())
		}
	}
	return &a
}

// generalOf returns a in T.
func generalOf[T la.Element](a *mat.Dense) la.General[T] {
	m, n := a.Dims()
	g := la.General[T]{Rows: m, Cols: n, Stride: max(n, 1), Data: make([]T, m*n)}
	for i := range m {
		for j := range n {
			g.Data[i*g.Stride+j] = T(a.At(i, j))
		}
	}
	return g
}

// wideOf returns a in float64.
func wideOf[T la.Element](a la.General[T]) *mat.Dense {
	d := mat.NewDense(a.Rows, a.Cols, nil)
	for i := range a.Rows {
		for j := range a.Cols {
			d.Set(i, j, float64(a.At(i, j)))
		}
	}
	return d
}

func testPivotedQR[T la.Element](t *testing.T, eps float64) {
	rng := rand.New(rand.NewPCG(20, 20))
	for engine, e := range sorted.Map(map[string]*la.Engine{"default": nil, "exact": nil, "tiles": engineOf(t, la.Options{Workers: 2, NB: 24}),
		"3 workers": engineOf(t, la.Options{Workers: 3})}) {
		f := la.NewPivotedQRWith[T](e, la.PivotedQROptions{Exact: engine == "exact"})
		for _, dims := range [][3]int{{1, 1, 1}, {1, 3, 1}, {3, 1, 1}, {2, 2, 2}, {5, 4, 2}, {4, 5, 0}, {40, 30, 30}, {40, 30, 11}, {30, 40, 11}, {30, 45, 30}, {50, 120, 50},
			{33, 33, 33}, {200, 60, 60}, {1000, 50, 17}, {220, 210, 90}} {
			m, n, rank := dims[0], dims[1], dims[2]
			what := fmt.Sprintf("%s, %d×%d of rank %d", engine, m, n, rank)
			src := lowRank(rng, m, n, rank, 0)
			g := generalOf[T](src)
			a := wideOf(g)
			if err := f.Factorize(g); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			k := min(m, n)
			// A·P = Q·R
			q, r := la.General[T]{Rows: m, Cols: k, Stride: k, Data: make([]T, m*k)}, la.General[T]{Rows: k, Cols: n, Stride: n, Data: make([]T, k*n)}
			if err := f.QThinTo(q); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			f.RTo(r)
			p := f.Pivots(nil)
			var qr, qq mat.Dense
			qr.Mul(wideOf(q), wideOf(r))
			worst := 0.0
			for i := range m {
				for j := range n {
					worst = max(worst, math.Abs(qr.At(i, j)-a.At(i, p[j])))
				}
			}
			qq.Mul(wideOf(q).T(), wideOf(q))
			loss := 0.0
			for i := range k {
				for j := range k {
					x := qq.At(i, j)
					if i == j {
						x--
					}
					loss = max(loss, math.Abs(x))
				}
			}
			if !(worst <= 30*float64(m+n)*eps && loss <= 30*float64(m+n)*eps) {
				t.Errorf("%s: residual %.3g, orthogonality %.3g", what, worst, loss)
			}
			rcond := float64(m+n) * 4 * eps
			if rank == k {
				rcond = 0 // random square matrices have small singular values, too
			}
			if got := f.Rank(rcond); got != rank {
				t.Errorf("%s: rank %d", what, got)
				continue
			}
			// Least squares of least norm, by the normal equations and the null space.
			b := random[T](rng, m, 2, 1)
			x := la.General[T]{Rows: n, Cols: 2, Stride: 2, Data: make([]T, 2*n)}
			if err := f.SolveTo(x, b, rank); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			var ax, residual, normal mat.Dense
			ax.Mul(a, wideOf(x))
			residual.Sub(&ax, wideOf(generalOf[T](wideOf(b))))
			normal.Mul(a.T(), &residual)
			size := mat.Norm(wideOf(x), math.Inf(1)) + 1
			if d := mat.Norm(&normal, math.Inf(1)); !(d <= 300*float64(m+n)*eps*size*10) {
				t.Errorf("%s: Aᵀ·(A·x − b) is %.3g", what, d)
			}
			if rank < n {
				null := la.General[T]{Rows: n, Cols: n - rank, Stride: n - rank, Data: make([]T, n*(n-rank))}
				if err := f.NullSpaceTo(null, rank); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				var az, zz, zx mat.Dense
				z := wideOf(null)
				az.Mul(a, z)
				zz.Mul(z.T(), z)
				zx.Mul(z.T(), wideOf(x))
				for i := range n - rank {
					zz.Set(i, i, zz.At(i, i)-1)
				}
				limit := 100 * float64(m+n) * eps
				if x, y, z := mat.Norm(&az, 2), mat.Norm(&zz, 2), mat.Norm(&zx, 2); !(x <= 10*limit && y <= limit && z <= 10*limit*size) {
					t.Errorf("%s: A·Z %.3g, orthogonality %.3g, Zᵀ·x %.3g", what, x, y, z)
				}
			}
			// LeastSquares finds the same.
			got, y := -1, la.General[T]{Rows: n, Cols: 2, Stride: 2, Data: make([]T, 2*n)}
			if err := la.LeastSquares[T](t.Context(), e, y, g, b, la.LeastNorm{RCond: max(rcond, 1e-30), Rank: &got}); err != nil || got != rank {
				t.Errorf("%s: LeastSquares: rank %d, %v", what, got, err)
			}
			for i := range x.Data {
				if d := math.Abs(float64(x.Data[i] - y.Data[i])); !(d <= 1e3*float64(m+n)*eps*size*10) {
					t.Errorf("%s: LeastSquares differs by %.3g", what, d)
					break
				}
			}
		}
	}
}

func TestPivotedQR(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testPivotedQR[float64](t, 0x1p-52) })
	t.Run("float32", func(t *testing.T) { testPivotedQR[float32](t, 0x1p-23) })
}

// TestPivotedQRHard: ranks of matrices that were made to mislead.
func TestPivotedQRHard(t *testing.T) {
	upper := func(n int, x func(i, j int) float64) *mat.Dense {
		a := mat.NewDense(n, n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				a.Set(i, j, x(i, j))
			}
		}
		return a
	}
	kahan := func(n int) *mat.Dense {
		s, c := math.Sincos(1.2)
		return upper(n, func(i, j int) float64 {
			if i == j {
				return math.Pow(s, float64(i)) * (1 + 25*0x1p-52*float64(n-i))
			}
			return -c * math.Pow(s, float64(i))
		})
	}
	gks := func(n int) *mat.Dense {
		return upper(n, func(i, j int) float64 {
			if i == j {
				return 1 / math.Sqrt(float64(j+1))
			}
			return -1 / math.Sqrt(float64(j+1))
		})
	}
	rng := rand.New(rand.NewPCG(21, 21))
	// Stewart's: singular values fall geometrically to a gap, and noise of its size is added.
	stewart := func(n, rank int) *mat.Dense {
		a := mat.NewDense(n, n, nil)
		for i := range rank {
			a.Set(i, i, math.Pow(10, -3*float64(i)/float64(rank)))
		}
		for range 2 {
			var q mat.QR
			x, y := mat.NewDense(n, n, nil), new(mat.Dense)
			for i := range n {
				for j := range n {
					x.Set(i, j, rng.NormFloat64())
				}
			}
			q.Factorize(x)
			q.QTo(y)
			x.Mul(y, a)
			a.CloneFrom(x.T())
		}
		for i := range n {
			for j := range n {
				a.Set(i, j, a.At(i, j)+1e-3*0.1*1e-9*rng.NormFloat64())
			}
		}
		return a
	}
	// Chan's: the null vector has elements of equal size, so that no column stands out.
	chan1 := func(n int) *mat.Dense {
		a := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, -1/float64(n))
			}
			a.Set(i, i, 1-1/float64(n))
		}
		return a
	}
	for name, c := range map[string]struct {
		a    *mat.Dense
		rank int
		tol  float64
	}{
		"Kahan 60": {kahan(60), 59, 1e-6}, "Kahan 100": {kahan(100), 99, 1e-10}, "gks 60": {gks(60), 59, 1e-10},
		"gks 100": {gks(100), 99, 1e-10}, "gks 250": {gks(250), 249, 1e-10}, "Stewart 50": {stewart(50, 25), 25, 1e-7},
		"Stewart 200": {stewart(200, 120), 120, 1e-7}, "Chan 80": {chan1(80), 79, 1e-10}, "Chan 300": {chan1(300), 299, 1e-10},
	} {
		f := la.NewPivotedQR[float64](nil)
		if err := f.Factorize(c.a); err != nil {
			t.Fatal(err)
		}
		if got := f.Rank(c.tol); got != c.rank {
			t.Errorf("%s: rank %d, want %d", name, got, c.rank)
		}
		var svd mat.SVD
		svd.Factorize(c.a, mat.SVDNone)
		values := svd.Values(nil)
		if x := values[c.rank-1]; !(x > c.tol*values[0]) || c.rank < len(values) && !(values[c.rank] < c.tol*values[0]) {
			t.Errorf("%s: singular values %v, %v", name, x, values[c.rank])
		}
		// The diagonal follows the singular values.
		n, _ := c.a.Dims()
		r := mat.NewDense(n, n, nil)
		f.RTo(r)
		for i := range c.rank {
			if d := math.Abs(r.At(i, i)); !(d > values[i]/50 && d < values[i]*50) {
				t.Errorf("%s: diagonal %d is %v, the singular value %v", name, i, d, values[i])
				break
			}
		}
	}
}

// TestPivotedQRExact: pivots and R are those of gonum's Dgeqp3.
func TestPivotedQRExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	for _, dims := range [][2]int{{5, 5}, {60, 60}, {50, 90}, {90, 70}} {
		m, n := dims[0], dims[1]
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				a.Set(i, j, rng.NormFloat64()*(1+float64(j)))
			}
		}
		f := la.NewPivotedQRWith[float64](nil, la.PivotedQROptions{Exact: true})
		if err := f.Factorize(a); err != nil {
			t.Fatal(err)
		}
		c := mat.DenseCopyOf(a)
		jpvt, tau, work := make([]int, n), make([]float64, min(m, n)), make([]float64, 40*(n+1))
		for i := range jpvt {
			jpvt[i] = -1
		}
		gonum.Implementation{}.Dgeqp3(m, n, c.RawMatrix().Data, n, jpvt, tau, work, len(work))
		r := mat.NewDense(min(m, n), n, nil)
		f.RTo(r)
		factors, own := mat.NewDense(m, n, nil), make([]float64, min(m, n))
		f.FactorTo(factors, own)
		for j := range min(m, n) {
			if d := math.Abs(own[j] - tau[j]); !(d < 1e-9) {
				t.Errorf("%d×%d: tau %d is %v, gonum's %v", m, n, j, own[j], tau[j])
			}
			for i := range m {
				if d := math.Abs(factors.At(i, j) - c.At(i, j)); !(d < 1e-8*float64(n)) {
					t.Fatalf("%d×%d: factor (%d, %d) is %v, gonum's %v", m, n, i, j, factors.At(i, j), c.At(i, j))
				}
			}
		}
		for i, p := range f.Pivots(nil) {
			if p != jpvt[i] {
				t.Fatalf("%d×%d: pivot %d is %d, gonum's %d", m, n, i, p, jpvt[i])
			}
		}
		for i := range min(m, n) {
			for j := i; j < n; j++ {
				if d := math.Abs(math.Abs(r.At(i, j)) - math.Abs(c.At(i, j))); !(d < 1e-9) {
					t.Fatalf("%d×%d: R has %v at (%d, %d), gonum's %v", m, n, r.At(i, j), i, j, c.At(i, j))
				}
			}
		}
	}
}

// TestPivotedQRWorkers: the bits do not depend on the number of workers.
func TestPivotedQRWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 23))
	for _, dims := range [][2]int{{400, 380}, {900, 120}} {
		m, n := dims[0], dims[1]
		a, b := generalOf[float64](lowRank(rng, m, n, n/2, 0)), random[float64](rng, m, 1, 0)
		var want []float64
		for workers := 1; workers <= 3; workers++ {
			f := la.NewPivotedQR[float64](engineOf(t, la.Options{Workers: workers, Deterministic: true}))
			for range 2 {
				if err := f.Factorize(a); err != nil {
					t.Fatal(err)
				}
				r := la.General[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
				f.RTo(r)
				x := make(la.Vector[float64], n)
				if err := f.SolveTo(x, b, n/2); err != nil {
					t.Fatal(err)
				}
				if got := append(r.Data, x...); want == nil {
					want = got
				} else if !sameSlices(got, want) {
					t.Errorf("%d×%d, %d workers: other bits", m, n, workers)
				}
			}
		}
	}
}

// TestPivotedQRErrors: what is not finite, and misuse; near the ends of the range.
func TestPivotedQRErrors(t *testing.T) {
	f := la.NewPivotedQR[float64](nil)
	catch := func(want error, call func()) {
		t.Helper()
		defer func() {
			if p := recover(); p != want {
				t.Errorf("panic %v, want %v", p, want)
			}
		}()
		call()
	}
	catch(la.ErrNotFactorized, func() { f.Rank(0) })
	catch(la.ErrNotFactorized, func() { f.SolveTo(&mat.Dense{}, &mat.Dense{}, 0) })
	a := mat.NewDense(3, 2, []float64{1, 2, 3, math.NaN(), 5, 6})
	if bad, ok := errors.AsType[*la.NonFiniteError](f.Factorize(a)); !ok || bad.Row != 1 || bad.Col != 1 || !f.IsEmpty() {
		t.Errorf("NaN: %v", bad)
	}
	high := mat.NewDense(400, 100, nil)
	high.Set(7, 3, math.Inf(-1))
	if bad, ok := errors.AsType[*la.NonFiniteError](f.Factorize(high)); !ok || bad.Row != 7 || bad.Col != 3 {
		t.Errorf("infinity: %v", bad)
	}
	a.Set(1, 1, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Factorize(a, la.WithContext(ctx)); !errors.Is(err, context.Canceled) || !f.IsEmpty() {
		t.Errorf("canceled: %v", err)
	}
	if err := f.Factorize(mat.NewDense(3, 2, nil)); err != nil || f.Rank(0) != 0 {
		t.Errorf("zeros: %v", err)
	}
	catch(la.ErrRank, func() { f.SolveTo(&mat.Dense{}, mat.NewDense(3, 1, nil), 1) })
	catch(la.ErrRcond, func() { f.Rank(math.NaN()) })
	var x mat.VecDense
	if err := f.SolveTo(&x, mat.NewVecDense(3, []float64{1, 2, 3}), 0); err != nil || mat.Norm(&x, 2) != 0 {
		t.Errorf("solution of rank 0: %v, %v", x.RawVector().Data, err)
	}
	if err := f.Factorize(a); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*la.ShapeError](f.SolveTo(&mat.Dense{}, mat.NewDense(2, 1, nil), 2)); !ok {
		t.Error("a wrong shape is no error")
	}
	if err := f.NullSpaceTo(&mat.Dense{}, 2); err != nil {
		t.Error(err)
	}
	var want mat.VecDense
	b := mat.NewVecDense(3, []float64{1, 2, 4})
	if err := f.SolveTo(&want, b, 2); err != nil {
		t.Fatal(err)
	}
	for _, exp := range []float64{0x1p-1010, 0x1p1000, 0x1p-600, 0x1p600} {
		var scaled, y mat.Dense
		scaled.Scale(exp, a)
		if err := f.Factorize(&scaled); err != nil {
			t.Fatal(err)
		}
		y.Scale(exp, b)
		var x mat.VecDense
		if err := f.SolveTo(&x, &y, f.Rank(1e-10)); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if d := math.Abs(x.AtVec(i) - want.AtVec(i)); !(d < 1e-13) {
				t.Errorf("scaled by %v: %v, want %v", exp, x.AtVec(i), want.AtVec(i))
			}
		}
	}
}

// TestPivotedQRTallRange: a tall matrix is finite, and its R is not.
func TestPivotedQRTallRange(t *testing.T) {
	const m, n = 400, 100
	rng := rand.New(rand.NewPCG(24, 24))
	a, want := mat.NewDense(m, n, nil), mat.NewDense(n, 1, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, math.Ldexp(1+rng.Float64(), 1023))
		}
		a.Set(i, 1, a.At(i, 0))
	}
	for _, f := range []*la.PivotedQR[float64]{la.NewPivotedQR[float64](nil), la.NewPivotedQRWith[float64](nil, la.PivotedQROptions{Exact: true})} {
		if err := f.Factorize(a); err != nil {
			t.Fatal(err)
		}
		if r := f.Rank(1e-12); r != n-1 {
			t.Errorf("rank %d", r)
		}
		for j := range n {
			want.Set(j, 0, rng.NormFloat64())
		}
		want.Set(1, 0, want.At(0, 0)) // of least norm
		var b, x mat.Dense
		var half mat.Dense
		half.Scale(0x1p-30, a)
		b.Mul(&half, want)
		b.Scale(0x1p-10, &b)
		if err := f.SolveTo(&x, &b, n-1); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			if d := math.Abs(math.Ldexp(x.At(j, 0), 40) - want.At(j, 0)); !(d < 1e-10) {
				t.Fatalf("x[%d] is off by %v", j, d)
			}
		}
	}
}

func BenchmarkPivotedQR(b *testing.B) {
	e, err := la.NewEngine(la.Options{})
	must(err)
	defer e.Close()
	for _, dims := range [][2]int{{100, 100}, {500, 500}, {1000, 1000}, {2000, 2000}, {20000, 500}} {
		m, n := dims[0], dims[1]
		a := random[float64](rand.New(rand.NewPCG(1, 1)), m, n, 0)
		for _, exact := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dx%d/exact=%v", m, n, exact), func(b *testing.B) {
				f := la.NewPivotedQRWith[float64](e, la.PivotedQROptions{Exact: exact})
				for b.Loop() {
					must(f.Factorize(a))
				}
				rate(b, 2*float64(n)*float64(n)*(float64(m)-float64(n)/3))
			})
		}
	}
}
