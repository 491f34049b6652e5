// Package isa says what an instruction set is: a [Table] of functions, in which nil means the
// portable code. Each has a folder, kernels/cpu/avx2, avx512 and neon, with its assembly,
// and a line in kernels/cpu/native. The folders are packages of their own because one that
// imports C may have no assembly.
package isa
