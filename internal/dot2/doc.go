// Package dot2 computes sums of products in twice the precision of float64, for residuals.
//
// Reference: T. Ogita, S. M. Rump, S. Oishi, Accurate Sum and Dot Product, SIAM J. Sci. Comput. 26 (2005),
// algorithm Dot2.
package dot2
