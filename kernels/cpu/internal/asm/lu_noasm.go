//go:build noasm || !amd64

package asm

import "unsafe"

// LUUpdateAVX512F64 updates a column of float64 in AVX-512F and looks for its pivot.
func LUUpdateAVX512F64(t *LUColumn) { panic("asm: no AVX512 in this build") }

// LUScaleAVX512F64 multiplies a column of float64 in AVX-512F from row K on by Scale.
func LUScaleAVX512F64(t *LUColumn) { panic("asm: no AVX512 in this build") }

// LUUpdateAVX512F32 updates a column of float32 in AVX-512F and looks for its pivot.
func LUUpdateAVX512F32(t *LUColumn) { panic("asm: no AVX512 in this build") }

// LUScaleAVX512F32 multiplies a column of float32 in AVX-512F from row K on by Scale.
func LUScaleAVX512F32(t *LUColumn) { panic("asm: no AVX512 in this build") }

// LUUpdateAVX2F64 updates a column of float64 in AVX2 and looks for its pivot.
func LUUpdateAVX2F64(t *LUColumn) { panic("asm: no AVX2 in this build") }

// LUScaleAVX2F64 multiplies a column of float64 in AVX2 from row K on by Scale.
func LUScaleAVX2F64(t *LUColumn) { panic("asm: no AVX2 in this build") }

// LUUpdateAVX2F32 updates a column of float32 in AVX2 and looks for its pivot.
func LUUpdateAVX2F32(t *LUColumn) { panic("asm: no AVX2 in this build") }

// LUScaleAVX2F32 multiplies a column of float32 in AVX2 from row K on by Scale.
func LUScaleAVX2F32(t *LUColumn) { panic("asm: no AVX2 in this build") }

// ExchangeAVX512 exchanges n bytes, a multiple of 4, by vectors of AVX-512F, and
// prefetches as many from next on.
func ExchangeAVX512(x, y, next unsafe.Pointer, n int) { panic("asm: no AVX512 in this build") }

// ExchangeAVX2 exchanges n bytes, a multiple of 4, by vectors of AVX2, and
// prefetches as many from next on.
func ExchangeAVX2(x, y, next unsafe.Pointer, n int) { panic("asm: no AVX2 in this build") }
