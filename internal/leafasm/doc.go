// Command leafasm writes leaf_amd64.s of kernels/cpu/internal/asm: the kernels
// that solve with, and factor, the diagonal blocks of triangles, and transpose
// what they work on, for AVX-512F and AVX2. It is run by go generate.
package main
