package tiles_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// part is what a Matrix of the given kind makes of element (i, j).
func part[T tiles.Element](kind tiles.Kind, want func(i, j int) T, i, j int) T {
	switch lower := i > j; {
	case kind == tiles.Full || i == j:
	case kind == tiles.SymLower && !lower, kind == tiles.SymUpper && lower:
		return want(j, i)
	case kind == tiles.TriLower && !lower, kind == tiles.TriUpper && lower:
		return 0
	}
	return want(i, j)
}

// checkElements compares all of a with want.
func checkElements[T tiles.Element](t failer, name string, a tiles.Source[T], want func(i, j int) T) {
	t.Helper()
	m, n := a.Dims()
	for i := range m {
		for j := range n {
			if got, want := a.At(i, j), want(i, j); got != want {
				t.Fatalf("%s: element (%d, %d) of %d×%d: got %v, want %v", name, i, j, m, n, got, want)
			}
		}
	}
}

// checkNorm compares a 1-norm with the definition.
func checkNorm[T tiles.Element](t failer, name string, a *tiles.Matrix[T], got float64) {
	t.Helper()
	m, n := a.Dims()
	want := 0.0
	for j := range n {
		sum := 0.0
		for i := range m {
			sum += math.Abs(float64(a.At(i, j)))
		}
		want = max(want, sum)
	}
	if math.Abs(got-want) > 1e-14*want*float64(m+1) {
		t.Fatalf("%s: 1-norm: got %v, want %v", name, got, want)
	}
}

// testFrom converts each of the samples to every kind.
func testFrom[T tiles.Element](t failer, m, n, pad, nb, nb2, workers int, from []sample[T]) {
	for _, s := range from {
		for _, kind := range blockedtest.AllKinds() {
			if kind != tiles.Full && m != n {
				continue
			}
			name := fmt.Sprintf("%s %d×%d+%d to %v, nb %d from %d", s.name, m, n, pad, kind, nb, nb2)
			want := func(i, j int) T { return part(kind, s.want, i, j) }
			a, stats := tiles.From(s.src, kind, nb, tiles.CopyOptions{Workers: workers, Stats: true})
			checkElements(t, name, a, want)
			checkNorm(t, name, a, stats.Norm)
			if stats.NonFinite {
				t.Fatalf("%s: NaN found at (%d, %d)", name, stats.Row, stats.Col)
			}
			// Into what is there already: the tiles stay where they are.
			b := tiles.New[T](kind, m, n, nb)
			for i := range m {
				for j := range n {
					if up := kind.Uplo(); i == j || up == blas.All || (i > j) == (up == blas.Lower) {
						b.Set(i, j, nan[T]())
					}
				}
			}
			var before *T
			if m > 0 && n > 0 {
				before = &b.Tile(0, 0).Data[0]
			}
			if got := b.CopyFrom(s.src, tiles.CopyOptions{Workers: workers, Stats: true}); !reflect.DeepEqual(got, stats) {
				t.Fatalf("%s: CopyFrom says %+v, From %+v", name, got, stats)
			}
			checkElements(t, name+" again", b, want)
			if m > 0 && n > 0 && &b.Tile(0, 0).Data[0] != before {
				t.Fatalf("%s: CopyFrom moved the tiles", name)
			}
		}
	}
}

func TestFrom(t *testing.T) {
	for _, size := range []struct{ m, n int }{{0, 0}, {3, 0}, {0, 3}, {1, 1}, {7, 7}, {8, 8}, {9, 9}, {17, 17}, {5, 19}, {19, 1}, {1, 19}, {70, 70}} {
		for _, nb := range []struct{ to, from int }{{64, 33}, {1, 3}, {8, 5}, {8, 8}, {100, 1}} {
			testFrom(t, size.m, size.n, 3, nb.to, nb.from, 0, samples[float64](size.m, size.n, 3, nb.from))
			testFrom(t, size.m, size.n, 0, nb.to, nb.from, 0, samples[float32](size.m, size.n, 0, nb.from))
			if size.m > 64 {
				break // one is enough, TestFromRapid has more
			}
		}
	}
}

