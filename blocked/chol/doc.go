// Package chol holds the Cholesky factorization of a tiled matrix, and the inverse from the factor. There
// is one file for each LAPACK routine. Functions submit tasks to a [blocked.Program], and several may
// follow one another in a Program without waiting.
package chol
