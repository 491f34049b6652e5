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
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// randomSVD returns a random m×n matrix.
func randomSVD(m, n int, rng *rand.Rand) *mat.Dense {
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, rng.NormFloat64())
		}
	}
	return a
}

// svdErrors returns the residual of A·V − U·Σ and the loss of orthogonality in LAPACK's units.
func svdErrors(a mat.Matrix, values []float64, u, v *mat.Dense, eps float64) (residual, loss float64) {
	m, n := a.Dims()
	k := len(values)
	var av, us mat.Dense
	av.Mul(a, v.Slice(0, n, 0, k))
	us.Apply(func(_, j int, x float64) float64 { return x * values[j] }, u.Slice(0, m, 0, k))
	av.Sub(&av, &us)
	for _, q := range []*mat.Dense{u, v} {
		var qq mat.Dense
		qq.Mul(q.T(), q)
		c, _ := qq.Dims()
		for i := range c {
			qq.Set(i, i, qq.At(i, i)-1)
		}
		loss = max(loss, mat.Norm(&qq, 1))
	}
	norm := max(mat.Norm(a, 1), math.SmallestNonzeroFloat64)
	scale := float64(max(m, n)) * eps
	return mat.Norm(&av, 1) / norm / scale, loss / scale
}

func TestSVD(t *testing.T) {
	e := engineOf(t, la.Options{Workers: 2})
	rng := rand.New(rand.NewPCG(1, 2))
	both := []*la.SVD[float64]{la.NewSVD[float64](nil), la.NewSVD[float64](e)}
	for shape, s := range [][2]int{{1, 1}, {2, 2}, {3, 1}, {1, 3}, {50, 50}, {200, 193}, {193, 200}, {300, 300}, {500, 90}, {90, 500}, {300, 300}, {1000, 3}} {
		m, n := s[0], s[1]
		a := randomSVD(m, n, rng)
		var gonum mat.SVD
		if !gonum.Factorize(a, mat.SVDNone) {
			t.Fatal("gonum's")
		}
		want := gonum.Values(nil)
		for _, c := range both {
			for j, kind := range []mat.SVDKind{mat.SVDThin, mat.SVDFull, mat.SVDNone, mat.SVDThinU, mat.SVDThinV, mat.SVDFullU | mat.SVDThinV} {
				if max(m, n) > 200 && (shape+j)%2 > 0 { // all of each shape's by the small ones
					continue
				}
				if err := c.Factorize(a, kind); err != nil {
					t.Fatal(err)
				}
				if c.Kind() != kind {
					t.Errorf("kind %v, want %v", c.Kind(), kind)
				}
				for i, x := range c.Values(nil) {
					if math.Abs(x-want[i]) > 1e-13*float64(max(m, n)) {
						t.Errorf("%d×%d, kind %v: value %d is %v, gonum's %v", m, n, kind, i, x, want[i])
					}
				}
				u, v := new(mat.Dense), new(mat.Dense)
				if kind&mat.SVDThinU == 0 && kind&mat.SVDFullU == 0 {
					if got := panics(func() { c.UTo(u) }); got != la.ErrNoVectors {
						t.Errorf("no left vectors: %v", got)
					}
				} else {
					c.UTo(u)
					if r, cols := u.Dims(); r != m || cols != map[bool]int{true: m, false: min(m, n)}[kind&mat.SVDFullU != 0] {
						t.Errorf("%d×%d, kind %v: U is %d×%d", m, n, kind, r, cols)
					}
				}
				if kind&mat.SVDThinV == 0 && kind&mat.SVDFullV == 0 {
					if got := panics(func() { c.VTo(v) }); got != la.ErrNoVectors {
						t.Errorf("no right vectors: %v", got)
					}
				} else {
					c.VTo(v)
					if r, cols := v.Dims(); r != n || cols != map[bool]int{true: n, false: min(m, n)}[kind&mat.SVDFullV != 0] {
						t.Errorf("%d×%d, kind %v: V is %d×%d", m, n, kind, r, cols)
					}
				}
				if u.IsEmpty() || v.IsEmpty() {
					continue
				}
				if r, o := svdErrors(a, c.Values(nil), u, v, 0x1p-52); !(r < 30 && o < 30) {
					t.Errorf("%d×%d, kind %v: residual %.3g, orthogonality %.3g", m, n, kind, r, o)
				}
			}
		}
	}
}

