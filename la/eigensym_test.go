package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// randomSymmetric returns a random symmetric matrix.
func randomSymmetric(n int, rng *rand.Rand) *mat.SymDense {
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, rng.NormFloat64())
		}
	}
	return a
}

// eigenErrors returns the residual and the loss of orthogonality in LAPACK's units.
func eigenErrors(a mat.Symmetric, values []float64, v *mat.Dense, eps float64) (residual, loss float64) {
	n := a.SymmetricDim()
	var av, vl, vv mat.Dense
	av.Mul(a, v)
	vl.Apply(func(_, j int, x float64) float64 { return x * values[j] }, v)
	av.Sub(&av, &vl)
	vv.Mul(v.T(), v)
	for i := range values {
		vv.Set(i, i, vv.At(i, i)-1)
	}
	norm := max(mat.Norm(a, 1), math.SmallestNonzeroFloat64)
	return mat.Norm(&av, 1) / norm / float64(n) / eps, mat.Norm(&vv, 1) / float64(n) / eps
}

func TestEigenSym(t *testing.T) {
	e := engineOf(t, la.Options{Workers: 2})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, on := range []*la.Engine{nil, e} {
		c := la.NewEigenSym[float64](on)
		for _, n := range []int{1, 2, 3, 50, 200, 257, 400, 600, 257} {
			if on == nil && n > 400 {
				continue
			}
			a := randomSymmetric(n, rng)
			if err := c.Factorize(a, true); err != nil {
				t.Fatal(err)
			}
			var v mat.Dense
			c.VectorsTo(&v)
			values := c.Values(nil)
			if r, o := eigenErrors(a, values, &v, 0x1p-52); !(r < 30 && o < 30) {
				t.Errorf("order %d: residual %.3g, orthogonality %.3g", n, r, o)
			}
			var gonum mat.EigenSym
			if n <= 257 && gonum.Factorize(a, false) {
				for i, x := range gonum.Values(nil) {
					if math.Abs(x-values[i]) > 1e-12*float64(n) {
						t.Errorf("order %d: value %d is %v, gonum's %v", n, i, values[i], x)
					}
				}
			}
			if err := c.Factorize(a, false); err != nil {
				t.Fatal(err)
			}
			for i, x := range c.Values(nil) {
				if math.Abs(x-values[i]) > 1e-12*float64(n) {
					t.Errorf("order %d: value %d alone is %v, with vectors %v", n, i, x, values[i])
				}
			}
			if got := panics(func() { c.VectorsTo(&v) }); got != la.ErrNoVectors {
				t.Errorf("vectors of values alone: %v", got)
			}
		}
	}
}

// TestEigenSymSources: the same bits from all kinds of matrices, of which only the stored half is read,
// to all kinds of destinations, by any number of workers.
func TestEigenSymSources(t *testing.T) {
	const n = 300
	a := randomSymmetric(n, rand.New(rand.NewPCG(3, 4)))
	half := func(uplo blas.Uplo) la.Symmetric[float64] {
		s := la.Symmetric[float64]{Uplo: uplo, N: n, Stride: n + 2, Data: make([]float64, n*(n+2))}
		for i := range n {
			for j := range n + 2 {
				s.Data[i*s.Stride+j] = math.NaN()
				if j < n && (uplo == blas.Upper) == (j >= i) || j == i {
					s.Data[i*s.Stride+j] = a.At(i, j)
				}
			}
		}
		return s
	}
	full, _ := blocked.From[float64](a, blocked.Full, 64, blocked.CopyOptions{})
	upper, _ := blocked.From[float64](a, blocked.SymUpper, 64, blocked.CopyOptions{})
	lower, _ := blocked.From[float64](a, blocked.SymLower, 64, blocked.CopyOptions{})
	want := la.NewEigenSym[float64](engineOf(t, la.Options{Deterministic: true}))
	if err := want.Factorize(a, true); err != nil {
		t.Fatal(err)
	}
	var v mat.Dense
	want.VectorsTo(&v)
	for i, s := range []la.SymmetricSource[float64]{half(blas.Upper), half(blas.Lower), full, upper, lower} {
		for _, workers := range []int{1, 2, 3} {
			c := la.NewEigenSym[float64](engineOf(t, la.Options{Workers: workers, Deterministic: true}))
			if err := c.Factorize(s, true); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.Values(nil), want.Values(nil)) {
				t.Errorf("source %d, %d workers: other values", i, workers)
			}
			to := blocked.New[float64](blocked.Full, n, n, 70)
			c.VectorsTo(to)
			general := la.General[float64]{Rows: n, Cols: n, Stride: n + 1, Data: make([]float64, n*(n+1))}
			c.VectorsTo(general)
			for i := range n {
				for j := range n {
					if v.At(i, j) != to.At(i, j) || v.At(i, j) != general.At(i, j) {
						t.Fatalf("source %d, %d workers: another vector %d", i, workers, j)
					}
				}
			}
		}
	}
}