func TestFromRapid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.IntRange(0, 80).Draw(rt, "m")
		n := m
		if rapid.Bool().Draw(rt, "rectangular") {
			n = rapid.IntRange(0, 80).Draw(rt, "n")
		}
		nb := rapid.IntRange(1, 90).Draw(rt, "nb")
		nb2 := rapid.IntRange(1, 90).Draw(rt, "nb2")
		pad := rapid.IntRange(0, 5).Draw(rt, "pad")
		if rapid.Bool().Draw(rt, "float32") {
			all := samples[float32](m, n, pad, nb2)
			k := rapid.IntRange(0, len(all)-1).Draw(rt, "sample")
			testFrom(rt, m, n, pad, nb, nb2, 2, all[k:k+1])
		} else {
			all := samples[float64](m, n, pad, nb2)
			k := rapid.IntRange(0, len(all)-1).Draw(rt, "sample")
			testFrom(rt, m, n, pad, nb, nb2, 2, all[k:k+1])
		}
	})
}

// Large enough that goroutines are started: same elements, same statistics to
// the last bit.
func TestFromParallelIsSequential(t *testing.T) {
	const n = 520
	for _, s := range samples[float64](n, n, 5, 77) {
		for _, kind := range blockedtest.AllKinds() {
			seq, want := tiles.From(s.src, kind, 64, tiles.CopyOptions{Workers: 1, Stats: true})
			par, got := tiles.From(s.src, kind, 64, tiles.CopyOptions{Workers: 4, Stats: true})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s to %v: %+v with 4 workers, %+v with one", s.name, kind, got, want)
			}
			checkTiles(t, s.name, par, seq)
		}
	}
}

// checkTiles compares two matrices of one shape tile by tile.
func checkTiles(t *testing.T, name string, a, b *tiles.Matrix[float64]) {
	t.Helper()
	mt, nt := a.Tiles()
	for i := range mt {
		for j := range nt {
			if a.Stored(i, j) && !slices.Equal(a.Tile(i, j).Data, b.Tile(i, j).Data) {
				t.Fatalf("%s: tile (%d, %d) differs", name, i, j)
			}
		}
	}
}

// The same element is named as the first one, whichever goroutine is the
// first to find one.
func TestStatsNonFiniteParallel(t *testing.T) {
	const n = 520
	g := tiles.General[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	for k := range 8 {
		g.Set(n-1-60*k, 60*k+3, math.Inf(-1))
		g.Set(60*k+3, n-1-60*k, math.NaN())
	}
	for _, test := range []struct {
		kind     tiles.Kind
		row, col int
	}{{tiles.Full, 3, n - 1}, {tiles.SymLower, 3, n - 1}, {tiles.SymUpper, 3, n - 1}, {tiles.TriLower, 279, 243}, {tiles.TriUpper, 3, n - 1}} {
		for range 20 {
			_, got := tiles.From[float64](g, test.kind, 64, tiles.CopyOptions{Workers: 4, Stats: true})
			if !got.NonFinite || got.Row != test.row || got.Col != test.col {
				t.Fatalf("%v: got %+v, want (%d, %d)", test.kind, got, test.row, test.col)
			}
		}
	}
}

func TestStatsFirstNonFinite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "n")
		nb := rapid.IntRange(1, 45).Draw(rt, "nb")
		kind := rapid.SampledFrom(blockedtest.AllKinds()).Draw(rt, "kind")
		g := tiles.General[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
		for range rapid.IntRange(0, 4).Draw(rt, "bad") {
			v := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32}).Draw(rt, "v")
			g.Set(rapid.IntRange(0, n-1).Draw(rt, "i"), rapid.IntRange(0, n-1).Draw(rt, "j"), float32(v))
		}
		a, got := tiles.From[float32](g, kind, nb, tiles.CopyOptions{Stats: true})
		want := tiles.Stats{Norm: got.Norm, Columns: got.Columns, Max: got.Max}
		for i := n - 1; i >= 0; i-- {
			for j := n - 1; j >= 0; j-- {
				if v := a.At(i, j); v-v != 0 {
					want.NonFinite, want.Row, want.Col = true, i, j
				}
			}
		}
		if !reflect.DeepEqual(got, want) && !(math.IsNaN(got.Norm) && got.NonFinite && got.Row == want.Row && got.Col == want.Col) {
			rt.Fatalf("%v: got %+v, want %+v", kind, got, want)
		}
		if finite := got.Norm-got.Norm == 0; finite == got.NonFinite {
			rt.Fatalf("norm %v, NonFinite %v", got.Norm, got.NonFinite)
		}
	})
}

