// Package lu holds LU factorizations of a tiled matrix with partial, tournament and tile-local pivoting,
// and solves and inverts with the factors. There is one file for each LAPACK routine. Functions submit
// tasks to a [blocked.Program], and several may follow one another in a Program without waiting.
package lu
