//go:build !amd64 || noasm

package asm

// HasAVX2 reports whether this build has the functions for AVX2.
func HasAVX2() bool { return false }

// AVX2F64 runs micro-kernels on float64.
func AVX2F64(t *Tiles[float64]) { panic("asm: no AVX2 in this build") }

// AVX2F32 runs micro-kernels on float32.
func AVX2F32(t *Tiles[float32]) { panic("asm: no AVX2 in this build") }

// AVX2Copy packs rows as they are.
func AVX2Copy(p *Panel) { panic("asm: no AVX2 in this build") }

// AVX2TransposeF64 packs the transpose of rows of float64.
func AVX2TransposeF64(p *Panel) { panic("asm: no AVX2 in this build") }

// AVX2TransposeF32 packs the transpose of rows of float32.
func AVX2TransposeF32(p *Panel) { panic("asm: no AVX2 in this build") }

// AVX2Strips packs AVX2Strip strips of B abreast.
func AVX2Strips(p *Panel) { panic("asm: no AVX2 in this build") }

// AVX2PanelsF64 packs AVX2Panel panels of Aᵀ abreast.
func AVX2PanelsF64(p *Panel) { panic("asm: no AVX2 in this build") }

// AVX2PanelsF32 packs AVX2Panel panels of Aᵀ abreast.
func AVX2PanelsF32(p *Panel) { panic("asm: no AVX2 in this build") }
