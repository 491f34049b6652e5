// Package chol holds the Cholesky factorization of a tiled matrix, and the inverse from it: a file for
// each LAPACK routine. Functions submit the tasks of a [blocked.Program], in which several of them may
// follow one another without waiting.
package chol
