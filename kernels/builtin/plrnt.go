package builtin

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
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
	var top T
	add := func(i, lo, hi int) (sum T) {
		sum, high := absSum(a.Row(i)[lo:hi], columns[lo:hi])
		top = max(top, high)
		return sum
	}
	for i := range a.Rows {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		if !p.Symmetric {
			rows[i] = add(i, lo, hi)
			continue
		}
		columns[i] += add(i, lo, i) + add(i, i+1, hi) // as if mirrored
		add(i, i, i+1)
	}
	if p.Symmetric {
		copy(rows, columns)
	}
	if s.Cols > 0 {
		s.Set(2, 0, top)
	}
	return nil
}

// asumWork returns the elements of A.
// absSum returns the sum of the moduli of x, and the largest one, and adds each to sums. NaN
// stays NaN.
func absSum[T kernels.Element](x, sums []T) (sum, top T) {
	sums = sums[:len(x)]
	var s0, s1, s2, s3 T // four chains of additions, as none has to wait for another
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v0, v1 := T(math.Abs(float64(x[i]))), T(math.Abs(float64(x[i+1])))
		v2, v3 := T(math.Abs(float64(x[i+2]))), T(math.Abs(float64(x[i+3])))
		s0, s1, s2, s3 = s0+v0, s1+v1, s2+v2, s3+v3
		sums[i] += v0
		sums[i+1] += v1
		sums[i+2] += v2
		sums[i+3] += v3
		if v0 > top || v1 > top || v2 > top || v3 > top {
			top = max(top, v0, v1, v2, v3)
		}
	}
	for ; i < len(x); i++ {
		v := T(math.Abs(float64(x[i])))
		s0 += v
		sums[i] += v
		top = max(top, v)
	}
	sum = s0 + s1 + s2 + s3
	if sum != sum {
		top = sum
	}
	return sum, top
}

func asumWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := asumOf[T](call)
	return float64(a.Rows) * float64(a.Cols)
}
