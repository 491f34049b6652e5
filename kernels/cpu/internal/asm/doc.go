// Package asm holds the assembly of kernels/cpu. It is a package of its own
// because one that imports C may have no assembly.
//
// The products of small matrices and vectors are written by hand, the rest by
// internal/gemmasm and internal/leafasm, and the declarations of that by
// internal/asmdecl. Nothing here checks its arguments, or whether the processor
// has the instructions.
package asm

//go:generate go run ../../../../internal/gemmasm -isa avx512 -o avx512_amd64.s
//go:generate go run ../../../../internal/gemmasm -isa avx2 -o avx2_amd64.s
//go:generate go run ../../../../internal/leafasm -o leaf_amd64.s
//go:generate go run ../../../../internal/leafasm -lu -o lu_amd64.s
//go:generate go run ../../../../internal/leafasm -qr -o qr_amd64.s
//go:generate go run ../../../../internal/asmdecl
