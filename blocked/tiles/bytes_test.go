package tiles_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
)

// TestBytes: it counts what New takes.
func TestBytes(t *testing.T) {
	for kind := tiles.Full; kind <= tiles.TriUpper; kind++ {
		for _, nb := range []int{1, 3, 8, 16, 17, 256} {
			for _, n := range []int{0, 1, 7, 16, 17, 40, 300} {
				testBytes[float32](t, kind, n, n, nb)
				testBytes[float64](t, kind, n, n, nb)
				if kind == tiles.Full {
					testBytes[float64](t, kind, n, n+5, nb)
				}
			}
		}
	}
	for _, big := range []int64{1 << 20, math.MaxInt32} {
		for _, nb := range []int64{1, 256, 1 << 20} {
			for kind := tiles.Full; kind <= tiles.TriUpper; kind++ {
				if got := tiles.Bytes[float64](kind, big, big, nb); got < big*big*3 && big < 1<<30 || got <= 8<<30 {
					t.Errorf("%v n=%d nb=%d: %d bytes", kind, big, nb, got)
				}
			}
		}
	}
}

func testBytes[T tiles.Element](t *testing.T, kind tiles.Kind, m, n, nb int) {
	a := tiles.New[T](kind, m, n, nb)
	var data int64
	for i, j := range a.StoredTiles() {
		data += int64(len(a.Tile(i, j).Data) * scalar.Size[T]())
	}
	mt, nt := a.Tiles()
	got := tiles.Bytes[T](kind, int64(m), int64(n), int64(nb))
	if want := data + int64(mt*nt)*(int64(unsafe.Sizeof(tiles.Tile[T]{}))+64); got != want {
		t.Errorf("%v %d×%d nb=%d: %d bytes, want %d", kind, m, n, nb, got, want)
	}
}
