// Command leafasm writes two files of kernels/cpu/internal/asm, for AVX-512F and
// AVX2: leaf_amd64.s, the kernels that solve with, and factor, the diagonal
// blocks of triangles, and transpose what they work on, and lu_amd64.s, those
// that factor the innermost columns of an LU factorization. It is run by go
// generate.
package main
