package kernels

// about returns the ops of this module with what each does, in a line: those that BLAS and LAPACK have
// come first, then those of tile algorithms, then what copies and measures.
func about() [][2]string {
	return [][2]string{
		{"gemm", "product of matrices, C ← αAB + βC"},
		{"syrk", "symmetric product, C ← αAAᵀ + βC"},
		{"trsm", "triangular systems, B ← αL⁻¹B"},
		{"trmm", "triangular product, B ← αTB"},
		{"potrf", "Cholesky factorization of a tile, A = LLᵀ"},
		{"getrf", "LU factorization with partial pivoting, PA = LU"},
		{"getrfnp", "LU factorization without pivoting, A = LU"},
		{"laswp", "exchanges of rows, as LU pivots"},
		{"geqrt", "QR factorization of a tile, A = QR"},
		{"unmqr", "Q of geqrt times a tile"},
		{"lapmt", "a permutation of columns"},
		{"tsqrt", "QR of a triangle upon a tile"},
		{"tsmqr", "Q of tsqrt times two tiles"},
		{"ttqrt", "QR of a triangle upon a triangle"},
		{"ttmqr", "Q of ttqrt times two tiles"},
		{"larft", "triangular factor of a block reflector"},
		{"tntleaf", "tournament pivoting of LU: the best rows of some tiles"},
		{"tntnode", "tournament pivoting of LU: the best of two lists of rows"},
		{"tntroot", "tournament pivoting of LU: its winners become the pivots"},
		{"lacpy", "copies a tile"},
		{"laset", "sets the elements of a tile"},
		{"lasym", "completes a symmetric tile"},
		{"recut", "copies between tiles of different sizes"},
		{"plrnt", "makes a tile of random numbers"},
		{"asum", "sums of absolute values, for norms"},
		{"lange", "norm of a tile"},
		{"lag2s", "rounds float64 to float32"},
		{"lag2d", "converts float32 to float64"},
	}
}

// Names returns the names of the ops of this module, without types: those that are known from BLAS and
// LAPACK first.
func Names() (all []string) {
	for _, op := range about() {
		all = append(all, op[0])
	}
	return all
}

// About returns in a few words what an op of this module does, by its name without a type; empty for
// the ops of others.
func About(name string) string {
	for _, op := range about() {
		if op[0] == name {
			return op[1]
		}
	}
	return ""
}
