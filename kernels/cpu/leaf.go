package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/internal/asm"
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
	isa           asm.ISA
	mr, nr, lanes int
}

// leavesAVX512 returns the leaves in AVX-512F, and of AVX-512 nothing else, if
// this build has them.
func leavesAVX512[T Element]() leaves[T] {
	if !asm.HasAVX512() {
		return leaves[T]{}
	}
	return scalar.Pick[T](
		leaves[T]{isa: asm.F32AVX512, mr: 8, lanes: 16, nr: asm.Vectors * 16},
		leaves[T]{isa: asm.F64AVX512, mr: 8, lanes: 8, nr: asm.Vectors * 8})
}

// leavesAVX2 returns the leaves in AVX2 and FMA3, if this build has them.
func leavesAVX2[T Element]() leaves[T] {
	if !asm.HasAVX2() {
		return leaves[T]{}
	}
	return scalar.Pick[T](
		leaves[T]{isa: asm.F32AVX2, mr: 4, lanes: 8, nr: asm.Vectors * 8},
		leaves[T]{isa: asm.F64AVX2, mr: 4, lanes: 4, nr: asm.Vectors * 4})
}

// set reports whether there are kernels.
func (l *leaves[T]) set() bool { return l.isa != 0 }

// size is that of an element in bytes.
func (l *leaves[T]) size() int { return int(unsafe.Sizeof(*new(T))) }

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
func (l *leaves[T]) shape(t *asm.Leaf, w int, own bool) {
	v := (w + l.lanes - 1) / l.lanes
	t.Last = w - (v-1)*l.lanes
	switch {
	case own:
		t.Width = asm.SolveWidth(v, asm.Own)
	case t.Last < l.lanes:
		t.Width = asm.SolveWidth(v, asm.Masked)
	default:
		t.Width = asm.SolveWidth(v, asm.Whole)
	}
}

// at returns the address of x[i].
func at[T Element](x []T, i int) unsafe.Pointer { return unsafe.Pointer(&x[i]) }

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
		l.isa.Transpose(at(x, first*l.nr+v), stride, lanes*stride, at(b, v*ldb), ldb*size, lanes*size, blocks)
		if u := n - lanes; u > (blocks-1)*lanes {
			l.isa.Transpose(at(x, (first+u*step)*l.nr+v), stride, 0, at(b, v*ldb+u), ldb*size, 0, 1)
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
		l.isa.Transpose(at(b, v*ldb), ldb*size, lanes*size, at(x, first*l.nr+v), stride, lanes*stride, blocks)
		if u := n - lanes; u > (blocks-1)*lanes {
			l.isa.Transpose(at(b, v*ldb+u), ldb*size, 0, at(x, (first+u*step)*l.nr+v), stride, 0, 1)
		}
	}
}
