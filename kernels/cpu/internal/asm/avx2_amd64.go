//go:build !noasm

package asm

//go:generate go run ../../../../internal/gemmasm -isa avx2 -o avx2_amd64.s

// HasAVX2 reports whether this build has the functions for AVX2.
func HasAVX2() bool { return true }

// AVX2F64 runs micro-kernels on float64.
//
//go:noescape
func AVX2F64(t *Tiles[float64])

// AVX2F32 runs micro-kernels on float32.
//
//go:noescape
func AVX2F32(t *Tiles[float32])

// AVX2Copy packs rows as they are.
//
//go:noescape
func AVX2Copy(p *Panel)

// AVX2TransposeF64 packs the transpose of rows of float64.
//
//go:noescape
func AVX2TransposeF64(p *Panel)

// AVX2TransposeF32 packs the transpose of rows of float32.
//
//go:noescape
func AVX2TransposeF32(p *Panel)

// AVX2Strips packs AVX2Strip strips of B abreast.
//
//go:noescape
func AVX2Strips(p *Panel)

// AVX2PanelsF64 packs AVX2Panel panels of Aᵀ abreast.
//
//go:noescape
func AVX2PanelsF64(p *Panel)

// AVX2PanelsF32 packs AVX2Panel panels of Aᵀ abreast.
//
//go:noescape
func AVX2PanelsF32(p *Panel)
