// Package asm holds the assembly of kernels/cpu. It is a package of its own
// because one that imports C may have no assembly.
//
// The products of small matrices and vectors are written by hand, the rest by
// internal/kernelasm, and the declarations of that by
// internal/asmdecl. Nothing here checks its arguments, or whether the processor
// has the instructions.
package asm

//go:generate go run ../../../../internal/kernelasm
//go:generate go run ../../../../internal/asmdecl
