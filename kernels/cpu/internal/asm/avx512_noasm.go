//go:build !amd64 || noasm

package asm

// HasAVX512 reports whether this build has the functions for AVX512.
func HasAVX512() bool { return false }

// AVX512F64 runs micro-kernels on float64.
func AVX512F64(t *Tiles[float64]) { panic("asm: no AVX512 in this build") }

// AVX512F32 runs micro-kernels on float32.
func AVX512F32(t *Tiles[float32]) { panic("asm: no AVX512 in this build") }

// AVX512Copy packs rows as they are.
func AVX512Copy(p *Panel) { panic("asm: no AVX512 in this build") }

// AVX512TransposeF64 packs the transpose of rows of float64.
func AVX512TransposeF64(p *Panel) { panic("asm: no AVX512 in this build") }

// AVX512TransposeF32 packs the transpose of rows of float32.
func AVX512TransposeF32(p *Panel) { panic("asm: no AVX512 in this build") }
