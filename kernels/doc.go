// Package kernels defines the operations on tiles — gemm, syrk, trsm, trmm,
// potrf, those of LU ([Getrf], [Laswp] and others) and of QR ([Geqrt] and
// others) — and the [Table] of the versions that this build carries for each.
//
// An operation is a [versions.Op]. Its contract is the doc comment of its
// parameter struct: [Gemm], [Syrk], [Trsm], [Potrf] and so on. A version is a
// function that keeps the contract; operands come as *[Tile], row-major, or as
// what the contract names ([Pivots]), and the parameter by pointer. A program adds versions of its own with [Table.Add]
// and hands the table to la.Options; package kerneltest tests them.
//
// The functions behind the versions live in kernels/cpu (portable Go; OpenBLAS
// and MKL behind their build tags); this package gives them the common shape
// that the runtime calls, and is the only place, with kernels/cpu, where
// row-major meets column-major. The versions "cuda" enqueue routines of a device
// of kernels/cuda: products, solves, Cholesky, QR, and what LU does beside its
// panel, which stays on the CPU.
package kernels
