// Package matgen makes test matrices: random ones, those of LAPACK's test programs (xLATB4), and
// classics that are hard on a factorization.
//
// A [Spec] names a matrix, by its [Kind], and [New] makes its [Generator]. Element (i, j) depends
// only on the Spec, i and j. So blocks can be made in any order, of any size and any number at
// once. [Generate] fills a whole matrix.
//
// Elements are computed in float64 and rounded once to the element type.
package matgen
