// Package qr holds QR factorizations of a tiled matrix, by block Givens rotations of tiles and by
// reflectors of whole columns, and the products with Q: a file for each LAPACK routine. Functions submit
// the tasks of a [blocked.Program], in which several of them may follow one another without waiting.
package qr
