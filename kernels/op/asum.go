package op

import (
	"math"

	"github.com/tessera-la/tessera/internal/abssum"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Asum is the parameter of op "asum" (PLASMA's core_asum): sums of magnitudes of a tile, of all
// of it (Uplo = All) or of its Uplo triangle,
//
//	s(0, j) = Σᵢ |a(i, j)|,  s(1, i) = Σⱼ |a(i, j)|,  s(2, 0) = max |a(i, j)|.
//
// With Symmetric the tile is symmetric and stores its Uplo triangle; both sums are those of the
// whole tile. A NaN or an infinity makes each sum that includes it NaN or infinite; the largest
// magnitude is then infinite, or at least that of the finite elements.
//
// Operands: A (in, m×n), S (out, 3 rows, max(m, n) columns or more; the rest is 0).
type Asum struct {
	Uplo      blas.Uplo `uplo:"all"`
	Symmetric bool
}

// Validate returns an error if a field is out of range.
func (p *Asum) Validate() error { return check("asum", p) }

// asumOp defines op "asum".
func asumOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "asum", Work: asumWork[T], NewParams: fresh[Asum]},
		about:  "sums of absolute values, for norms",
		copies: asum[T],
	}
}

// asumOf returns the operands of op "asum".
func asumOf[T kernels.Element](call *versions.Call) (a, s *kernels.Tile[T]) {
	a, s = args[T](call, 2)
	if s.Rows != 3 || s.Cols < max(a.Rows, a.Cols) {
		panic(kernels.ErrShape)
	}
	return a, s
}

// asumWork returns the elements of A.
func asumWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := asumOf[T](call)
	return float64(a.Rows) * float64(a.Cols)
}

// asum sums four rows at a time over the columns that all four have in the triangle, and the
// columns near the diagonal row by row.
func asum[T kernels.Element](call *versions.Call) error {
	p := params[Asum](call)
	a, s := asumOf[T](call)
	if p.Symmetric && a.Rows != a.Cols {
		panic(kernels.ErrShape)
	}
	columns, rows := s.Row(0), s.Row(1)
	for line := range s.Rows {
		clear(s.Row(line))
	}
	sums, ok := any(columns).([]float64)
	if !ok {
		sums = make([]float64, len(columns))
	}
	top := 0.0
	for i, n := 0, 0; i < a.Rows; i += n {
		// Four rows at a time have columns lo to hi in common, vectors of which are summed up; the
		// others are about the diagonal.
		var part [4]float64
		var lo, hi int
		if n, lo, hi = commonColumns(p.Uplo, i, a.Rows, a.Cols); lo < hi {
			part = abssum.Four(a.Data[i*a.Stride+lo:], a.Stride, sums[lo:hi], &top)
			if sum := part[0] + part[1] + part[2] + part[3]; math.IsNaN(sum) {
				top = sum
			}
		}
		for k, sum := range part[:n] {
			d := i + k
			first, end := triangle(p.Uplo, d, a.Cols)
			if p.Uplo == blas.Upper {
				end = lo
			} else {
				first = hi
			}
			add := func(lo, hi int) float64 { return abssum.One(a.Row(d)[lo:hi], sums[lo:hi], &top) }
			if p.Symmetric {
				sums[d] += sum + add(first, d) + add(d+1, end) // as if mirrored
				add(d, d+1)
			} else {
				rows[d] = T(sum + add(first, end))
			}
		}
	}
	if !ok {
		for j, sum := range sums {
			columns[j] = T(sum)
		}
	}
	if p.Symmetric {
		copy(rows, columns)
	}
	if s.Cols > 0 {
		s.Set(2, 0, T(top))
	}
	return nil
}

// commonColumns returns how many rows from row i on are summed together, n = 1 or 4, and the
// columns lo to hi−1 that all of them have in the triangle. In the upper triangle each row has
// more columns before lo, otherwise from hi on.
func commonColumns(uplo blas.Uplo, i, rows, cols int) (n, lo, hi int) {
	switch four := i+4 <= rows; {
	case uplo == blas.Upper && four:
		return 4, min(i+4, cols), cols
	case uplo == blas.Upper:
		return 1, cols, cols
	case uplo == blas.Lower && four:
		return 4, 0, min(i, cols)
	case four:
		return 4, 0, cols
	}
	return 1, 0, 0
}
