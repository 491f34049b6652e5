package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

const (
	// windowSweeps is about how many sweeps meet the columns of X in a window, and windowSteps after how many steps it moves on.
	windowSweeps = 240
	windowSteps  = 4
	// windowRows is the largest number of rows of X in a window that are multiplied at a time: as many as the right operand of
	// a product may have where it lies. sweepRows is the largest number of rows of X in a part of OrmSweeps.
	windowRows = 152
	sweepRows  = 2 * windowRows
	// windowHigh is how many rows of X are written at a time. With many, their cache lines are waited for.
	windowHigh = 16
)

// sweepWindow is the columns of some rows of X that reflectors meet, transposed: so products read them in order, and pack
// nothing. When all groups of sweeps have done step u, the first b columns of that step are done. So X passes through the
// window, which is in the second-level cache, once for all groups.
//
//	columns of X:   done │ base: of step u │ of later steps │ end: to come
type sweepWindow[T Element] struct {
	n, reach  int // columns of X, and how many of them a step meets
	room      int // columns
	high, ld  int // rows of X that are multiplied at a time, and how far apart their columns are
	rows      int // of X
	x         []T
	ldx       int
	data      []T
	base, end int
	kernels   *isa.Kernels[T]
}

// newSweepWindow returns a window, without memory, for at most that many rows of n columns and so many sweeps of a chase
// with b superdiagonals.
func newSweepWindow[T Element](k *isa.Kernels[T], n, b, sweeps, rows int) (w sweepWindow[T]) {
	w.n, w.rows, w.kernels = n, rows, k
	w.reach = min(sweeps+b, n)
	w.room = min(w.reach+windowSteps*b, n)
	line := 64 / scalar.Size[T]()
	blocks := (rows + windowRows - 1) / windowRows
	w.high = roundUp((rows+blocks-1)/blocks, line)
	if w.ld = w.high; w.ld/line%2 == 0 {
		w.ld += line // its columns are in all sets of a cache
	}
	return w
}

// size returns the number of elements of memory that w needs.
func (w *sweepWindow[T]) size() int { return (w.rows + w.high - 1) / w.high * w.room * w.ld }

// of returns w on some rows of X, with memory.
func (w sweepWindow[T]) of(rows int, x []T, ldx int, memory []T) *sweepWindow[T] {
	w.rows, w.x, w.ldx, w.data = rows, x, ldx, memory
	return &w
}

// begin empties w. The first step will begin in that column.
func (w *sweepWindow[T]) begin(column int) { w.base, w.end = column, column }

// at returns the transpose of X from row i, the first of those that are multiplied at a time, and a column in the window on.
func (w *sweepWindow[T]) at(i, column int) []T {
	return w.data[(i/w.high*w.room+column-w.base)*w.ld : (i/w.high+1)*w.room*w.ld]
}

// advance gets the columns of a step that begins in column first. Those before it are done.
func (w *sweepWindow[T]) advance(first int) {
	if first < w.n && min(first+w.reach, w.n) <= w.end {
		return
	}
	first = min(first, w.n)
	last, done := min(first+w.room, w.n), min(first, w.end)
	for i := 0; i < w.rows; i += w.high {
		m, x := min(w.high, w.rows-i), w.x[i*w.ldx:]
		if w.base < done {
			w.transpose(x[w.base:], w.ldx, w.at(i, w.base), w.ld, done-w.base, m, windowHigh)
			copy(w.at(i, w.base), w.at(i, done)[:(w.end-done)*w.ld])
		}
		if w.end < last {
			w.transpose(w.at(i, w.base)[(w.end-done)*w.ld:], w.ld, x[w.end:], w.ldx, m, last-w.end, last-w.end)
		}
	}
	w.base, w.end = done, last
}

// transpose sets dst, whose rows are ldd elements apart, to the transpose of the m×n matrix src, whose rows are lds apart. It
// writes high rows of dst at a time.
func (w *sweepWindow[T]) transpose(dst []T, ldd int, src []T, lds, m, n, high int) {
	whole := 0
	if lanes := w.kernels.Lanes; w.kernels.PackTransposed != nil && n > 0 {
		size := scalar.Size[T]()
		whole = m / lanes * lanes
		for j := 0; j < n; j += high {
			k := min(high, n-j)
			for i := 0; i < whole; i += lanes {
				_, _ = dst[(j+k-1)*ldd+i+lanes-1], src[(i+lanes-1)*lds+j+k-1]
				w.kernels.PackTransposed(isa.Hide(&isa.Panel{
					Dst: unsafe.Pointer(&dst[j*ldd+i]), Pitch: ldd * size,
					Src: unsafe.Pointer(&src[i*lds+j]), Stride: lds * size,
					K: k, W: lanes,
				}))
			}
		}
	}
	if whole < m {
		transpose.Copy(dst[whole:], ldd, src[whole*lds:], lds, n, m-whole)
	}
}
