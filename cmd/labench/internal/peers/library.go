package peers

import "github.com/tessera-la/tessera/internal/matgen"

// library is the routines of the C library as they are, with all the threads
// that it starts by itself. Matrices are column-major, without gaps between
// columns: the leading dimension is n.
type library[T matgen.Element] struct {
	// threads sets the number of threads that a call may use.
	threads func(n int)
	// gemm computes the n×n matrix C = A·B.
	gemm func(n int, a, b, c []T)
	// potrf overwrites the triangle uplo, 'L' or 'U', of the n×n matrix A
	// with its Cholesky factor, and returns LAPACK's info.
	potrf func(uplo byte, n int, a []T) (info int)
}
