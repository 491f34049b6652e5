// Package lu holds LU factorizations of a tiled matrix, by partial, tournament and tile-local pivoting,
// and what is solved with them: a file for each LAPACK routine. Functions submit the tasks of a
// [blocked.Program], in which several of them may follow one another without waiting.
package lu
