package file

import "github.com/tessera-la/tessera/blocked"

// symmetric reports whether a is a Matrix of a symmetric kind, or another SymmetricSource.
func symmetric[T blocked.Element](a blocked.Source[T]) bool {
	if tiled, ok := a.(*blocked.Matrix[T]); ok {
		return tiled.Kind().Symmetric()
	}
	_, ok := a.(blocked.SymmetricSource[T])
	return ok
}

// lineKind is what a line of a file is: a row or a column of the matrix.
type lineKind bool

const (
	rowLine    lineKind = false
	columnLine lineKind = true
)

// lineInto copies row or column k of a to dst, from element first on. dst is as long as the line; elements
// before first are undefined.
func lineInto[T blocked.Element](a blocked.Source[T], dst []T, first int, kind lineKind, k int) {
	if tiled, ok := a.(*blocked.Matrix[T]); ok {
		tiledLineInto(tiled, dst, first, kind, k)
		return
	}
	for q := first; q < len(dst); q++ {
		if kind == columnLine {
			dst[q] = a.At(q, k)
		} else {
			dst[q] = a.At(k, q)
		}
	}
}

// tiledLineInto is lineInto for a Matrix. It also copies the elements that a does not store.
func tiledLineInto[T blocked.Element](a *blocked.Matrix[T], dst []T, first int, kind lineKind, k int) {
	nb := a.NB()
	for at := first / nb * nb; at < len(dst); at += nb {
		segment := dst[at:min(at+nb, len(dst))]
		i, j, down := k/nb, at/nb, kind == columnLine
		if down {
			i, j = j, i
		}
		if symmetric[T](a) && !a.Stored(i, j) { // but a stores the mirror image
			i, j, down = j, i, !down
		}
		switch {
		case a.Kind() != blocked.Full && (i == j || !a.Stored(i, j)):
			for q := range segment {
				if kind == columnLine {
					segment[q] = a.At(at+q, k)
				} else {
					segment[q] = a.At(k, at+q)
				}
			}
		case down:
			stridedCopy(segment, a.Read(i, j), k%nb)
		default:
			copy(segment, a.Read(i, j).Row(k%nb))
		}
	}
}

// stridedCopy copies column c of t into dst.
func stridedCopy[T blocked.Element](dst []T, t *blocked.Tile[T], c int) {
	for k := range dst {
		dst[k] = t.Data[k*t.Stride+c]
	}
}
