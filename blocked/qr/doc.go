// Package qr holds QR factorizations of a tiled matrix, by block Givens rotations of tiles and by
// reflectors of whole columns, and the products with Q. There is one file for each LAPACK routine.
// Functions submit tasks to a [blocked.Program], and several may follow one another in a Program without
// waiting.
package qr
