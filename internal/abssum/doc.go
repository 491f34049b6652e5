// Package abssum sums the magnitudes of elements, as BLAS's asum does, of rows and columns at once,
// and finds the largest one: what norms are made of. Sums are in float64. With vectors it
// reads memory about as fast as it comes.
package abssum
