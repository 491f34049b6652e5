package bench

import (
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/la"
)

// plain multiplies vectors and a matrix in loops that share no code with the kernels.
type plain[T la.Element] struct {
	la.General[T]
	half    bool // only the lower triangle or trapezoid is stored …
	mirror  bool // … and also stands for the upper one
	workers int
}

// stripes is the number of parts into which rows are divided. It does not depend on the number of workers, so
// neither do rounding errors.
const stripes = 32

// width returns the number of stored elements of row i.
func (a *plain[T]) width(i int) int {
	if a.half {
		return min(i+1, a.Cols)
	}
	return a.Cols
}

// left returns yᵀA.
func (a *plain[T]) left(y []float64) []float64 {
	sums := make([][]float64, stripes)
	a.each(func(s, lo, hi int) {
		z := make([]float64, a.Cols)
		for i := lo; i < hi; i++ {
			row := a.Data[i*a.Stride : i*a.Stride+a.width(i)]
			t := y[i]
			for j, v := range row {
				z[j] += t * float64(v)
			}
			if a.mirror {
				z[i] += inner(row[:i], y)
			}
		}
		sums[s] = z
	})
	z := make([]float64, a.Cols)
	for _, s := range sums {
		for j, v := range s {
			z[j] += v
		}
	}
	return z
}

// right returns A·y. A must not be mirrored; use left in that case, which is the same.
func (a *plain[T]) right(y []float64) []float64 {
	z := make([]float64, a.Rows)
	a.each(func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			z[i] = inner(a.Data[i*a.Stride:i*a.Stride+a.width(i)], y)
		}
	})
	return z
}

// inner returns the sum of x_j·y_j over x.
func inner[T la.Element](x []T, y []float64) float64 {
	var s0, s1 float64
	y = y[:len(x)]
	j := 0
	for ; j+2 <= len(x); j += 2 {
		s0 += float64(x[j]) * y[j]
		s1 += float64(x[j+1]) * y[j+1]
	}
	if j < len(x) {
		s0 += float64(x[j]) * y[j]
	}
	return s0 + s1
}

// each calls f for every stripe of rows, on several goroutines. They have ended when it returns.
func (a *plain[T]) each(f func(s, lo, hi int)) { parallel(a.workers, a.Rows, stripes, f) }

// parallel divides n into parts and calls f for each, on at most the given number of goroutines. They have
// ended when it returns.
func parallel(workers, n, parts int, f func(part, lo, hi int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(max(workers, 1), parts) {
		all.Go(func() {
			for s := int(next.Add(1)) - 1; s < parts; s = int(next.Add(1)) - 1 {
				if lo, hi := s*n/parts, (s+1)*n/parts; lo < hi {
					f(s, lo, hi)
				}
			}
		})
	}
	all.Wait()
}