// TestSVDSources: the same bits from all kinds of matrices to all kinds of destinations, by any number of
// workers.
func TestSVDSources(t *testing.T) {
	for _, s := range []struct {
		m, n int
		way  la.Reduction
	}{{300, 280, la.OneStage}, {280, 300, la.TwoStages}, {600, 200, la.OneStage}, {600, 200, la.TwoStages}} {
		m, n := s.m, s.n
		a := randomSVD(m, n, rand.New(rand.NewPCG(3, 4)))
		raw := la.General[float64]{Rows: m, Cols: n, Stride: n + 2, Data: make([]float64, m*(n+2))}
		for i := range raw.Data {
			raw.Data[i] = math.NaN()
		}
		for i := range m {
			for j := range n {
				raw.Data[i*raw.Stride+j] = a.At(i, j)
			}
		}
		full, _ := blocked.From[float64](a, blocked.Full, 64, blocked.CopyOptions{})
		want := la.NewSVD[float64](engineOf(t, la.Options{Deterministic: true}))
		if err := want.Factorize(a, mat.SVDThin, s.way); err != nil {
			t.Fatal(err)
		}
		var u, v mat.Dense
		want.UTo(&u)
		want.VTo(&v)
		for i, source := range []la.Source[float64]{raw, full, mat.DenseCopyOf(a.T()).T()} {
			for _, workers := range []int{3, 1, 2}[:max(1, 3-2*i)] { // all of them from one source
				c := la.NewSVD[float64](engineOf(t, la.Options{Workers: workers, Deterministic: true}))
				if err := c.Factorize(source, mat.SVDThin, s.way); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(c.Values(nil), want.Values(nil)) {
					t.Errorf("%d×%d, source %d, %d workers: other values", m, n, i, workers)
				}
				k := min(m, n)
				to := blocked.New[float64](blocked.Full, m, k, 70)
				c.UTo(to)
				general := la.General[float64]{Rows: n, Cols: k, Stride: k + 1, Data: make([]float64, n*(k+1))}
				c.VTo(general)
				for j := range k {
					for i := range m {
						if u.At(i, j) != to.At(i, j) {
							t.Fatalf("%d×%d, %d workers: another left vector %d", m, n, workers, j)
						}
					}
					for i := range n {
						if v.At(i, j) != general.At(i, j) {
							t.Fatalf("%d×%d, %d workers: another right vector %d", m, n, workers, j)
						}
					}
				}
			}
		}
	}
}

