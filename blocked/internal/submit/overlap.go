package submit

import (
	"unsafe"

	"github.com/tessera-la/tessera/blocked/tiles"
)

// extent is where a matrix lies in memory of the caller's: rows of width bytes,
// stride bytes apart.
type extent struct {
	of            any // the Matrix or the Slices
	first, end    uintptr
	width, stride uintptr
	written       bool // or may be
}

// Alone notes that tasks use x, a matrix of rows×cols elements in memory of the
// caller's, which begins with the first tile. It panics with ErrOverlap if x or
// another matrix in the same place is written.
func (p *Tasks[T]) Alone(x any, first *tiles.Tile[T], rows, cols int, written bool) {
	size := unsafe.Sizeof(*new(T))
	e := extent{of: x, width: size * uintptr(cols), written: written}
	if rows > 1 { // one row has no stride
		e.stride = size * uintptr(first.Stride)
	}
	e.first = uintptr(unsafe.Pointer(unsafe.SliceData(first.Data)))
	e.end = e.first + uintptr(rows-1)*e.stride + e.width
	at := len(p.views)
	for i, v := range p.views {
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
	if at < len(p.views) {
		p.views[at] = e
	} else {
		p.views = append(p.views, e)
	}
}

// overlaps reports whether e and f may have an element in common. It is exact where
// the strides are equal.
func (e extent) overlaps(f extent) bool {
	if e.end <= f.first || f.end <= e.first {
		return false
	}
	if f.first < e.first {
		e, f = f, e
	}
	// Both repeat with every common divisor of the strides.
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