func TestEigenSymErrors(t *testing.T) {
	var c la.EigenSym[float64]
	for _, f := range []func(){func() { c.Values(nil) }, func() { c.VectorsTo(mat.NewDense(1, 1, nil)) }, func() { c.SymmetricDim() }} {
		if got := panics(f); got != la.ErrNotFactorized {
			t.Errorf("without a decomposition: %v", got)
		}
	}
	a := randomSymmetric(40, rand.New(rand.NewPCG(5, 6)))
	if err := c.Factorize(a, true); err != nil {
		t.Fatal(err)
	}
	if got := panics(func() { c.VectorsTo(mat.NewDense(40, 39, nil)) }); got != mat.ErrShape {
		t.Errorf("another shape: %v", got)
	}
	if got := panics(func() { c.Values(make([]float64, 39)) }); got != mat.ErrSliceLengthMismatch {
		t.Errorf("another length: %v", got)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		b := mat.NewSymDense(40, nil)
		b.CopySym(a)
		b.SetSym(7, 30, bad)
		err := c.Factorize(b, true)
		if nf, ok := errors.AsType[*la.NonFiniteError](err); !ok || nf.Row != 7 || nf.Col != 30 {
			t.Errorf("%v: %v", bad, err)
		}
		if !c.IsEmpty() {
			t.Error("a decomposition after an error")
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	cancel(mine)
	if err := c.Factorize(a, true, la.WithContext(ctx)); !errors.Is(err, mine) || !c.IsEmpty() {
		t.Errorf("cancelled: %v", err)
	}
	// One that ends while the matrix is read, or later: the result is dropped.
	ctx, cancel = context.WithCancelCause(context.Background())
	var late la.EigenSym[float64]
	if err := late.Factorize(&cancelling{cancel: func() { cancel(mine) }}, true, la.WithContext(ctx)); !errors.Is(err, mine) || !late.IsEmpty() {
		t.Errorf("cancelled late: %v, empty %t", err, late.IsEmpty())
	}
	var none la.EigenSym[float64]
	if err := none.Factorize(&mat.SymDense{}, true); err != nil || len(none.Values(nil)) != 0 {
		t.Errorf("order 0: %v", err)
	}
	e := engineOf(t, la.Options{Workers: 1})
	closed := la.NewEigenSym[float64](e)
	e.Close()
	if err := closed.Factorize(a, true); err == nil {
		t.Error("no error of a closed engine")
	}
}

// cancelling is a matrix of order 0 that ends a context when it is read.
type cancelling struct {
	mat.SymDense
	cancel func()
}

func (c *cancelling) Dims() (rows, cols int) {
	c.cancel()
	return 0, 0
}

// TestEigenSymFloat32 and extreme sizes: what is out of the range of squares is scaled.
func TestEigenSymFloat32(t *testing.T) {
	const n = 280
	rng := rand.New(rand.NewPCG(7, 8))
	for _, size := range []float64{1, 1e-36, 1e30, 1e-42} {
		s := la.Symmetric[float32]{Uplo: blas.Upper, N: n, Stride: n, Data: make([]float32, n*n)}
		for i := range s.Data {
			s.Data[i] = float32(size * rng.NormFloat64())
		}
		var c la.EigenSym[float32]
		if err := c.Factorize(s, true); err != nil {
			t.Fatal(err)
		}
		g := la.General[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
		c.VectorsTo(g)
		a, v, values := mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), make([]float64, n)
		for i, x := range c.Values(nil) {
			values[i] = float64(x) / size
			for j := range n {
				v.Set(i, j, float64(g.At(i, j)))
				if j >= i {
					a.SetSym(i, j, float64(s.Data[i*n+j])/size)
				}
			}
		}
		eps := 0x1p-23
		if size < 1e-40 {
			eps = 1e-3 // values are denormal
		}
		if r, o := eigenErrors(a, values, v, eps); !(r < 30 && o < 30) {
			t.Errorf("size %g: residual %.3g, orthogonality %.3g", size, r, o)
		}
	}
}

// TestEigenSymBlocks: a block of tiny elements beside others, for which gonum's values alone raise an error.
func TestEigenSymBlocks(t *testing.T) {
	a := mat.NewSymDense(4, []float64{
		1, 0, 0, 0,
		0, 2e-200, 1e-200, 0,
		0, 1e-200, 2e-200, 0,
		0, 0, 0, 3e100,
	})
	for _, vectors := range []bool{false, true} {
		var c la.EigenSym[float64]
		if err := c.Factorize(a, vectors); err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{1e-200, 3e-200, 1, 3e100} {
			if got := c.Values(nil)[i]; !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("vectors %t: value %d is %v, want %v", vectors, i, got, want)
			}
		}
	}
}

// TestEigenSymRefused: a matrix that is refused leaves nothing behind that a smaller or larger one has to do with.
func TestEigenSymRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var c la.EigenSym[float64]
	for _, n := range []int{3, 5, 8, 4} {
		bad := randomSymmetric(n, rng)
		bad.SetSym(0, n-1, math.NaN())
		err := c.Factorize(bad, true, la.TwoStages)
		if _, ok := errors.AsType[*la.NonFiniteError](err); !ok {
			t.Fatal(err)
		}
		a := randomSymmetric(n, rng)
		if err := c.Factorize(a, true); err != nil {
			t.Fatal(err)
		}
		var v mat.Dense
		c.VectorsTo(&v)
		if r, o := eigenErrors(a, c.Values(nil), &v, 0x1p-52); r > 30 || o > 30 {
			t.Errorf("order %d: residual %.3g, orthogonality %.3g", n, r, o)
		}
	}
}

