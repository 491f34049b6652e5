// Command gen writes the assembly of NEON and its declarations: gemm_arm64.s, the micro-kernels of
// gemm and the packing of their operands; leaf_arm64.s, the kernels that solve with, and factor,
// the diagonal blocks of triangles, and transpose what they work on; lu_arm64.s, those that factor
// the innermost columns of an LU factorization; qr_arm64.s, those for panels of QR;
// vectors_arm64.s, those on several rows that memory bounds; and level1_arm64.s, those on single
// vectors. It is run by go generate in the folder of the set.
//
// Go's assembler has hardly any arithmetic on vectors of floating point numbers. What it lacks is
// encoded here, see [generator.vec], with the instruction in a comment that a test compares with
// what objdump reads.
package main
