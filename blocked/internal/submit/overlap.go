package submit

import (
	"unsafe"

	"github.com/tessera-la/tessera/blocked/tiles"
)

// Alone notes that tasks use x, a matrix of rows×cols elements in the caller's memory that
// begins at tile first. It panics with ErrOverlap if x overlaps another noted matrix and
// one of the two is written.
func (p *Tasks[T]) Alone(x any, first *tiles.Tile[T], rows, cols int, written bool) {
	size := unsafe.Sizeof(*new(T))
	e := extent{of: x, width: size * uintptr(cols), written: written}
	if rows > 1 { // one row has no stride
		e.stride = size * uintptr(first.Stride)
	}
	e.first = uintptr(unsafe.Pointer(unsafe.SliceData(first.Data)))
	e.end = e.first + uintptr(rows-1)*e.stride + e.width
	at := len(p.extents)
	for i, v := range p.extents {
		switch {
		case v.of != x:
			if (written || v.written) && e.overlaps(v) {
				panic(tiles.ErrOverlap)
			}
		case v.written || !written:
			return
		default:
			at = i // it was only read so far
		}
	}
	if at < len(p.extents) {
		p.extents[at] = e
	} else {
		p.extents = append(p.extents, e)
	}
}

// overlaps reports whether e and f may have an element in common. It is exact if the
// strides are equal.
func (e extent) overlaps(f extent) bool {
	if e.end <= f.first || f.end <= e.first {
		return false
	}
	if f.first < e.first {
		e, f = f, e
	}
	// Modulo a common divisor of the strides, all rows of a matrix are at the same place.
	g, rest := e.stride, f.stride
	for rest != 0 {
		g, rest = rest, g%rest
	}
	if g == 0 {
		return true
	}
	column := (f.first - e.first) % g
	return column < e.width || column+f.width > g
}
