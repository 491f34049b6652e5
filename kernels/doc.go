// Package kernels holds what the operations on tiles have in common: the operands ([Tile],
// [Pivots], [Candidates]), what tasks share of them ([Packing]), and the type of the [Table] that
// lists the versions of each operation. Package kernels/op has the operations, a file each, and
// makes the table of this build.
//
// An operation is a [versions.Op]. Its contract is the doc comment of its
// parameter struct in kernels/op: Gemm, Syrk, Trsm, Potrf and so on. A version is a
// function that keeps the contract; operands come as *[Tile], row-major, or as
// what the contract names ([Pivots]), and the parameter by pointer. A program adds
// versions of its own with [Table.Add] and hands the table to la.Options; package
// kerneltest tests them.
package kernels
