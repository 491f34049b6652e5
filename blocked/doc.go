// Package blocked holds the tiled matrix, who owns which tile, the matrix
// files, and the tile algorithms: one file per algorithm, named after its
// LAPACK or BLAS routine, whose loop submits one task per tile operation.
package blocked
