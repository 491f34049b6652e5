package file

import "github.com/tessera-la/tessera/blocked"

// symmetric reports whether a is of a type that says that it is symmetric.
func symmetric[T blocked.Element](a blocked.Source[T]) bool {
	if tiled, ok := a.(*blocked.Matrix[T]); ok {
		return tiled.Kind().Symmetric()
	}
	_, ok := a.(blocked.SymmetricSource[T])
	return ok
}

// lineInto copies what lies from element first on of row k of a, or of column k, to
// dst, which is as long as the line.
func lineInto[T blocked.Element](a blocked.Source[T], dst []T, first, k int, column bool) {
	if tiled, ok := a.(*blocked.Matrix[T]); ok {
		tiledLineInto(tiled, dst, first, k, column)
		return
	}
	for q := first; q < len(dst); q++ {
		if column {
			dst[q] = a.At(q, k)
		} else {
			dst[q] = a.At(k, q)
		}
	}
}

// tiledLineInto is lineInto with the elements that a does not store.
func tiledLineInto[T blocked.Element](a *blocked.Matrix[T], dst []T, first, k int, column bool) {
	nb := a.NB()
	for p := first / nb * nb; p < len(dst); p += nb {
		seg := dst[p:min(p+nb, len(dst))]
		i, j, down := k/nb, p/nb, column
		if column {
			i, j = j, i
		}
		if symmetric[T](a) && !a.Stored(i, j) { // the mirror image is
			i, j, down = j, i, !down
		}
		switch {
		case a.Kind() != blocked.Full && (i == j || !a.Stored(i, j)):
			for q := range seg {
				if column {
					seg[q] = a.At(p+q, k)
				} else {
					seg[q] = a.At(k, p+q)
				}
			}
		case down:
			stridedCopy(seg, a.Read(i, j), k%nb)
		default:
			copy(seg, a.Read(i, j).Row(k%nb))
		}
	}
}

// stridedCopy copies column c of t into dst.
func stridedCopy[T blocked.Element](dst []T, t *blocked.Tile[T], c int) {
	for k := range dst {
		dst[k] = t.Data[k*t.Stride+c]
	}
}