func TestStatsOverflow(t *testing.T) {
	g := tiles.General[float64]{Rows: 3, Cols: 1, Stride: 1, Data: []float64{math.MaxFloat64, -math.MaxFloat64, 1}}
	for _, nb := range []int{1, 2, 3} {
		_, got := tiles.From[float64](g, tiles.Full, nb, tiles.CopyOptions{Stats: true})
		if !math.IsInf(got.Norm, 1) || got.NonFinite {
			t.Errorf("nb %d: got %+v", nb, got)
		}
	}
}

func testCopyTo[T tiles.Element](t failer, m, n, pad, nb, nb2 int) {
	for _, s := range samples[T](m, n, pad, nb2) {
		for _, kind := range blockedtest.AllKinds() {
			if kind != tiles.Full && m != n {
				continue
			}
			a, _ := tiles.From(s.src, kind, nb, tiles.CopyOptions{})
			name := fmt.Sprintf("%s %d×%d as %v, nb %d", s.name, m, n, kind, nb)
			stride := max(1, n) + pad
			g := tiles.General[T]{Rows: m, Cols: n, Stride: stride, Data: blockedtest.Filled[T](m * stride)}
			a.CopyTo(g, 0)
			checkElements(t, name, g, a.At)
			checkOutside(t, name, g.Data, stride, func(i, j int) bool { return j < n })
			h := hidden[T]{tiles.General[T]{Rows: m, Cols: n, Stride: stride, Data: blockedtest.Filled[T](m * stride)}}
			a.CopyTo(h, 0)
			checkElements(t, name, h, a.At)
			b := tiles.New[T](kind, m, n, nb2)
			a.CopyTo(b, 0)
			checkElements(t, name, b, a.At)
			if m != n {
				continue
			}
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				in := func(i, j int) bool { return i == j || (i > j) == (uplo == blas.Lower) }
				sym := tiles.Symmetric[T]{Uplo: uplo, N: n, Stride: stride, Data: blockedtest.Filled[T](n * stride)}
				a.CopyTo(sym, 0)
				checkHalf(t, name+" to Symmetric", sym, a, in)
				checkOutside(t, name, sym.Data, stride, func(i, j int) bool { return j < n && in(i, j) })
				tri := tiles.Triangular[T]{Uplo: uplo, Diag: blas.NonUnit, N: n, Stride: stride, Data: blockedtest.Filled[T](n * stride)}
				a.CopyTo(tri, 0)
				checkHalf(t, name+" to Triangular", tri, a, in)
				checkOutside(t, name, tri.Data, stride, func(i, j int) bool { return j < n && in(i, j) })
				unit := tiles.Triangular[T]{Uplo: uplo, Diag: blas.Unit, N: n, Stride: stride, Data: blockedtest.Filled[T](n * stride)}
				a.CopyTo(&unit, 0)
				checkHalf(t, name+" to unit Triangular", unit, a, func(i, j int) bool { return i != j && in(i, j) })
				checkOutside(t, name, unit.Data, stride, func(i, j int) bool { return j < n && i != j && in(i, j) })
			}
		}
	}
}

// checkHalf compares got with a where in says.
func checkHalf[T tiles.Element](t failer, name string, got, a tiles.Source[T], in func(i, j int) bool) {
	t.Helper()
	n, _ := got.Dims()
	for i := range n {
		for j := range n {
			if in(i, j) && got.At(i, j) != a.At(i, j) {
				t.Fatalf("%s: element (%d, %d): got %v, want %v", name, i, j, got.At(i, j), a.At(i, j))
			}
		}
	}
}

// checkOutside checks that all but what in says is still NaN.
func checkOutside[T tiles.Element](t failer, name string, data []T, stride int, in func(i, j int) bool) {
	t.Helper()
	for k, v := range data {
		if i, j := k/stride, k%stride; !in(i, j) && !blockedtest.IsNaN(v) {
			t.Fatalf("%s: memory at (%d, %d) was written: %v", name, i, j, v)
		}
	}
}

func TestCopyTo(t *testing.T) {
	for _, size := range []struct{ m, n int }{{0, 0}, {3, 0}, {0, 3}, {1, 1}, {8, 8}, {17, 17}, {5, 19}, {19, 1}} {
		for _, nb := range []struct{ a, b int }{{1, 3}, {8, 5}, {64, 33}, {100, 1}} {
			testCopyTo[float64](t, size.m, size.n, 2, nb.a, nb.b)
			testCopyTo[float32](t, size.m, size.n, 0, nb.a, nb.b)
		}
	}
	testCopyTo[float64](t, 66, 66, 1, 64, 33) // more than a strip, more than a tile
}

