// Package peers compares la's tile algorithms, with one thread of the C
// library in each worker, with the same library's own multi-threaded routines:
// in one process, on the same matrices, by turns.
//
// What is timed on our side is the whole call as users make it: la.Gemm on
// row-major memory, and la's Cholesky.Factorize, with its check of the input
// and its copy into tiles. The library gets its best case: column-major
// operands without transposition, in place, on memory that has been touched;
// putting the input back is not timed, and of potrf's two triangles the faster
// one counts.
package peers
