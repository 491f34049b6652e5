package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// leaves is what an instruction set brings to trsm and potrf: kernels that
// take the diagonal blocks of a triangle in the registers that hold the sums
// over what precedes them. The zero value has none.
//
// Both work on a column strip X of at most nr columns, three vectors, whose
// rows lie nr apart in scratch. mr rows at a time are updated by all rows
// above, as in gemm, and then solved for or factored before they leave the
// registers:
//
//	            nr
//	       ┌─────────┐
//	   ┌───┤ X(0:k)  │ k       tile = C − A·X(0:k)
//	   │   ├─────────┤         tile = triangle⁻¹·tile   (solve)
//	mr │ A │tile = C │ mr
//	   └───┴─────────┘
type leaves[T Element] struct {
	*isa.Kernels[T]
	mr, nr, lanes int
}

// leavesOf returns the leaves of an instruction set, if it has some.
func leavesOf[T Element](k *isa.Kernels[T]) leaves[T] {
	if k.Solve == nil {
		return leaves[T]{}
	}
	return leaves[T]{Kernels: k, mr: k.Rows, nr: isa.RowVectors * k.Lanes, lanes: k.Lanes}
}

// set reports whether there are kernels.
func (l *leaves[T]) set() bool { return l.Kernels != nil }

// size is that of an element in bytes.
func (l *leaves[T]) size() int { return scalar.Size[T]() }

// work returns the scratch, in elements, for triangles of order n.
func (l *leaves[T]) work(n int) int {
	if !l.set() {
		return 0
	}
	rows := roundUp(n, l.mr)
	strips := (n + l.nr - 1) / l.nr
	trsm := rows + rows*l.nr + rows*(rows+l.mr)/2
	potrf := roundUp(rows, 16) + strips*(strips+1)/2*l.nr*l.nr
	return max(trsm, potrf)
}

// shape sets the width of the tiles to w columns. If they are X's own, C is
// a row of X, and they are whole vectors.
func (l *leaves[T]) shape(t *isa.Leaf, w int, own bool) {
	v := (w + l.lanes - 1) / l.lanes
	t.Last = w - (v-1)*l.lanes
	switch {
	case own:
		t.Width = isa.SolveWidth(v, isa.Own)
	case t.Last < l.lanes:
		t.Width = isa.SolveWidth(v, isa.Masked)
	default:
		t.Width = isa.SolveWidth(v, isa.Whole)
	}
}

// at returns the address of x[i], for kernels: see [isa.Hide].
func at[T Element](x []T, i int) unsafe.Pointer { return unsafe.Pointer(isa.Hide(&x[i])) }

// gather transposes the w×n matrix B, with leading dimension ldb, into rows
// of X: column u of B becomes row first+u·step. What lies beyond column w of
// the last vector becomes zero.
func (l *leaves[T]) gather(x []T, first, step int, b []T, ldb, w, n int) {
	lanes, size := l.lanes, l.size()
	if pad := roundUp(w, lanes); pad > w {
		for u := range n {
			o := (first + u*step) * l.nr
			clear(x[o+w : o+pad])
		}
	}
	if w < lanes || n < lanes {
		for v := range w {
			o := first*l.nr + v
			for _, y := range b[v*ldb : v*ldb+n] {
				x[o] = y
				o += step * l.nr
			}
		}
		return
	}
	// The last blocks overlap those before: what is copied twice is the same.
	stride := step * l.nr * size
	for v := 0; v < w; v += lanes {
		v := min(v, w-lanes)
		blocks := n / lanes
		l.Transpose(at(x, first*l.nr+v), stride, lanes*stride, at(b, v*ldb), ldb*size, lanes*size, blocks)
		if u := n - lanes; u > (blocks-1)*lanes {
			l.Transpose(at(x, (first+u*step)*l.nr+v), stride, 0, at(b, v*ldb+u), ldb*size, 0, 1)
		}
	}
}

// scatter undoes gather.
func (l *leaves[T]) scatter(b []T, ldb int, x []T, first, step, w, n int) {
	lanes, size := l.lanes, l.size()
	if w < lanes || n < lanes {
		for v := range w {
			o := first*l.nr + v
			bv := b[v*ldb : v*ldb+n]
			for u := range bv {
				bv[u] = x[o]
				o += step * l.nr
			}
		}
		return
	}
	stride := step * l.nr * size
	for v := 0; v < w; v += lanes {
		v := min(v, w-lanes)
		blocks := n / lanes
		l.Transpose(at(b, v*ldb), ldb*size, lanes*size, at(x, first*l.nr+v), stride, lanes*stride, blocks)
		if u := n - lanes; u > (blocks-1)*lanes {
			l.Transpose(at(b, v*ldb+u), ldb*size, 0, at(x, (first+u*step)*l.nr+v), stride, 0, 1)
		}
	}
}
