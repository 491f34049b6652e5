package kernels

// Larft is the parameter of op "larft" (LAPACK xLARFT): the triangular factor T of a
// block reflector H = I − V·T·Vᵀ of n elementary ones, from their inner products
// G = VᵀV and their factors tau,
//
//	T(0:j, j) = −tau(j)·T(0:j, 0:j)·G(0:j, j),  T(j, j) = tau(j),
//
// into the columns of T from Column on. What is below their diagonal is not written.
//
// Operands: G (in, n×n, its upper triangle), tau (in, 1×n), T (inout, n rows or more,
// Column + n columns or more).
type Larft struct {
	Column int
}
