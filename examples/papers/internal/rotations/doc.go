// Package rotations is the QR factorization of Amela et al. (2018), "Executing linear algebra kernels
// in heterogeneous distributed infrastructures with PyCOMPSs", Oil & Gas Science and Technology 73,
// section 3.3, on this machine. Its rotations are matrices, and products with them compute R and Q. It
// has two versions: dense, and memory-save, which leaves out tiles of Q that are zero or the identity.
//
// The study compares both with la.QR, whose rotations are block reflectors I − V·T·Vᵀ, all three in
// tiles of the same size. Operations for R and all of Q, for n = m and many tiles:
//
//	compact      4/3·n³ for R and 4/3·n³ for Q
//	dense        20/3·n³
//	memory-save  16/3·n³
//
//	go run ./examples/papers qr
//	go run ./examples/papers qr --n 2000 --nb 200
package rotations
