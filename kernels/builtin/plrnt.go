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
	whole := !p.Symmetric && p.Uplo != blas.Lower && p.Uplo != blas.Upper
	for i := 0; i < a.Rows; i++ {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		add := func(lo, hi int) float64 { return abssum.One(a.Row(i)[lo:hi], sums[lo:hi], &top) }
		switch {
		case whole && i+4 <= a.Rows && a.Cols > 0:
			for k, sum := range abssum.Four(a.Data[i*a.Stride:], a.Stride, sums[:a.Cols], &top) {
				if rows[i+k] = T(sum); math.IsNaN(sum) {
					top = sum
				}
			}
			i += 3
		case p.Symmetric:
			sums[i] += add(lo, i) + add(i+1, hi) // as if mirrored
			add(i, i+1)
		default:
			rows[i] = T(add(lo, hi))
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

// asumWork returns the elements of A.
func asumWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := asumOf[T](call)
	return float64(a.Rows) * float64(a.Cols)
}
