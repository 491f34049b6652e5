// Package matgen makes test matrices: random ones, those of LAPACK's own test
// programs, and classics that are known to be hard on a factorization.
//
// A [Spec] names a matrix and [New] makes its [Generator], from which any
// block can be had by itself: element (i, j) is a function of the Spec and of
// i and j alone, so the same matrix comes out whatever the tile size and in
// whatever order, or how much in parallel, its tiles are filled. [Generate]
// fills a whole matrix.
//
// Elements are computed in float64 and rounded once to the element type.
package matgen
