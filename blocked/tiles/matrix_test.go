package tiles_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"gonum.org/v1/gonum/mat"
)

var matrixSizes = []struct{ m, n, nb int }{
	{0, 0, 4}, {5, 0, 4}, {0, 5, 4}, {1, 1, 4}, {3, 3, 4}, {4, 4, 4}, {5, 5, 4}, {9, 9, 4},
	{7, 11, 4}, {4, 4, 1}, {5, 3, 100}, {65, 65, 64}, {3, 2, int(^uint(0) >> 1)},
}

func testTiles[T tiles.Element](t *testing.T) {
	var zero T
	for _, s := range matrixSizes {
		for _, kind := range blockedtest.AllKinds() {
			if kind != tiles.Full && s.m != s.n {
				continue
			}
			name := fmt.Sprintf("%v %d×%d, nb %d", kind, s.m, s.n, s.nb)
			a := tiles.New[T](kind, s.m, s.n, s.nb)
			mt, nt := a.Tiles()
			rows, bytes := 0, int64(0)
			for i := range mt {
				cols := 0
				for j := range nt {
					r, c := a.TileDims(i, j)
					cols += c
					if j == 0 {
						rows += r
					}
					if !a.Stored(i, j) {
						if got := blockedtest.Recovered(func() { a.Tile(i, j) }); got != tiles.ErrNotStored {
							t.Errorf("%s: tile (%d, %d): panic %v", name, i, j, got)
						}
						continue
					}
					tile := a.Tile(i, j)
					if tile.Rows != r || tile.Cols != c || len(tile.Data) != r*tile.Stride {
						t.Errorf("%s: tile (%d, %d) is %d×%d with stride %d and %d elements", name, i, j, tile.Rows, tile.Cols, tile.Stride, len(tile.Data))
					}
					if p := uintptr(unsafe.Pointer(&tile.Data[0])); p%64 != 0 || uintptr(tile.Stride)*unsafe.Sizeof(zero)%64 != 0 {
						t.Errorf("%s: tile (%d, %d) at %#x with stride %d is not aligned", name, i, j, p, tile.Stride)
					}
					bytes += int64(r*c) * int64(unsafe.Sizeof(zero))
				}
				if cols != s.n {
					t.Errorf("%s: %d columns in all", name, cols)
				}
			}
			if nt > 0 && rows != s.m {
				t.Errorf("%s: %d rows in all", name, rows)
			}
			if a.Bytes() != bytes {
				t.Errorf("%s: %d bytes, want %d", name, a.Bytes(), bytes)
			}
			if got := blockedtest.Recovered(func() { a.Tile(mt, 0) }); got != tiles.ErrIndex {
				t.Errorf("%s: panic %v", name, got)
			}
		}
	}
}

func TestTiles(t *testing.T) {
	t.Run("float64", testTiles[float64])
	t.Run("float32", testTiles[float32])
}

func TestNewPanics(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	for _, s := range []struct {
		kind     tiles.Kind
		m, n, nb int
	}{
		{tiles.Full, -1, 2, 1}, {tiles.Full, 2, -1, 1}, {tiles.Full, 2, 2, 0}, {tiles.SymLower, 2, 3, 1},
		{tiles.TriUpper + 1, 2, 2, 1}, {tiles.Full, huge, huge, 1}, {tiles.Full, huge, huge, huge},
		{tiles.Full, huge / 4, 2, huge}, {tiles.Full, 1, huge, huge},
	} {
		if got := blockedtest.Recovered(func() { tiles.New[float64](s.kind, s.m, s.n, s.nb) }); got != tiles.ErrShape {
			t.Errorf("%+v: panic %v", s, got)
		}
	}
}

func TestSetAt(t *testing.T) {
	for _, kind := range blockedtest.AllKinds() {
		a := tiles.New[float64](kind, 9, 9, 4)
		for i := range 9 {
			for j := range 9 {
				err := blockedtest.Recovered(func() { a.Set(i, j, value[float64](i, j)) })
				tri := kind == tiles.TriLower && i < j || kind == tiles.TriUpper && i > j
				if (err != nil) != tri || (tri && err != tiles.ErrNotStored) {
					t.Errorf("%v: Set(%d, %d): %v", kind, i, j, err)
				}
				switch {
				case tri && a.At(i, j) != 0:
					t.Errorf("%v: At(%d, %d) = %v outside the triangle", kind, i, j, a.At(i, j))
				case !tri && a.At(i, j) != value[float64](i, j):
					t.Errorf("%v: At(%d, %d) = %v", kind, i, j, a.At(i, j))
				case (kind == tiles.SymLower || kind == tiles.SymUpper) && a.At(j, i) != a.At(i, j):
					t.Errorf("%v: not symmetric at (%d, %d)", kind, i, j)
				}
			}
		}
		for _, f := range []func(){func() { a.At(9, 0) }, func() { a.At(0, -1) }, func() { a.Set(0, 9, 1) }} {
			if got := blockedtest.Recovered(f); got != tiles.ErrIndex {
				t.Errorf("%v: panic %v", kind, got)
			}
		}
	}
}

