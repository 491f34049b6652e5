package peers

import "github.com/tessera-la/tessera/internal/matgen"

// library is the routines of the C library as they are, with all the threads
// that it starts by itself. Matrices are column-major, without gaps between
// columns: the leading dimension is the number of rows. info is LAPACK's.
type library[T matgen.Element] struct {
	// threads sets the number of threads that a call may use.
	threads func(n int)
	// gemm computes the n×n matrix C = A·B.
	gemm func(n int, a, b, c []T)
	// potrf overwrites the triangle uplo, 'L' or 'U', of the n×n matrix A
	// with its Cholesky factor.
	potrf func(uplo byte, n int, a []T) (info int)
	// getrf overwrites the m×n matrix A with its factors L and U, and fills in
	// LAPACK's ipiv, from 1.
	getrf func(m, n int, a []T, ipiv []int32) (info int)
	// geqrf overwrites the m×n matrix A with R and the reflectors that make up
	// Q, and fills in tau. geqrfWork returns the best length of work.
	geqrf     func(m, n int, a, tau, work []T) (info int)
	geqrfWork func(m, n int) int
	// gesv solves A·X = B for the n×n matrix A, which is overwritten, and nrhs
	// columns B, which become X.
	gesv func(n, nrhs int, a []T, ipiv []int32, b []T) (info int)
	// posv is gesv for a positive definite A, of which it uses a triangle.
	posv func(uplo byte, n, nrhs int, a, b []T) (info int)
	// gels solves the least-squares problem A·X = B for an m×n matrix A of
	// full rank, m ≥ n, which is overwritten; X overwrites the first n rows of
	// B. gelsWork returns the best length of work.
	gels     func(m, n, nrhs int, a, b, work []T) (info int)
	gelsWork func(m, n, nrhs int) int
}