// ordered is a source that may not be read concurrently, and notes the order.
type ordered struct {
	n    int
	last int
	bad  bool
}

func (o *ordered) Dims() (int, int) { return o.n, o.n }

func (o *ordered) At(i, j int) float32 {
	k := i*o.n + j
	o.bad = o.bad || k <= o.last
	o.last = k
	return float32(k)
}

func TestUnknownSourceIsReadByRows(t *testing.T) {
	for _, kind := range blockedtest.AllKinds() {
		o := &ordered{n: 600, last: -1}
		a, stats := tiles.From(o, kind, 64, tiles.CopyOptions{Workers: 4, Stats: true})
		if o.bad || stats.Norm == 0 || a.At(599, 599) != 600*600-1 {
			t.Errorf("%v: out of order %v, stats %+v", kind, o.bad, stats)
		}
	}
}

// Destinations of which only the methods are known.
type (
	symmetricSink[T tiles.Element]  struct{ tiles.SymmetricSink[T] }
	triangularSink[T tiles.Element] struct{ tiles.TriangularSink[T] }
)

func TestCopyToUnknownSinks(t *testing.T) {
	const n = 9
	for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
		in := func(i, j int) bool { return i == j || (i > j) == (uplo == blas.Lower) }
		for _, s := range samples[float32](n, n, 1, 4) {
			a, _ := tiles.From(s.src, tiles.Full, 4, tiles.CopyOptions{})
			sym := tiles.Symmetric[float32]{Uplo: uplo, N: n, Stride: n, Data: make([]float32, n*n)}
			a.CopyTo(symmetricSink[float32]{sym}, 0)
			checkHalf(t, s.name+" to SymmetricSink", sym, a, func(i, j int) bool { return i <= j })
			tri := tiles.Triangular[float32]{Uplo: uplo, Diag: blas.NonUnit, N: n, Stride: n, Data: make([]float32, n*n)}
			a.CopyTo(triangularSink[float32]{tri}, 0)
			checkHalf(t, s.name+" to TriangularSink", tri, a, in)
		}
	}
}

func TestCopyPanics(t *testing.T) {
	a := tiles.New[float64](tiles.Full, 3, 4, 2)
	sq := tiles.New[float64](tiles.Full, 3, 3, 2)
	short := tiles.General[float64]{Rows: 3, Cols: 4, Stride: 4, Data: make([]float64, 11)}
	for _, test := range []struct {
		name string
		want any
		f    func()
	}{
		{"CopyFrom shape", tiles.ErrShape, func() { a.CopyFrom(mat.NewDense(4, 3, nil), tiles.CopyOptions{}) }},
		{"CopyFrom short", tiles.ErrStorage, func() { a.CopyFrom(short, tiles.CopyOptions{}) }},
		{"From kind", tiles.ErrShape, func() { tiles.From(a, tiles.SymLower, 2, tiles.CopyOptions{}) }},
		{"From nb", tiles.ErrShape, func() { tiles.From(a, tiles.Full, 0, tiles.CopyOptions{}) }},
		{"CopyTo shape", tiles.ErrShape, func() { a.CopyTo(mat.NewDense(4, 3, nil), 0) }},
		{"CopyTo short", tiles.ErrStorage, func() { a.CopyTo(short, 0) }},
		{"CopyTo empty SymDense", tiles.ErrShape, func() { a.CopyTo(&mat.SymDense{}, 0) }},
		{"CopyTo empty TriDense", tiles.ErrShape, func() { a.CopyTo(&mat.TriDense{}, 0) }},
		{"CopyTo empty VecDense", tiles.ErrShape, func() { a.CopyTo(&mat.VecDense{}, 0) }},
		{"CopyTo TriDense of full", tiles.ErrKind, func() { sq.CopyTo(&mat.TriDense{}, 0) }},
		{"CopyTo read-only", tiles.ErrKind, func() { sq.CopyTo(mat.NewDiagDense(3, nil), 0) }},
		{"CopyTo transposed", tiles.ErrKind, func() { sq.CopyTo(mat.NewDense(3, 3, nil).T(), 0) }},
	} {
		if got := blockedtest.Recovered(test.f); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: panic %v, want %v", test.name, got, test.want)
		}
	}
}
