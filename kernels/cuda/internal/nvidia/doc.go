// Package nvidia finds NVIDIA's libraries at run time. A program with it starts
// on any Linux machine, and learns there whether it has libcuda, cuBLAS and
// cuSOLVER.
//
//	gorgonia.org/cu ──► trampolines.S ──► libcuda, once Open has found it
//	kernels/cuda    ──► driver.c, memory.c, blas.c ──► libcuda, cuBLAS, cuSOLVER
//
// gorgonia.org/cu is linked against the functions of libcuda and calls cuInit
// when the program starts, which ends the process where there is no device.
// Here all of these functions are jumps through pointers, which lead to a
// function that returns an error until the library is loaded; and cuInit
// succeeds without doing anything.
//
// All but this file is behind the tag cuda.
package nvidia
