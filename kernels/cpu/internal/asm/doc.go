// Package asm holds the assembly of kernels/cpu: the micro-kernels of gemm. It
// is a package of its own because one that imports C may have no assembly.
//
// The assembly is written by internal/gemmasm. Nothing here checks its
// arguments, or whether the processor has the instructions.
package asm
