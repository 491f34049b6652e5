// Package supernodal factors sparse symmetric positive definite matrices by fronts: dense matrices, one for each
// supernode. A supernode is consecutive columns of the factor with the same rows below them. The package has the
// arithmetic, and knows no runtime: the caller decides which goroutine computes which front.
//
// The factor is stored by rows, as U = Lᵀ. The panel of a supernode is its rows of U, without the columns in which all
// are zero:
//
//	       columns of the supernode   other rows of its structure
//	      ┌─────────────────────────┬────────────────────────────┐
//	rows  │ U₁₁, upper triangular   │ U₁₂                        │
//	      └─────────────────────────┴────────────────────────────┘
//	                                │ −U₁₂ᵀ·U₁₂ + what children  │
//	                                │ contribute: goes to the    │
//	                                │ front of the parent        │
//	                                └────────────────────────────┘
//
// Files from the bottom up:
//
//	supernodes    which columns make a supernode
//	analysis      the tree of supernodes, their rows, and what the factorization takes
//	contribution  what a front contributes to its parent
//	division      which fronts are computed by one goroutine, and where contributions wait
//	factor        the factor, and the memory for fronts
//	assembly      elements of the matrix, and contributions, come to a front
//	front         one front: assembled, factored, contributed to the parent
//	part          the fronts of a part
//	solve         solutions with the factor
package supernodal
