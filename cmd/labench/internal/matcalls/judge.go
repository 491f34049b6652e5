package matcalls

import (
	"math"

	"github.com/tessera-la/tessera/internal/matgen"
	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
)

// Results are checked by their effect on a vector x of ±1. For the error E of a result, ‖E·x‖∞ ≤ ‖E‖∞. So these
// functions return a lower bound of the residual for which the bounds below are meant, in O(n²) instead of
// O(n³), and every turn can be checked. If E has a single wrong element, ‖E·x‖∞ is its full size. The products
// are computed by gonum itself, whichever implementation is behind mat.

// Results with residuals below these bounds pass.
const (
	productBound = 3
	factorBound  = 30
)

const epsilon = 0x1p-53

// signs returns n random signs.
func signs(seed uint64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Copysign(1, matgen.Uniform(seed, i, 0))
	}
	return x
}

// times returns op(A)·x for an n×n matrix A.
func times(op blas.Transpose, a, x []float64) []float64 {
	n := len(x)
	y := make([]float64, n)
	blasgonum.Implementation{}.Dgemv(op, n, n, 1, a, n, x, 1, 0, y, 1)
	return y
}

// multiply overwrites x with op(T)·x, T a triangle of the n×n matrix a.
func multiply(uplo blas.Uplo, op blas.Transpose, diag blas.Diag, a, x []float64) {
	n := len(x)
	blasgonum.Implementation{}.Dtrmv(uplo, op, diag, n, a, n, x, 1)
}

// norm returns a norm of the n×n matrix a.
func norm(kind lapack.MatrixNorm, n int, a []float64) float64 {
	return lapackgonum.Implementation{}.Dlange(kind, n, n, a, n, make([]float64, n))
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
