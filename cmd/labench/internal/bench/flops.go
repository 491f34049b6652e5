package bench

import (
	"math"

	"github.com/tessera-la/tessera/blocked/qr"
)

// mean returns the geometric mean of two dimensions.
func mean(m, n int) int { return int(math.Round(math.Sqrt(float64(m) * float64(n)))) }

// luFlops returns the number of operations of an LU factorization: in each column a division for each element
// below the diagonal, and a multiplication and an addition for each element to the right of these.
func luFlops(m, n int) float64 {
	sum := 0.0
	for j := range min(m, n) {
		below, right := float64(m-j-1), float64(n-j-1)
		sum += below * (1 + 2*right)
	}
	return sum
}

// systemFlops returns the number of operations of the method, in any precision.
func systemFlops(used Method, order, columns int) float64 {
	n, nrhs := float64(order), float64(columns)
	switch used {
	case ByCholesky:
		return n*n*n/3 + n*n/2 + n/6 + 2*n*n*nrhs
	case ByQR:
		return qr.QRFlops(order, order) + 3*n*n*nrhs
	}
	return luFlops(order, order) + 2*n*n*nrhs
}

// EigenFlops returns the number of operations of the reduction to tridiagonal form, and with vectors those of divide and
// conquer and of the transformation back, none of which counts as deflated.
func EigenFlops(order int, values bool) float64 {
	n := float64(order)
	if values {
		return 4 * n * n * n / 3
	}
	return 14 * n * n * n / 3
}

// generalizedFlops is EigenFlops with the Cholesky factorization of B, the reduction to the standard problem and, with
// vectors, the way back.
func generalizedFlops(order int, values bool) float64 {
	n := float64(order)
	flops := EigenFlops(order, values) + 4*n*n*n/3
	if !values {
		flops += n * n * n
	}
	return flops
}

// generalFlops returns about what LAPACK counts for the eigenvalues of a general matrix, and its right eigenvectors.
func generalFlops(order int, values bool) float64 {
	n := float64(order)
	if values {
		return 10 * n * n * n
	}
	return 25 * n * n * n
}

// SVDFlops is the same for thin singular value decompositions, without a QR factorization before the reduction.
func SVDFlops(m, n int, values bool) float64 {
	long, k := float64(max(m, n)), float64(min(m, n))
	reduction := 4*k*k*long - 4*k*k*k/3
	if values {
		return reduction
	}
	return reduction + 8*k*k*k/3 + 2*k*k*k + 2*k*k*(2*long-k)
}

// lstsqFlops returns the number of operations of the factorization, the product of Qᵀ and B, and the triangular
// solution.
func lstsqFlops(m, n, columns int) float64 {
	long, short, nrhs := float64(max(m, n)), float64(min(m, n)), float64(columns)
	return qr.QRFlops(m, n) + (4*long*short-short*short)*nrhs
}