func testCopies[T tiles.Element](t *testing.T) {
	for _, s := range matrixSizes {
		for _, sample := range samples[T](s.m, s.n, 2, min(s.nb, 1000)) {
			a, ok := sample.src.(*tiles.Matrix[T])
			if !ok {
				continue
			}
			b := a.Clone()
			checkElements(t, sample.name+" cloned", b, sample.want)
			if b.Kind() != a.Kind() || b.NB() != a.NB() {
				t.Errorf("%s: clone is %v, nb %d", sample.name, b.Kind(), b.NB())
			}
			b.Zero()
			checkElements(t, "zero", b, func(int, int) T { return 0 })
			checkElements(t, sample.name+" after its clone was zeroed", a, sample.want)
			b.SetIdentity()
			checkElements(t, "identity", b, func(i, j int) T {
				if i == j {
					return 1
				}
				return 0
			})
			c := a.Transposed()
			if m, n := c.Dims(); m != s.n || n != s.m {
				t.Fatalf("%s transposed is %d×%d", sample.name, m, n)
			}
			checkElements(t, sample.name+" transposed", c, func(i, j int) T { return sample.want(j, i) })
		}
	}
}

func TestCloneZeroIdentityTransposed(t *testing.T) {
	t.Run("float64", testCopies[float64])
	t.Run("float32", testCopies[float32])
}

func TestCopyToGonum(t *testing.T) {
	for _, n := range []int{1, 8, 9, 200} {
		for _, kind := range blockedtest.AllKinds() {
			g := tiles.General[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
			for k := range g.Data {
				g.Data[k] = value[float64](k/n, k%n)
			}
			a, _ := tiles.From[float64](g, kind, 8, tiles.CopyOptions{})
			upper := func(i, j int) bool { return i <= j }
			var dense mat.Dense
			var sym mat.SymDense
			a.CopyTo(&dense, 0)
			a.CopyTo(&sym, 0)
			checkElements(t, "Dense", &dense, a.At)
			checkHalf(t, "SymDense", &sym, a, upper)
			a.CopyTo(&dense, 0) // again, into what is there
			checkElements(t, "Dense again", &dense, a.At)
			up, low := mat.NewTriDense(n, mat.Upper, blockedtest.Filled[float64](n*n)), mat.NewTriDense(n, mat.Lower, blockedtest.Filled[float64](n*n))
			a.CopyTo(up, 0)
			a.CopyTo(low, 0)
			checkHalf(t, "upper TriDense", up, a, upper)
			checkHalf(t, "lower TriDense", low, a, func(i, j int) bool { return i >= j })
			checkOutside(t, "upper TriDense", up.RawTriangular().Data, n, upper)
			if kind == tiles.Full {
				continue
			}
			var tri mat.TriDense
			a.CopyTo(&tri, 0)
			checkHalf(t, "empty TriDense", &tri, a, func(i, j int) bool {
				return i == j || (i > j) == (kind == tiles.SymLower || kind == tiles.TriLower)
			})
		}
	}
	col := tiles.New[float64](tiles.Full, 5, 1, 2)
	col.Set(3, 0, 7)
	var vec mat.VecDense
	col.CopyTo(&vec, 0)
	checkElements(t, "VecDense", &vec, col.At)
	big := mat.NewDense(5, 4, nil)
	col.CopyTo(big.ColView(2).(*mat.VecDense), 0)
	if big.At(3, 2) != 7 || big.At(3, 1) != 0 {
		t.Error("column of a Dense:", mat.Formatted(big))
	}
	var empty mat.Dense
	tiles.New[float64](tiles.Full, 3, 0, 2).CopyTo(&empty, 0)
	if !empty.IsEmpty() {
		t.Error("3×0 made a Dense of", empty.RawMatrix())
	}
}
