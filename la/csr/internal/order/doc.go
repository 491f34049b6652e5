// Package order finds orders of elimination that keep the Cholesky factor of a sparse matrix sparse. It is pure: it knows
// patterns, and neither values nor a runtime.
//
//	p := order.AMD(g) // row p[k] of the matrix is eliminated as number k
//
// Every order is a permutation, and depends on the pattern alone.
package order
