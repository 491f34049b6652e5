package abssum

import "math"

// Four adds the magnitudes of the first len(col) elements of four rows, stride apart in x, to col,
// raises top to the largest, and returns the sums of the rows. If there is a NaN, sums are NaN, and
// top may be anything.
func Four[T element](x []T, stride int, col []float64, top *float64) [4]float64 {
	n := len(col)
	x0, x1, x2, x3 := x[:n], x[stride:][:n], x[2*stride:][:n], x[3*stride:][:n]
	var s, tops [4]float64
	for j := absSums(x, stride, col, &s, &tops); j < n; j++ {
		v0, v1 := math.Abs(float64(x0[j])), math.Abs(float64(x1[j]))
		v2, v3 := math.Abs(float64(x2[j])), math.Abs(float64(x3[j]))
		s[0] += v0
		s[1] += v1
		s[2] += v2
		s[3] += v3
		col[j] += v0 + v1 + (v2 + v3)
		tops[j%4] = max(tops[j%4], v0, v1, v2, v3)
	}
	*top = max(*top, tops[0], tops[1], tops[2], tops[3])
	return s
}

// One does what Four does with a row of as many elements as col has, and returns its sum. Of a NaN
// top becomes NaN.
func One[T element](x []T, col []float64, top *float64) (s float64) {
	x = x[:len(col)]
	for j := range col {
		v := math.Abs(float64(x[j]))
		s += v
		col[j] += v
		*top = max(*top, v)
	}
	return s
}

// TopBits returns the bits, as a float64, of the largest magnitude of x. Magnitudes are ordered as
// their bits are, NaN above all; comparing those is many times as fast as max of float64.
func TopBits[T element](x []T) uint64 {
	n, top := topVector(x)
	for _, v := range x[n:] {
		top = max(top, math.Float64bits(float64(v))&^(1<<63))
	}
	return top
}
