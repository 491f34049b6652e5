//go:build !amd64 || noasm

package asm

// HasAVX512 reports whether this build has the functions for AVX512.
func HasAVX512() bool { return false }

// AVX512F64 runs micro-kernels on float64.
func AVX512F64(t *Tiles[float64]) { panic("asm: no AVX512 in this build") }

// AVX512F32 runs micro-kernels on float32.
func AVX512F32(t *Tiles[float32]) { panic("asm: no AVX512 in this build") }
