package la

import (
	"context"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// ofFactor is of for a factor op(A) of a product, where A may be the transpose of a matrix in memory, too. op(A) is the
// transpose of m if transposed.
func (m *memory[T]) ofFactor(a Source[T], by blas.Transpose) (transposed, ok bool) {
	transposed = by == blas.Trans || by == blas.ConjTrans
	if !transposed && by != blas.NoTrans {
		return false, false
	}
	switch a := any(a).(type) {
	case *mat.Dense:
		return transposed, m.ofDense(a)
	case mat.Transpose:
		d, isDense := a.Matrix.(*mat.Dense)
		return !transposed, isDense && m.ofDense(d)
	}
	return transposed, m.of(a)
}

// shape returns the rows and columns of m, or of its transpose.
func (m *memory[T]) shape(transposed bool) (rows, cols int) {
	if transposed {
		return m.cols, m.rows
	}
	return m.rows, m.cols
}

// apart reports whether the memory of c, from the first element to the last, and that of m do not overlap.
func (m *memory[T]) apart(c *memory[T]) bool {
	size := unsafe.Sizeof(*new(T))
	p, q := uintptr(unsafe.Pointer(unsafe.SliceData(m.data))), uintptr(unsafe.Pointer(unsafe.SliceData(c.data)))
	return p+uintptr((m.rows-1)*m.stride+m.cols)*size <= q || q+uintptr((c.rows-1)*c.stride+c.cols)*size <= p
}

// gemmDirect is Gemm of small matrices in memory, if it returns true.
func gemmDirect[T Element](ctx context.Context, e *Engine, transA, transB blas.Transpose, alpha T, a, b Source[T], beta T,
	c Destination[T]) bool {
	var ma, mb, mc memory[T]
	ta, ok := ma.ofFactor(a, transA)
	if !ok || alpha == 0 {
		return false
	}
	tb, ok := mb.ofFactor(b, transB)
	if !ok {
		return false
	}
	m, k := ma.shape(ta)
	kb, n := mb.shape(tb)
	if k != kb || max(m, n, k) > smallOrder {
		return false
	}
	if ok = mc.of(c); !ok && beta == 0 {
		shape(Source[T](c), m, n)
		ok = mc.of(c)
	}
	if !ok || mc.rows != m || mc.cols != n || !ma.apart(&mc) || !mb.apart(&mc) {
		return false
	}
	if max(m, n, k) <= op.LoopGemm {
		if !e.Plain(ctx, op.LoopGemm) {
			return false
		}
		op.SmallGemm(ta, tb, m, n, k, alpha, ma.data, ma.stride, mb.data, mb.stride, beta, mc.data, mc.stride)
		return true
	}
	d := directly[T](ctx, e, max(m, n, k))
	if d == nil {
		return false
	}
	if n == 1 && !tb && k > 4 {
		op.SmallGemv(ta, ma.rows, ma.cols, alpha, ma.data, ma.stride, mb.data, mb.stride, beta, mc.data, mc.stride)
	} else {
		d.Gemm(ta, tb, m, n, k, alpha, ma.data, ma.stride, mb.data, mb.stride, beta, mc.data, mc.stride)
	}
	d.leave()
	return true
}

// gemvDirect is Gemv of a small matrix in memory, if it returns true.
func gemvDirect[T Element](ctx context.Context, e *Engine, trans blas.Transpose, alpha T, a Source[T], x VectorSource[T],
	beta T, y VectorSink[T]) bool {
	var ma, mx, my memory[T]
	ta, ok := ma.ofFactor(a, trans)
	if !ok || alpha == 0 || !mx.ofVector(x) {
		return false
	}
	m, n := ma.shape(ta)
	if mx.rows != n || max(m, n) > smallOrder || !e.Plain(ctx, max(m, n)) {
		return false
	}
	if ok = my.ofVector(y); !ok && beta == 0 {
		ok = my.ofResult(m, y)
	}
	if !ok || my.rows != m || !ma.apart(&my) || !mx.apart(&my) {
		return false
	}
	op.SmallGemv(ta, ma.rows, ma.cols, alpha, ma.data, ma.stride, mx.data, mx.stride, beta, my.data, my.stride)
	return true
}

// mulVecDirect is MulVec of small matrices and vectors of gonum's types, if it returns true: to tell what else there may be
// takes as long as so small a product.
func mulVecDirect[T Element](dst VectorSink[T], a Source[T], x VectorSource[T]) bool {
	d, ok := any(a).(*mat.Dense)
	if !ok {
		return false
	}
	from, ok := any(x).(*mat.VecDense)
	if !ok {
		return false
	}
	to, ok := any(dst).(*mat.VecDense)
	if !ok {
		return false
	}
	ra, rx, ry := d.RawMatrix(), from.RawVector(), to.RawVector()
	if max(ra.Rows, ra.Cols) > smallOrder || rx.N != ra.Cols || rx.Inc != 1 || ry.N != ra.Rows || ry.Inc != 1 || rx.N == 0 || ry.N == 0 {
		return false
	}
	y := ry.Data[:ry.N]
	if overlapping(y, ra.Data) || overlapping(y, rx.Data) {
		return false
	}
	if max(ra.Rows, ra.Cols) <= op.LoopGemv {
		op.LoopMulVec(ra.Data, ra.Stride, rx.Data[:rx.N], y)
	} else {
		op.SmallGemv(false, ra.Rows, ra.Cols, 1, ra.Data, ra.Stride, rx.Data, 1, 0, y, 1)
	}
	return true
}

// overlapping reports whether two slices with elements have one in common.
func overlapping(x, y []float64) bool {
	p, q := uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&y[0]))
	return p < q+8*uintptr(len(y)) && q < p+8*uintptr(len(x))
}