// TestReductions: both ways of reduction find the same eigenvalues, vectors with small residuals, and the same bits by any
// number of workers.
func TestReductions(t *testing.T) {
	for _, n := range []int{60, 150, 300} {
		a := randomSymmetric(n, rand.New(rand.NewPCG(5, uint64(n))))
		var one []float64
		for _, way := range []la.Reduction{la.OneStage, la.TwoStages} {
			var values, only []float64
			var vectors mat.Dense
			for workers := 1; workers <= 3; workers++ {
				e := engineOf(t, la.Options{Workers: workers, Deterministic: true})
				c, alone := la.NewEigenSym[float64](e), la.NewEigenSym[float64](e)
				if err := errors.Join(c.Factorize(a, true, way), alone.Factorize(a, false, way)); err != nil {
					t.Fatal(err)
				}
				var v mat.Dense
				c.VectorsTo(&v)
				if workers == 1 {
					values, only, vectors = c.Values(nil), alone.Values(nil), v
					if r, o := eigenErrors(a, values, &v, 0x1p-52); r > 30 || o > 30 {
						t.Errorf("%v, order %d: residual %.3g, orthogonality %.3g", way, n, r, o)
					}
					continue
				}
				if !slices.Equal(values, c.Values(nil)) || !slices.Equal(only, alone.Values(nil)) || !mat.Equal(&vectors, &v) {
					t.Errorf("%v, order %d, %d workers: other bits", way, n, workers)
				}
			}
			if one == nil {
				one = values
			}
			limit := 30 * float64(n) * 0x1p-52 * mat.Norm(a, 1)
			for i, want := range one {
				if d := max(math.Abs(values[i]-want), math.Abs(only[i]-want)); !(d <= limit) {
					t.Errorf("%v, order %d: value %d is off by %.3g", way, n, i, d)
				}
			}
		}
	}
}

