//go:build !noasm

package neon

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// factorF64 and factorF32 are Factor. NEON has no masks: the triangle of C goes through the tile in X,
// all of which may be written to.

func factorF64(t *isa.Leaf) { factor[float64](t, factorTileF64) }
func factorF32(t *isa.Leaf) { factor[float32](t, factorTileF32) }

func factor[T scalar.Real](t *isa.Leaf, tile func(t *isa.Leaf)) {
	size := int(unsafe.Sizeof(*new(T)))
	lanes := vector / size
	stride := isa.RowVectors * vector
	width := t.Width * lanes         // of the tile
	last := width - lanes + t.Last   // columns that C has
	x := unsafe.Add(t.X, t.K*stride) // row i of the tile
	c, first := t.C, t.Lane          // row i of C, and its column on the diagonal
	for range rows {
		row := unsafe.Slice((*T)(x), width)
		copy(row[first:last], unsafe.Slice((*T)(c), last)[first:])
		clear(row[last:])
		x, c, first = unsafe.Add(x, stride), unsafe.Add(c, t.LDC), first+1
	}
	tile(t)
	x, c, first = unsafe.Add(t.X, t.K*stride), t.C, t.Lane
	for range rows {
		copy(unsafe.Slice((*T)(c), last)[first:], unsafe.Slice((*T)(x), width)[first:last])
		x, c, first = unsafe.Add(x, stride), unsafe.Add(c, t.LDC), first+1
	}
}

// A vector of the tables is a pair of registers, and a tile has so many rows.
const (
	vector = 32
	rows   = 4
)
