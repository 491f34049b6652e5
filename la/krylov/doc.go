// Package krylov solves linear systems and least-squares problems by iterations that need
// nothing of a matrix but its products with vectors: [CG] and [LSQR] on any [Operator], as a
// csr.Matrix of package la/csr or a function of a program's own.
//
//	x := make([]float64, n)
//	result, err := krylov.CG(ctx, a, x, b, krylov.CGOptions{})
//
// What has not converged is an error, a *[ConvergenceError], with the best x beside it.
package krylov
