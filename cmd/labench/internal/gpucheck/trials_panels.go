package gpucheck

import (
	"fmt"
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// The factors of a well conditioned matrix differ as little as the roundings do:
// the diagonals of these are large. Where there is nothing to annihilate, not a bit
// may change, and T is zero.

// triangles returns where the T of k reflectors are in blocks of ib.
func triangles(ib, k int) func(i, j int) bool {
	return func(i, j int) bool { return j < k && i <= j%ib }
}

// geqrt returns the trials of op "geqrt".
func (m *maker[T]) geqrt() (all []*trial[T]) {
	for _, shape := range [][4]int{{0, 3, 2, 0}, {1, 1, 1, 0}, {7, 5, 3, 0}, {5, 7, 9, 2}, {64, 64, 16, 0}, {129, 100, 32, 29}, {100, 129, 33, 0}, {m.edge, m.edge - 1, 64, 0}} {
		r, c, ib, row := shape[0], shape[1], shape[2], shape[3]
		k := min(r-row, c)
		in := func(i, _ int) bool { return i >= row }
		for _, nothing := range []bool{false, true} {
			a, t := m.tile(r, c, in), m.tile(min(ib, k), k, nowhere)
			for i := row; i < r; i++ {
				for j := range c {
					m.condition(a, i, j, i-row == j, nothing && i-row > j)
				}
			}
			all = append(all, &trial[T]{what: fmt.Sprintf("%d×%d from row %d, ib=%d, nothing below: %t", r, c, row, ib, nothing),
				params: &kernels.Geqrt{IB: ib, Row: row}, args: []any{a, t}, uses: []versions.Use{inout, inout},
				parts: []func(i, j int) bool{in, triangles(ib, k)}, exact: nothing, scale: 4 * math.Sqrt(float64(max(k, 1)))})
		}
	}
	return all
}

// condition makes an element one of a well conditioned matrix.
func (m *maker[T]) condition(a *tile[T], i, j int, diagonal, zero bool) {
	switch {
	case zero:
		a.Set(i, j, 0)
	case diagonal:
		a.Set(i, j, 4)
	default:
		a.Set(i, j, T(float64(a.At(i, j))/math.Sqrt(float64(max(a.Rows, a.Cols)))))
	}
}

// tpqrt returns the trials of op "tsqrt", or of "ttqrt" for a trapezoid.
func (m *maker[T]) tpqrt(trapezoid bool) (all []*trial[T]) {
	upper := triangle(blas.Upper, blas.NonUnit)
	for _, shape := range [][3]int{{0, 3, 2}, {1, 1, 1}, {7, 5, 3}, {5, 7, 9}, {64, 64, 16}, {129, 100, 32}, {50, 129, 33}, {m.edge, m.edge - 1, 64}} {
		r, n, ib := shape[0], shape[1], shape[2]
		var in func(i, j int) bool
		params := any(&kernels.Tsqrt{IB: ib})
		if trapezoid {
			in, params = upper, &kernels.Ttqrt{IB: ib}
		}
		for _, nothing := range []bool{false, true} {
			top, a, t := m.tile(n, n, upper), m.tile(r, n, in), m.tile(min(ib, n), n, nowhere)
			for j := range n {
				for i := range j + 1 {
					m.condition(top, i, j, i == j, false)
				}
				for i := range r {
					if in == nil || in(i, j) {
						m.condition(a, i, j, false, nothing)
					}
				}
			}
			all = append(all, &trial[T]{what: fmt.Sprintf("%d×%d, ib=%d, nothing below: %t", r, n, ib, nothing),
				params: params, args: []any{top, a, t}, uses: []versions.Use{inout, inout, inout},
				parts: []func(i, j int) bool{upper, in, triangles(ib, n)}, exact: nothing, scale: 4 * math.Sqrt(float64(n))})
		}
	}
	return all
}
