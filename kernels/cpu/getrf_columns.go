package cpu

import (
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// columns is luColumns in vectors, for n ≤ luWidth: each column is updated by all
// before it and searched for its pivot in one pass, in which the column before
// it, whose pivot is known since, is divided by that.
func (l *luLeaves[T]) columns(m, n int, x []T, ld int, ipiv []int) (info int) {
	size := scalar.Size[T]()
	t := isa.LUColumn{X: at(x, 0), LD: ld * size, Blocks: roundUp(m, l.block()) / l.block()}
	scale := T(1)
	for j := range n {
		col := x[j*ld : j*ld+m]
		t.C, t.K, t.Scale = at(col, 0), j, bits(scale)
		l.LUUpdate(isa.Hide(&t))
		if ipiv != nil {
			r := l.pivot(&t, col, j)
			ipiv[j] = r
			if r != j {
				for o := 0; o < n*ld; o += ld {
					x[o+j], x[o+r] = x[o+r], x[o+j]
				}
			}
		}
		scale = 1
		switch pivot := col[j]; {
		case pivot == 0:
			if info == 0 {
				info = j + 1
			}
		case magnitude(pivot) < safeMin[T]():
			divide(col[j+1:], pivot)
		default:
			scale = 1 / pivot
		}
	}
	t.K, t.Scale = n, bits(scale)
	l.LUScale(isa.Hide(&t))
	return info
}

// pivot returns the row of the greatest magnitude from row j on, as iamax does,
// after t has gone through column col.
func (l *luLeaves[T]) pivot(t *isa.LUColumn, col []T, j int) int {
	r := j
	if d := col[j]; d != d {
		return r
	}
	most := T(0)
	lanes := l.LUTurn * l.Lanes
	single := scalar.Of[T]() == scalar.Float32
	for i, v := range unsafe.Slice((*T)(unsafe.Pointer(&t.Most)), lanes) {
		if v < most || v == 0 {
			continue
		}
		var where int
		if single {
			where = int((*[16]int32)(unsafe.Pointer(&t.Where))[i])
		} else {
			where = int((*[8]int64)(unsafe.Pointer(&t.Where))[i])
		}
		if where += i; v > most || where < r {
			most, r = v, where
		}
	}
	return r
}

// bits returns the bits of v.
func bits[T Element](v T) uint64 {
	if scalar.Of[T]() == scalar.Float32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(float64(v))
}
