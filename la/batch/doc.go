// Package batch computes with many small matrices of one shape: products, Cholesky, LU and QR factorizations, and solutions
// with them.
//
//	a := batch.Matrices[float64]{Count: 10000, Rows: 4, Cols: 4, Data: elements}
//	b := batch.Matrices[float64]{Count: 10000, Rows: 4, Cols: 1, Data: right}
//	err := batch.SolveSPD(ctx, nil, a, b) // b is the solutions now
//
// All routines work in the caller's memory, on all workers of an engine, and allocate next to nothing. They are those of
// LAPACK: there is no estimate of a condition number, no scaling, and no look for elements that are not finite, which spread
// within their matrix. Where package la would say that a matrix is singular to working precision, batch says nothing.
//
// A routine that has no result for some of its problems computes all others, and returns an *[Error] that tells which, and
// why. The operands of those that failed are undefined.
//
// Small matrices are copied into an interleaved form, in which a vector has one element of each of several matrices. The
// bits of a result depend on its operands and the processor only: neither on the number of workers, nor on what other
// matrices there are.
package batch
