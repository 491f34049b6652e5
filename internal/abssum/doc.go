// Package abssum computes sums of magnitudes, as BLAS's asum does, for rows and columns at once, and the
// largest magnitude. Norms are made of these. Sums are in float64. With vector instructions it is as fast as
// memory is read.
package abssum
