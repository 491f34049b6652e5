// Package order finds orders of elimination that keep the Cholesky factor of a sparse matrix sparse. It is pure: it knows
// patterns, and neither values nor a runtime.
//
//	p := order.AMD(g) // row p[k] of the matrix is eliminated as number k
//
// Files from the bottom up: graph, tree (elimination trees and counts), amd; coarse (graphs that stand for larger ones),
// separator, dissection.
//
// Every order is a permutation, and depends on the pattern alone.
package order
