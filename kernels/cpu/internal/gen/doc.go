// Command gen writes the assembly of an instruction set, AVX-512F or AVX2, and its
// declarations: gemm_amd64.s, the micro-kernels of gemm and the packing of their
// operands; leaf_amd64.s, the kernels that solve with, and factor, the diagonal blocks
// of triangles, and transpose what they work on; lu_amd64.s, those that factor the
// innermost columns of an LU factorization; qr_amd64.s, those for panels of QR;
// symv_amd64.s, those for products of a symmetric matrix and a vector; mulvec_amd64.s,
// those for products of a small matrix and a vector; and lanes_amd64.s, those for
// several matrices at once.
// It is run by go generate in the folder of the set.
package main
