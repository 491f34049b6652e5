// Package avx512 has the kernels in AVX-512F, and of AVX-512 nothing else.
package avx512

//go:generate go run ../internal/gen avx512
