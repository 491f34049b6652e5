package peers

import (
	"math"

	"github.com/tessera-la/tessera/internal/matgen"
)

// The results are judged by their effect on a vector x of ±1. For the error E
// of a result, ‖E·x‖∞ ≤ ‖E‖∞: what these functions return is a lower bound of
// the residual that the bounds below are meant for, in O(n²) instead of O(n³),
// so that every run can be judged. An E that is wrong in one element shows it
// undiminished, since ‖E·x‖∞ is at least that. Arithmetic is in float64.

// Residuals below these bounds pass.
const (
	gemmBound   = 3
	factorBound = 30
)

// signs returns n random signs.
func signs(seed uint64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Copysign(1, matgen.Uniform(seed, i, 0))
	}
	return x
}

// epsilon returns the unit roundoff of T.
func epsilon[T matgen.Element]() float64 {
	var zero T
	if _, single := any(zero).(float32); single {
		return 0x1p-24
	}
	return 0x1p-53
}

// dot returns the inner product of a and x.
func dot[T matgen.Element](a []T, x []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(x) >= 4 {
		s0 += float64(a[0]) * x[0]
		s1 += float64(a[1]) * x[1]
		s2 += float64(a[2]) * x[2]
		s3 += float64(a[3]) * x[3]
		a, x = a[4:], x[4:]
	}
	for i, v := range a {
		s0 += float64(v) * x[i]
	}
	return s0 + s1 + s2 + s3
}

// axpy computes y = y + t·a over a.
func axpy[T matgen.Element](t float64, a []T, y []float64) {
	y = y[:len(a)]
	for i, v := range a {
		y[i] += t * float64(v)
	}
}

// times returns A·x for a matrix A of n columns, row-major.
func times[T matgen.Element](n int, a []T, x []float64) []float64 {
	y := make([]float64, len(a)/n)
	for i := range y {
		y[i] = dot(a[i*n:(i+1)*n], x)
	}
	return y
}

// infNorm returns ‖A‖∞ of a matrix A of n columns, row-major.
func infNorm[T matgen.Element](n int, a []T) float64 {
	norm := 0.0
	for i := range len(a) / n {
		sum := 0.0
		for _, v := range a[i*n : (i+1)*n] {
			sum += math.Abs(float64(v))
		}
		norm = max(norm, sum)
	}
	return norm
}

// distance returns ‖y-z‖∞, and +Inf if there is a NaN.
func distance(y, z []float64) float64 {
	d := 0.0
	for i, v := range y {
		e := math.Abs(v - z[i])
		if math.IsNaN(e) {
			return math.Inf(1)
		}
		d = max(d, e)
	}
	return d
}

// product judges C = A·B.
type product[T matgen.Element] struct {
	n    int
	x, y []float64 // y = A·B·x
	unit float64   // of the residual
}

func newProduct[T matgen.Element](seed uint64, n int, a, b []T) *product[T] {
	x := signs(seed, n)
	return &product[T]{n: n, x: x, y: times(n, a, times(n, b, x)),
		unit: math.Sqrt(float64(n)+2) * infNorm(n, a) * infNorm(n, b) * epsilon[T]()}
}

// residual returns ‖C·x - A·B·x‖∞ / (√(n+2)·‖A‖∞·‖B‖∞·ε), which passes below
// gemmBound. C is row-major.
func (p *product[T]) residual(c []T) float64 {
	return distance(times(p.n, c, p.x), p.y) / p.unit
}

// factor judges L·Lᵀ = A.
type factor[T matgen.Element] struct {
	n    int
	x, y []float64 // y = A·x
	unit float64
}

func newFactor[T matgen.Element](seed uint64, n int, a []T) *factor[T] {
	x := signs(seed, n)
	return &factor[T]{n: n, x: x, y: times(n, a, x), unit: float64(n) * infNorm(n, a) * epsilon[T]()}
}

// lower returns ‖L·Lᵀ·x - A·x‖∞ / (n·‖A‖∞·ε), which passes below
// factorBound. L is the lower triangle of a row-major matrix; the other one
// is not read.
func (f *factor[T]) lower(l []T) float64 {
	t := make([]float64, f.n) // Lᵀ·x
	for i, x := range f.x {
		for j, v := range l[i*f.n : i*f.n+i+1] {
			t[j] += float64(v) * x
		}
	}
	y := make([]float64, f.n)
	for i := range y {
		y[i] = dot(l[i*f.n:i*f.n+i+1], t[:i+1])
	}
	return distance(y, f.y) / f.unit
}

// upper is lower for A = Uᵀ·U, with U in the upper triangle.
func (f *factor[T]) upper(u []T) float64 {
	y := make([]float64, f.n)
	for i := range f.n {
		row := u[i*f.n+i : (i+1)*f.n]
		t := dot(row, f.x[i:]) // element i of U·x
		for j, v := range row {
			y[i+j] += float64(v) * t
		}
	}
	return distance(y, f.y) / f.unit
}
