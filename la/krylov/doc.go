// Package krylov solves linear systems and least-squares problems by iterations that use a matrix only in
// products with vectors. They take any [Operator]: a csr.Matrix of package la/csr, or a type of the program.
//
//	A is                            method
//	symmetric positive definite     [CG]
//	symmetric                       [MINRES]
//	square                          [GMRES], or [BiCGSTAB], which needs less memory
//	m×n                             [LSQR], least squares
//
//	x := make([]float64, n)
//	result, err := krylov.CG(ctx, a, x, b, krylov.CGOptions{})
//
// An iteration that does not converge returns a *[ConvergenceError]; x is then that of the last iteration.
package krylov
