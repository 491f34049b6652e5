package cpu

import (
	"time"

	"gonum.org/v1/gonum/blas"
)

const (
	// ratesRows, ratesCols and ratesDepth are the shape of the products that are timed: that of an update of a tile by
	// a panel and its twin in the reduction to a band.
	ratesRows, ratesCols, ratesDepth = 192, 192, 96
	ratesParts                       = 16 // products, or parts of a matrix, in one run
	ratesRuns                        = 3  // of which the fastest counts, after one that does not
)

// Rates measures what the crew does in a second: operations in products of tiles, by all units and by one alone, and
// elements of the m×n matrix A that it reads from memory. Of A only the upper triangle is read if that is set. It takes about
// as long as 80 of these products and four readings of A.
func (c *condensed[T]) Rates(m, n int, a []T, lda int, upper bool) (all, one, memory float64) {
	checkMatrix(m, n, len(a), lda)
	const flops, size = 2 * ratesRows * ratesCols * ratesDepth, ratesRows*ratesDepth + ratesDepth*ratesCols + ratesRows*ratesCols
	products := func(parts, each int) float64 {
		return float64(parts*each) * flops / fastest(func() {
			c.crew(parts, size+c.Work(ratesRows), func(_, _ int, work []T) {
				clear(work[:size])
				x, y, z := work, work[ratesRows*ratesDepth:], work[ratesRows*ratesDepth+ratesDepth*ratesCols:]
				for range each {
					c.Gemm(blas.NoTrans, blas.NoTrans, ratesRows, ratesCols, ratesDepth, 1, x, ratesDepth, y, ratesCols, 1, z, ratesCols,
						work[size:])
				}
			})
		})
	}
	one, all = products(1, 4), products(ratesParts, 1)
	rows, elements := (m+ratesParts-1)/ratesParts, 0
	first := func(part int) (lo, hi, column int) {
		lo, hi = min(part*rows, m), min((part+1)*rows, m)
		if upper {
			column = min(lo, n)
		}
		return lo, hi, column
	}
	for part := range ratesParts {
		lo, hi, column := first(part)
		elements += (hi - lo) * (n - column)
	}
	memory = float64(elements) / fastest(func() {
		c.crew(ratesParts, n+rows, func(part, _ int, work []T) {
			lo, hi, column := first(part)
			clear(work[:n+rows])
			if lo < hi && column < n {
				c.stripRows(0, hi-lo, n-column, a[lo*lda+column:], lda, work[:n], work[n:])
			}
		})
	})
	return all, one, memory
}

// fastest returns the seconds of the fastest of several runs of f.
func fastest(f func()) (seconds float64) {
	f()
	for i := range ratesRuns {
		began := time.Now()
		f()
		if x := time.Since(began).Seconds(); i == 0 || x < seconds {
			seconds = x
		}
	}
	return max(seconds, 1e-9)
}
