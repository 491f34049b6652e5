package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// panels is what an instruction set brings to [QR]: kernels on rows of 64
// bytes, for the narrow panels at which it stops splitting, and on blocks. What
// it has not is done in Go.
type panels[T Element] struct{ *isa.Kernels[T] }

// rowVector is one element for each column of a narrow panel.
type rowVector[T Element] [maxPanel]T

// maxPanel is the number of elements in 64 bytes if they are small.
const maxPanel = 16

// width returns the number of columns of a narrow panel: 64 bytes.
func (ps panels[T]) width() int { return 64 / scalar.Size[T]() }

// rows is some rows of a narrow panel of k columns. They begin at a cache line
// and lie a number of cache lines apart, so that all of their 64 bytes are
// there, and nobody's if there are fewer columns.
type panelRows[T Element] struct {
	a    []T
	lda  int
	m, k int
}

// args returns the arguments of a kernel for column c.
func (x panelRows[T]) args(c int, w, dots *rowVector[T]) isa.QRRows {
	size := scalar.Size[T]()
	_ = x.a[(x.m-1)*x.lda+64/size-1]
	return isa.QRRows{A: at(x.a, 0), LD: x.lda * size, M: x.m, C: c * size, W: unsafe.Pointer(w), Dots: unsafe.Pointer(dots)}
}

// dots computes the inner products of column c with all columns.
func (ps panels[T]) dots(x panelRows[T], c int, dots *rowVector[T]) {
	if x.m == 0 {
		*dots = rowVector[T]{}
		return
	}
	if ps.QRDots == nil {
		x.dots(c, dots)
		return
	}
	t := x.args(c, dots, dots)
	ps.QRDots(isa.Hide(&t))
}

// reflect subtracts column c times w from the columns after it, where w is not
// zero, and computes the inner products of column c+1 with all columns.
func (ps panels[T]) reflect(x panelRows[T], c int, w, dots *rowVector[T]) {
	if x.m == 0 {
		*dots = rowVector[T]{}
		return
	}
	if ps.QRDots == nil {
		x.reflect(c, w, dots)
		return
	}
	t := x.args(c, w, dots)
	ps.QRReflect(isa.Hide(&t))
}

// scale multiplies every column by its element of w.
func (ps panels[T]) scale(x panelRows[T], w *rowVector[T]) {
	if x.m == 0 {
		return
	}
	if ps.QRDots == nil {
		x.scale(w)
		return
	}
	t := x.args(0, w, w)
	ps.QRScale(isa.Hide(&t))
}

// subtract computes C −= X for m×n matrices.
func (ps panels[T]) subtract(c []T, ldc int, x []T, ldx, m, n int) {
	if m == 0 || n == 0 {
		return
	}
	size := scalar.Size[T]()
	_, _ = c[(m-1)*ldc+n-1], x[(m-1)*ldx+n-1]
	if ps.QRSubtract != nil {
		ps.QRSubtract(at(c, 0), ldc*size, at(x, 0), ldx*size, n*size, m)
		return
	}
	for i := range m {
		ci := c[i*ldc : i*ldc+n]
		for j, v := range x[i*ldx : i*ldx+n] {
			ci[j] -= v
		}
	}
}

// copy copies the m×n matrix X to C.
func (ps panels[T]) copy(c []T, ldc int, x []T, ldx, m, n int) {
	if m == 0 || n == 0 {
		return
	}
	size := scalar.Size[T]()
	_, _ = c[(m-1)*ldc+n-1], x[(m-1)*ldx+n-1]
	if ps.QRCopy != nil {
		ps.QRCopy(at(c, 0), ldc*size, at(x, 0), ldx*size, n*size, m)
		return
	}
	copyRows(c, 0, 1, ldc, x, 0, 1, ldx, n, m)
}

// dots is [panels.dots] in Go.
func (x panelRows[T]) dots(c int, dots *rowVector[T]) {
	*dots = rowVector[T]{}
	for i := range x.m {
		row := x.a[i*x.lda : i*x.lda+x.k]
		v := row[c]
		for j, y := range row {
			dots[j&(maxPanel-1)] += v * y
		}
	}
}

// reflect is [panels.reflect] in Go.
func (x panelRows[T]) reflect(c int, w, dots *rowVector[T]) {
	*dots = rowVector[T]{}
	for i := range x.m {
		row := x.a[i*x.lda : i*x.lda+x.k]
		v := row[c]
		for j := c + 1; j < len(row); j++ {
			row[j] -= v * w[j&(maxPanel-1)]
		}
		next := row[c+1]
		for j, y := range row {
			dots[j&(maxPanel-1)] += next * y
		}
	}
}

// scale is [panels.scale] in Go.
func (x panelRows[T]) scale(w *rowVector[T]) {
	for i := range x.m {
		row := x.a[i*x.lda : i*x.lda+x.k]
		for j := range row {
			row[j] *= w[j&(maxPanel-1)]
		}
	}
}
