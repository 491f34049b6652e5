package la

import (
	"context"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// factorOf is memoryOf for a factor of a product, which may be the transpose of a matrix in memory.
func factorOf[T Element](a Source[T], by blas.Transpose) (m memory[T], transposed, ok bool) {
	transposed = by == blas.Trans || by == blas.ConjTrans
	if !transposed && by != blas.NoTrans {
		return m, false, false
	}
	if t, isTransposed := any(a).(mat.Transpose); isTransposed {
		d, isDense := t.Matrix.(*mat.Dense)
		if !isDense {
			return m, false, false
		}
		g := general[T](d)
		m = memory[T]{g.Rows, g.Cols, g.Stride, g.Data}
		return m, !transposed, m.holds()
	}
	m, ok = memoryOf(a)
	return m, transposed, ok
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
	ma, ta, ok := factorOf(a, transA)
	if !ok || alpha == 0 {
		return false
	}
	mb, tb, ok := factorOf(b, transB)
	if !ok {
		return false
	}
	m, k := ma.shape(ta)
	kb, n := mb.shape(tb)
	if k != kb || max(m, n, k) > smallOrder {
		return false
	}
	mc, ok := memoryOf[T](c)
	if !ok && beta == 0 {
		mc, ok = resultMemory(c, m, n)
	}
	if !ok || mc.rows != m || mc.cols != n || !ma.apart(&mc) || !mb.apart(&mc) {
		return false
	}
	d := directly[T](ctx, e, max(m, n, k))
	if d == nil {
		return false
	}
	if n == 1 && !tb && k > 4 {
		d.Gemv(ta, ma.rows, ma.cols, alpha, ma.data, ma.stride, mb.data, mb.stride, beta, mc.data, mc.stride)
	} else {
		d.Gemm(ta, tb, m, n, k, alpha, ma.data, ma.stride, mb.data, mb.stride, beta, mc.data, mc.stride)
	}
	d.leave()
	return true
}

// gemvDirect is Gemv of a small matrix in memory, if it returns true.
func gemvDirect[T Element](ctx context.Context, e *Engine, trans blas.Transpose, alpha T, a Source[T], x VectorSource[T],
	beta T, y VectorSink[T]) bool {
	ma, ta, ok := factorOf(a, trans)
	if !ok || alpha == 0 {
		return false
	}
	m, n := ma.shape(ta)
	mx, ok := vectorOf[T](x)
	if !ok || mx.rows != n || max(m, n) > smallOrder {
		return false
	}
	my, ok := vectorOf[T](y)
	if !ok && beta == 0 {
		my, _, ok = vectorsOf(m, y, n, x)
	}
	if !ok || my.rows != m || !ma.apart(&my) || !mx.apart(&my) {
		return false
	}
	d := directly[T](ctx, e, max(m, n))
	if d == nil {
		return false
	}
	d.Gemv(ta, ma.rows, ma.cols, alpha, ma.data, ma.stride, mx.data, mx.stride, beta, my.data, my.stride)
	d.leave()
	return true
}
