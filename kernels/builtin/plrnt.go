package builtin

import (
	"math"

	"github.com/tessera-la/tessera/internal/abssum"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// uniform returns a number in [-½, ½) that depends on its arguments only: the counter
// based generator SplitMix64, with the place of the element as its counter.
func uniform(seed, i, j uint64) float64 {
	x := seed ^ (i+1)*0x9e3779b97f4a7c15 ^ (j+1)*0xd1b54a32d192ed03
	for range 2 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11)*0x1p-53 - 0.5
}

func plrnt[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Plrnt](call)
	a, _ := args[T](call, 1)
	for r := range a.Rows {
		for c, row := 0, a.Row(r); c < len(row); c++ {
			i, j := uint64(p.Row+r), uint64(p.Col+c)
			bump := 0.0
			if i == j {
				bump = p.Bump
			}
			if p.Symmetric {
				i, j = min(i, j), max(i, j)
			}
			row[c] = T(uniform(p.Seed, i, j) + bump)
		}
	}
	return nil
}

// plrntWork returns the elements of A.
func plrntWork[T kernels.Element](call *versions.Call) float64 { return lasetWork[T](call) }

// asumOf returns the operands of op "asum".
func asumOf[T kernels.Element](call *versions.Call) (a, s *kernels.Tile[T]) {
	a, s = args[T](call, 2)
	if s.Rows != 3 || s.Cols < max(a.Rows, a.Cols) {
		panic(kernels.ErrShape)
	}
	return a, s
}

func asum[T kernels.Element](call *versions.Call) error {
	p := params[kernels.Asum](call)
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
		if n, lo, hi = inCommon(p.Uplo, i, a.Rows, a.Cols); lo < hi {
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

// inCommon returns how many rows from row i on are summed up together, one or four, and the columns
// of all of these that are in the triangle and not about the diagonal. Columns before lo, of the
// upper triangle, or else from hi on, are each row's own.
func inCommon(uplo blas.Uplo, i, rows, cols int) (n, lo, hi int) {
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

// asumWork returns the elements of A.
func asumWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := asumOf[T](call)
	return float64(a.Rows) * float64(a.Cols)
}
