// Package kernels is the contract of the operations on tiles: gemm, syrk, trsm,
// trmm, potrf, those of LU ([Getrf], [Laswp] and others) and of QR ([Geqrt] and
// others). It holds the operands ([Tile], [Pivots], [Candidates]), the parameters,
// and the type of the [Table] that lists the versions of each operation. Package
// kernels/builtin makes the table of this build.
//
// An operation is a [versions.Op]. Its contract is the doc comment of its
// parameter struct: [Gemm], [Syrk], [Trsm], [Potrf] and so on. A version is a
// function that keeps the contract; operands come as *[Tile], row-major, or as
// what the contract names ([Pivots]), and the parameter by pointer. A program adds
// versions of its own with [Table.Add] and hands the table to la.Options; package
// kerneltest tests them.
package kernels