// TestEigenSymPart: a part has the values and vectors of the whole, bit by bit unless there are few vectors, and what is asked of
// it makes sense.
func TestEigenSymPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ctx := t.Context()
	for _, n := range []int{1, 2, 10, 70, 300} {
		a := randomSymmetric(n, rng)
		var all, some la.EigenSym[float64]
		if err := all.Factorize(a, true); err != nil {
			t.Fatal(err)
		}
		values, whole := all.Values(nil), mat.Dense{}
		all.VectorsTo(&whole)
		below := func(i int) float64 { // a bound between values
			switch i {
			case 0:
				return math.Inf(-1)
			case n:
				return math.Inf(1)
			}
			return (values[i-1] + values[i]) / 2
		}
		for _, part := range [][2]int{{0, 0}, {0, n}, {0, min(n, 3)}, {n / 2, n}, {n / 3, n/3 + n/4}} {
			first, last := part[0], part[1]
			for name, p := range map[string]la.EigenPart{
				"indices":  la.EigenIndices(first, last),
				"interval": la.EigenInterval(below(first), below(last)),
			} {
				for _, vectors := range []bool{true, false} {
					if err := some.Factorize(a, vectors, la.WithContext(ctx), p); err != nil {
						t.Fatal(err)
					}
					limit := 0.0 // values alone, and few vectors, come from other algorithms
					if few := n == 300 && last-first <= n/6; !vectors || few {
						limit = 1e-13 * float64(n)
					}
					got := some.Values(nil)
					if len(got) != last-first || !floats.EqualApprox(got, values[first:last], limit) {
						t.Errorf("order %d, %s %v: values %v, want %v", n, name, part, got, values[first:last])
						continue
					}
					if !vectors {
						continue
					}
					var v mat.Dense
					if last == first { // no *mat.Dense has no columns
						continue
					}
					some.VectorsTo(&v)
					if limit == 0 && !mat.Equal(&v, whole.Slice(0, n, first, last)) {
						t.Errorf("order %d, %s %v: other vectors", n, name, part)
					}
					if r, o := eigenErrors(a, got, &v, 0x1p-52); !(r < 30 && o < 30) {
						t.Errorf("order %d, %s %v: residual %.3g, orthogonality %.3g", n, name, part, r, o)
					}
				}
			}
		}
	}
	a := randomSymmetric(5, rng)
	var c la.EigenSym[float64]
	for _, p := range []la.EigenPart{la.EigenInterval(2, 1), la.EigenInterval(math.NaN(), 1), la.EigenInterval(1e9, math.Inf(1))} {
		if err := c.Factorize(a, true, la.WithContext(ctx), p); err != nil || len(c.Values(nil)) != 0 || c.SymmetricDim() != 5 {
			t.Errorf("%v: %v, %d values", p, err, len(c.Values(nil)))
		}
	}
	for _, bad := range [][2]int{{-1, 2}, {3, 2}, {0, 6}} {
		func() {
			defer func() {
				if r := recover(); r != mat.ErrIndexOutOfRange {
					t.Errorf("%v: %v", bad, r)
				}
			}()
			c.Factorize(a, true, la.WithContext(ctx), la.EigenIndices(bad[0], bad[1]))
		}()
	}
	if w, err := la.Eigenvalues[float64](ctx, nil, a); err != nil || len(w) != 5 || !slices.IsSorted(w) {
		t.Error(w, err)
	}
}

func ExampleEigenSym() {
	a := mat.NewSymDense(3, []float64{
		2, -1, 0,
		-1, 2, -1,
		0, -1, 2,
	})
	var c la.EigenSym[float64]
	if err := c.Factorize(a, true); err != nil {
		panic(err)
	}
	var v mat.Dense
	c.VectorsTo(&v)
	fmt.Printf("%.4f\n", c.Values(nil))
	// Output: [0.5858 2.0000 3.4142]
}

// TestReductionChoice: an engine measures rates to choose between one stage and two, unless it is to measure nothing.
func TestReductionChoice(t *testing.T) {
	a := randomSymmetric(410, rand.New(rand.NewPCG(3, 4)))
	for _, c := range []struct {
		e        *la.Engine
		measured bool
	}{{nil, false}, {engineOf(t, la.Options{Deterministic: true}), false}, {engineOf(t, la.Options{Static: true}), false},
		{engineOf(t, la.Options{Workers: 2}), true}} {
		sym, svd := la.NewEigenSym[float64](c.e), la.NewSVD[float64](c.e)
		if err := errors.Join(sym.Factorize(a, false), svd.Factorize(a, mat.SVDNone)); err != nil {
			t.Fatal(err)
		}
		for _, x := range []la.ReductionChoice{sym.Choice(), svd.Choice()} {
			if x.Measured != c.measured || x.One <= 0 {
				t.Errorf("measured %v, want %v: %+v", x.Measured, c.measured, x)
			}
		}
		if err := sym.Factorize(a, false, la.TwoStages); err != nil || sym.Choice() != (la.ReductionChoice{}) {
			t.Errorf("%v, %+v of a way that is fixed", err, sym.Choice())
		}
	}
}

func BenchmarkEigenSym(b *testing.B) {
	for _, n := range []int{10, 64, 500, 1000, 2000, 4000} {
		a := randomSymmetric(n, rand.New(rand.NewPCG(1, 2)))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := la.NewEigenSym[float64](nil)
			for b.Loop() {
				if err := c.Factorize(a, true); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, way := range []la.Reduction{la.OneStage, la.TwoStages} {
			for _, share := range []int{0, 10, 25, 100} {
				b.Run(fmt.Sprintf("%d/%v/%d%%", n, way, share), func(b *testing.B) {
					c := la.NewEigenSym[float64](nil)
					for b.Loop() {
						if err := c.Factorize(a, share > 0, way, la.EigenIndices(0, n*share/100)); err != nil {
							b.Fatal(err)
						}
					}
					for _, s := range c.Stages() { // of the last one
						b.ReportMetric(s.Time.Seconds()*1e3, strings.ReplaceAll(s.Name, " ", "-")+"-ms")
					}
				})
			}
		}
		if n <= 500 {
			b.Run(fmt.Sprint(n, "/gonum"), func(b *testing.B) {
				var c mat.EigenSym
				for b.Loop() {
					c.Factorize(a, true)
				}
			})
		}
	}
}