func TestSVDErrors(t *testing.T) {
	var c la.SVD[float64]
	for _, f := range []func(){func() { c.Values(nil) }, func() { c.UTo(mat.NewDense(1, 1, nil)) }, func() { c.VTo(mat.NewDense(1, 1, nil)) }, func() { c.Dims() },
		func() { c.Rank(0) }, func() { c.Cond() }, func() { c.SolveTo(mat.NewDense(1, 1, nil), mat.NewDense(1, 1, nil), 1) }} {
		if got := panics(f); got != la.ErrNotFactorized {
			t.Errorf("without a decomposition: %v", got)
		}
	}
	if c.Kind() != -1 {
		t.Errorf("without a decomposition the kind is %v", c.Kind())
	}
	a := randomSVD(40, 30, rand.New(rand.NewPCG(5, 6)))
	if err := c.Factorize(a, mat.SVDThin); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[error]func(){
		mat.ErrShape:               func() { c.UTo(mat.NewDense(40, 40, nil)) },
		mat.ErrSliceLengthMismatch: func() { c.Values(make([]float64, 39)) },
		la.ErrRcond:                func() { c.Rank(-1) },
		la.ErrRank:                 func() { c.PseudoInverseTo(new(mat.Dense), 31) },
	} {
		if got := panics(f); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	var shape *la.ShapeError
	if err := c.SolveTo(new(mat.Dense), mat.NewDense(39, 1, nil), 3); !errors.As(err, &shape) {
		t.Errorf("right-hand sides of another shape: %v", err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, flip := range []bool{false, true} {
			b := mat.DenseCopyOf(a)
			b.Set(7, 29, bad)
			var s mat.Matrix = b
			row, col := 7, 29
			if flip {
				s = b.T()
				row, col = col, row
			}
			err := c.Factorize(s, mat.SVDThin)
			if nf, ok := errors.AsType[*la.NonFiniteError](err); !ok || nf.Row != row || nf.Col != col {
				t.Errorf("%v: %v", bad, err)
			}
			if !c.IsEmpty() {
				t.Error("a decomposition after an error")
			}
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	cancel(mine)
	if err := c.Factorize(a, mat.SVDThin, la.WithContext(ctx)); !errors.Is(err, mine) || !c.IsEmpty() {
		t.Errorf("cancelled: %v", err)
	}
	e := engineOf(t, la.Options{Workers: 1})
	closed := la.NewSVD[float64](e)
	e.Close()
	if err := closed.Factorize(a, mat.SVDThin); err == nil {
		t.Error("no error of a closed engine")
	}
}

// TestSVDEmpty: matrices without elements have full vectors.
func TestSVDEmpty(t *testing.T) {
	for _, s := range [][2]int{{0, 0}, {3, 0}, {0, 4}} {
		a := la.General[float64]{Rows: s[0], Cols: s[1], Stride: max(s[1], 1)}
		for _, kind := range []mat.SVDKind{mat.SVDNone, mat.SVDThin, mat.SVDFull} {
			var c la.SVD[float64]
			if err := c.Factorize(a, kind); err != nil || len(c.Values(nil)) != 0 || c.Rank(0) != 0 || c.Cond() != 0 {
				t.Errorf("%d×%d, kind %v: %v", s[0], s[1], kind, err)
			}
			if kind != mat.SVDFull || s[0] == 0 {
				continue
			}
			var u mat.Dense
			c.UTo(&u)
			if !mat.Equal(&u, mat.NewDiagDense(3, []float64{1, 1, 1})) {
				t.Errorf("%d×%d: U is %v", s[0], s[1], mat.Formatted(&u))
			}
		}
	}
}

// TestSVDFloat32 and extreme sizes: what is out of the range of squares is scaled.
func TestSVDFloat32(t *testing.T) {
	const m, n = 260, 230
	rng := rand.New(rand.NewPCG(7, 8))
	for _, size := range []float64{1, 1e-36, 1e30, 1e-42} {
		g := la.General[float32]{Rows: m, Cols: n, Stride: n, Data: make([]float32, m*n)}
		a := mat.NewDense(m, n, nil)
		for i := range g.Data {
			g.Data[i] = float32(size * rng.NormFloat64())
			a.Set(i/n, i%n, float64(g.Data[i])/size)
		}
		var c la.SVD[float32]
		if err := c.Factorize(g, mat.SVDThin); err != nil {
			t.Fatal(err)
		}
		in := func(rows int, to func(la.Sink[float32])) *mat.Dense {
			q := la.General[float32]{Rows: rows, Cols: n, Stride: n, Data: make([]float32, rows*n)}
			to(q)
			d := mat.NewDense(rows, n, nil)
			for i, x := range q.Data {
				d.Set(i/n, i%n, float64(x))
			}
			return d
		}
		u, v := in(m, c.UTo), in(n, c.VTo)
		values := make([]float64, n)
		for i, x := range c.Values(nil) {
			values[i] = float64(x) / size
		}
		eps := 0x1p-23
		if size < 1e-40 {
			eps = 1e-3 // values are denormal
		}
		if r, o := svdErrors(a, values, u, v, eps); !(r < 30 && o < 30) {
			t.Errorf("size %g: residual %.3g, orthogonality %.3g", size, r, o)
		}
	}
}

// TestSVDSolve: solutions of least norm and pseudo-inverses of a matrix of lower rank are gonum's.
func TestSVDSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, s := range [][2]int{{30, 20}, {20, 30}, {25, 25}} {
		m, n := s[0], s[1]
		const rank = 7
		var a mat.Dense
		a.Mul(randomSVD(m, rank, rng), randomSVD(rank, n, rng))
		b := randomSVD(m, 3, rng)
		var c la.SVD[float64]
		if err := c.Factorize(&a, mat.SVDThin); err != nil {
			t.Fatal(err)
		}
		if got := c.Rank(1e-12); got != rank {
			t.Errorf("%d×%d: rank %d, want %d", m, n, got, rank)
		}
		var x, y mat.Dense
		if err := c.SolveTo(&x, b, rank); err != nil {
			t.Fatal(err)
		}
		var gonum mat.SVD
		gonum.Factorize(&a, mat.SVDThin)
		gonum.SolveTo(&y, b, rank)
		if !mat.EqualApprox(&x, &y, 1e-11) {
			t.Errorf("%d×%d: another solution", m, n)
		}
		var p mat.Dense
		if got, err := la.PseudoInverse[float64](context.Background(), nil, &p, &a, 1e-12); err != nil || got != rank {
			t.Errorf("%d×%d: rank %d, %v", m, n, got, err)
		}
		y.Mul(&p, b)
		if !mat.EqualApprox(&x, &y, 1e-11) {
			t.Errorf("%d×%d: another pseudo-inverse", m, n)
		}
		values, err := la.SingularValues[float64](context.Background(), nil, &a)
		if err != nil || len(values) != min(m, n) || math.Abs(values[0]-c.Values(nil)[0]) > 1e-12 {
			t.Errorf("%d×%d: values %v, %v", m, n, values, err)
		}
		if err := c.SolveTo(&x, b, 0); err != nil || mat.Norm(&x, 1) != 0 {
			t.Errorf("%d×%d: of rank 0: %v", m, n, err)
		}
	}
}

// TestSVDPart: a part has the values and vectors of the whole, bit by bit, and what is asked of it makes sense.
func TestSVDPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, shape := range [][2]int{{1, 1}, {2, 5}, {70, 50}, {300, 280}, {90, 400}} {
		m, n := shape[0], shape[1]
		k := min(m, n)
		a := randomSVD(m, n, rng)
		var all, some la.SVD[float64]
		if err := all.Factorize(a, mat.SVDThin); err != nil {
			t.Fatal(err)
		}
		values := all.Values(nil)
		var u, v mat.Dense
		all.UTo(&u)
		all.VTo(&v)
		at := func(i int) float64 {
			switch {
			case i < 0:
				return math.Inf(1)
			case i >= k:
				return math.Inf(-1)
			}
			return values[i]
		}
		for _, part := range [][2]int{{0, 0}, {0, k}, {0, min(k, 3)}, {k / 2, k}, {k / 3, k/3 + k/4}} {
			first, last := part[0], part[1]
			for name, p := range map[string]la.SingularPart{
				"indices":  la.SingularIndices(first, last),
				"interval": la.SingularInterval(at(last), at(first)),
			} {
				what := fmt.Sprintf("%d×%d, %s %v", m, n, name, part)
				if err := some.Factorize(a, mat.SVDThin, p); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !slices.Equal(some.Values(nil), values[first:last]) {
					t.Errorf("%s: other values", what)
				}
				if last > first {
					var u1, v1 mat.Dense
					some.UTo(&u1)
					some.VTo(&v1)
					if !mat.Equal(&u1, u.Slice(0, m, first, last)) || !mat.Equal(&v1, v.Slice(0, n, first, last)) {
						t.Errorf("%s: other vectors", what)
					}
				}
				if err := some.Factorize(a, mat.SVDNone, p); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if got := some.Values(nil); name == "indices" && !floats.EqualApprox(got, values[first:last], 1e-12*values[0]) {
					t.Errorf("%s: other values alone", what)
				}
			}
		}
	}
	a := randomSVD(5, 4, rng)
	var c la.SVD[float64]
	if err := c.Factorize(a, mat.SVDThin, la.SingularInterval(math.NaN(), 1)); err != nil || len(c.Values(nil)) != 0 || c.Rank(0) != 0 {
		t.Errorf("no interval: %v", err)
	}
	if _, ok := errors.AsType[*la.OptionsError](c.Factorize(a, mat.SVDFull, la.SingularIndices(0, 2))); !ok || !c.IsEmpty() {
		t.Error("a part of full vectors")
	}
	for _, bad := range [][2]int{{-1, 2}, {3, 2}, {0, 5}} {
		if got := panics(func() { c.Factorize(a, mat.SVDThin, la.SingularIndices(bad[0], bad[1])) }); got != mat.ErrIndexOutOfRange {
			t.Errorf("%v: %v", bad, got)
		}
	}
}

func ExampleSVD() {
	a := mat.NewDense(3, 2, []float64{
		4, 0,
		3, -5,
		0, 0,
	})
	var c la.SVD[float64]
	if err := c.Factorize(a, mat.SVDThin); err != nil {
		panic(err)
	}
	fmt.Printf("%.4f %d\n", c.Values(nil), c.Rank(1e-15))
	// Output: [6.3246 3.1623] 2
}

func BenchmarkSVD(b *testing.B) {
	for _, n := range []int{10, 64, 500, 1000, 2000, 4000} {
		a := randomSVD(n, n, rand.New(rand.NewPCG(1, 2)))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := la.NewSVD[float64](nil)
			for b.Loop() {
				if err := c.Factorize(a, mat.SVDThin); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, way := range []la.Reduction{la.OneStage, la.TwoStages} {
			for _, share := range []int{0, 10, 25, 100} {
				b.Run(fmt.Sprintf("%d/%v/%d%%", n, way, share), func(b *testing.B) {
					c, kind := la.NewSVD[float64](nil), mat.SVDThin
					if share == 0 {
						kind = mat.SVDNone
					}
					for b.Loop() {
						if err := c.Factorize(a, kind, way, la.SingularIndices(0, n*share/100)); err != nil {
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
				var c mat.SVD
				for b.Loop() {
					c.Factorize(a, mat.SVDThin)
				}
			})
		}
	}
}
