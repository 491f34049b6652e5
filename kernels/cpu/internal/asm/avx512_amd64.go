//go:build !noasm

package asm

//go:generate go run ../../../../internal/gemmasm -isa avx512 -o avx512_amd64.s

// HasAVX512 reports whether this build has the functions for AVX512.
func HasAVX512() bool { return true }

// AVX512F64 runs micro-kernels on float64.
//
//go:noescape
func AVX512F64(t *Tiles[float64])

// AVX512F32 runs micro-kernels on float32.
//
//go:noescape
func AVX512F32(t *Tiles[float32])

// AVX512Copy packs rows as they are.
//
//go:noescape
func AVX512Copy(p *Panel)

// AVX512TransposeF64 packs the transpose of rows of float64.
//
//go:noescape
func AVX512TransposeF64(p *Panel)

// AVX512TransposeF32 packs the transpose of rows of float32.
//
//go:noescape
func AVX512TransposeF32(p *Panel)
