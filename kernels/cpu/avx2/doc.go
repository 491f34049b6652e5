// Package avx2 has the kernels in AVX2 and FMA3.
package avx2

//go:generate go run ../internal/gen avx2
