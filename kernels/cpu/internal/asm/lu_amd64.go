//go:build !noasm

package asm

import "unsafe"

//go:generate go run ../../../../internal/leafasm -lu -o lu_amd64.s

// LUUpdateAVX512F64 updates a column of float64 in AVX-512F and looks for its pivot.
//
//go:noescape
func LUUpdateAVX512F64(t *LUColumn)

// LUScaleAVX512F64 multiplies a column of float64 in AVX-512F from row K on by Scale.
//
//go:noescape
func LUScaleAVX512F64(t *LUColumn)

// LUUpdateAVX512F32 updates a column of float32 in AVX-512F and looks for its pivot.
//
//go:noescape
func LUUpdateAVX512F32(t *LUColumn)

// LUScaleAVX512F32 multiplies a column of float32 in AVX-512F from row K on by Scale.
//
//go:noescape
func LUScaleAVX512F32(t *LUColumn)

// LUUpdateAVX2F64 updates a column of float64 in AVX2 and looks for its pivot.
//
//go:noescape
func LUUpdateAVX2F64(t *LUColumn)

// LUScaleAVX2F64 multiplies a column of float64 in AVX2 from row K on by Scale.
//
//go:noescape
func LUScaleAVX2F64(t *LUColumn)

// LUUpdateAVX2F32 updates a column of float32 in AVX2 and looks for its pivot.
//
//go:noescape
func LUUpdateAVX2F32(t *LUColumn)

// LUScaleAVX2F32 multiplies a column of float32 in AVX2 from row K on by Scale.
//
//go:noescape
func LUScaleAVX2F32(t *LUColumn)

// ExchangeAVX512 exchanges n bytes, a multiple of 4, by vectors of AVX-512F, and
// prefetches as many from next on.
//
//go:noescape
func ExchangeAVX512(x, y, next unsafe.Pointer, n int)

// ExchangeAVX2 exchanges n bytes, a multiple of 4, by vectors of AVX2, and
// prefetches as many from next on.
//
//go:noescape
func ExchangeAVX2(x, y, next unsafe.Pointer, n int)
