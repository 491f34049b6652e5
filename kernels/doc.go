// Package kernels defines the operations on tiles — gemm, syrk, trsm, potrf …
// — with their typed parameters, and the [Table] of the versions that this
// build carries for each.
//
// Tiles are row-major. The functions behind the versions live in kernels/cpu
// (portable Go; OpenBLAS and MKL behind their build tags); this package gives
// them the common shape that the runtime calls, and is the only place, with
// kernels/cpu, where row-major meets column-major.
package kernels
