// Package nvidia finds NVIDIA's libraries at run time. A program that uses it starts on
// any Linux machine, and finds out there whether the machine has libcuda, cuBLAS and
// cuSOLVER.
//
//	gorgonia.org/cu ──► trampolines.S ──► libcuda, once Open has found it
//	kernels/cuda    ──► driver.c, memory.c, blas.c ──► libcuda, cuBLAS, cuSOLVER
//
// gorgonia.org/cu is linked against the functions of libcuda, and calls cuInit when the
// program starts. On a machine without a device that would end the process. So this
// package defines all of these functions as jumps through pointers. Until the library is
// loaded, they lead to a function that returns an error, and cuInit succeeds and does
// nothing.
//
// All files but this one need the tag cuda.
package nvidia
