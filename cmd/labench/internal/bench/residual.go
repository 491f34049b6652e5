package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// How results are verified
//
// Each operation has a residual in the 1-norm. It is computed with the tile algorithms of la, so that verifying
// a large problem is as fast as solving it. It always uses another operation than the one under test, or
// another shape of it. As a kernel may have the same fault in both, there are two more checks, with plain loops
// in float64 that share no code with the kernels:
//
//   - For random vectors y with 1/2 ≤ |y_i| ≤ 1, yᵀ·E is computed, where E is the matrix
//     that the residual measures, with matrix-vector products only: yᵀC − (yᵀA)B for gemm.
//     As ‖yᵀE‖∞ ≤ ‖E‖₁, the same limit holds for it (R. Freivalds, 1977; here with
//     rounding).
//   - Elements of products, at corners and tile borders and some random ones, are computed
//     in twice the working precision. They must agree within the bound for any order of
//     summation, k·ε·Σ|a_il·b_lj| (N. J. Higham, Accuracy and Stability, section 3.1).
//
// The larger of the residual and that of the vectors is reported.

// panel is the width of the panels in which residuals are computed. It only has to be large enough for la's
// tiles.
const panel = 512

// probes is the number of random vectors.
const probes = 3

// epsilon returns LAPACK's ε of T.
func epsilon[T la.Element]() float64 { return scalar.Eps[T]() }

// least returns the smallest positive T, which is the error of an underflow.
func least[T la.Element]() float64 {
	return scalar.Pick[T](math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64)
}

// over divides x by each element of d in turn, so that no product of them overflows or underflows. 0/0 is 0.
func over(x float64, d ...float64) Number {
	if x == 0 {
		return 0
	}
	for _, v := range d {
		x /= v
	}
	return Number(x)
}

// productResidual returns the residual of an m×n product of inner dimension k,
//
//	x / (√(k+2)·a·b·ε),
//
// where x, a and b are norms of the error and the factors. The sum in the
// denominator allows for every term of every element to underflow.
func productResidual[T la.Element](x, a, b float64, m, k int) Number {
	eps := epsilon[T]()
	return over(x, eps, math.Sqrt(float64(k+2))*a*b+float64(m)*float64(k+1)*least[T]()/eps)
}

// norm1 returns the 1-norm of a dense, symmetric or triangular matrix.
func norm1[T la.Element](a *blocked.Matrix[T], workers int) float64 {
	return a.Norm(lapack.MaxColumnSum, workers)
}

// norm returns the 1-norm of a.
func (p *base[T]) norm(a la.General[T]) float64 { return norm1(blocked.View(a, panel), p.workers) }

// plain, lower and mirrored return a for plain loops: the whole matrix, its lower triangle or trapezoid, or a
// symmetric matrix whose lower triangle is stored.
func (p *base[T]) plain(a la.General[T]) *plain[T] { return &plain[T]{General: a, workers: p.workers} }

func (p *base[T]) lower(a la.General[T]) *plain[T] {
	return &plain[T]{General: a, half: true, workers: p.workers}
}

func (p *base[T]) mirrored(a la.General[T]) *plain[T] {
	return &plain[T]{General: a, half: true, mirror: true, workers: p.workers}
}

// empty returns an m×n matrix of zeros.
func empty[T la.Element](m, n int) la.General[T] {
	return la.General[T]{Rows: m, Cols: n, Stride: max(n, 1), Data: make([]T, m*n)}
}

// panels calls f for each panel of n columns, with its first column and its width.
func panels(n int, step func(i, n int), f func(k, w int) error) error {
	count := (n + panel - 1) / panel
	for i := range count {
		step(i, count)
		if err := f(i*panel, min(panel, n-i*panel)); err != nil {
			return err
		}
	}
	return nil
}

// window returns the r×c part of a whose first element is (i, j).
func window[T la.Element](a la.General[T], i, j, r, c int) la.General[T] {
	if r == 0 || c == 0 {
		return la.General[T]{Rows: r, Cols: c, Stride: a.Stride}
	}
	return la.General[T]{Rows: r, Cols: c, Stride: a.Stride, Data: a.Data[i*a.Stride+j:]}
}

// subtract computes C = C − op(A)·op(B).
func subtract[T la.Element](ctx context.Context, e *la.Engine, transB blas.Transpose, a, b, c la.General[T]) error {
	return la.Gemm[T](ctx, e, blas.NoTrans, transB, -1, a, b, 1, c)
}

// probe returns the largest |yᵀE| over several random y of length m; residual computes yᵀE. It stops when ctx
// ends.
func (p *base[T]) probe(ctx context.Context, m int, residual func(y []float64) []float64) float64 {
	worst := 0.0
	for i := 0; i < probes && ctx.Err() == nil; i++ {
		y := make([]float64, m)
		for j := range y {
			u := matgen.Uniform(p.seed, i, j)
			y[j] = math.Copysign(0.5+math.Abs(u), u)
		}
		for _, v := range residual(y) {
			worst = max(worst, math.Abs(v)) // NaN is kept
		}
	}
	return worst
}

// difference returns x − y.
func difference(x, y []float64) []float64 {
	d := make([]float64, len(x))
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return d
}

// samples is the number of elements that are checked one by one, besides those at corners and borders.
const samples = 64

// sample checks elements of the product C = A·op(B), where b returns element (l, j) of op(B). It describes the
// first wrong element, or returns "". With lower, only the lower triangle of C is stored.
func sample[T la.Element](seed uint64, nb int, lower bool, c, a la.General[T], b func(l, j int) T) string {
	m, n := c.Dims()
	places := [][2]int{{0, 0}, {m - 1, 0}, {0, n - 1}, {m - 1, n - 1}}
	if nb < m && nb < n {
		places = append(places, [2]int{nb - 1, nb - 1}, [2]int{nb, nb - 1}, [2]int{nb - 1, nb}, [2]int{nb, nb})
	}
	for p := range samples {
		u, v := matgen.Uniform(seed, probes, 2*p)+0.5, matgen.Uniform(seed, probes, 2*p+1)+0.5
		places = append(places, [2]int{int(u * float64(m)), int(v * float64(n))})
	}
	for _, at := range places {
		i, j := at[0], at[1]
		if lower && i < j {
			i, j = j, i
		}
		exact, bound := dot(a.Data[i*a.Stride:i*a.Stride+a.Cols], func(l int) T { return b(l, j) })
		if bound-bound != 0 {
			continue // the product overflows
		}
		bound = bound*float64(a.Cols+1)*epsilon[T]() + float64(a.Cols+1)*least[T]()
		got := float64(c.Data[i*c.Stride+j])
		if !(math.Abs(got-exact) <= bound) {
			return fmt.Sprintf("the element of the product in row %d, column %d (counted from 1) is %.9g and should be %.9g", i+1, j+1, got, exact)
		}
	}
	return ""
}

// dot returns Σ x_l·y_l, computed in twice the precision of float64, and Σ |x_l·y_l|.
func dot[T la.Element](x []T, y func(l int) T) (total, magnitude float64) {
	var sum dot2.Sum
	for l, v := range x {
		a, b := float64(v), float64(y(l))
		sum.Add(a, b)
		magnitude += math.Abs(a * b)
	}
	return sum.Total(), magnitude
}
