//go:build !noasm

package asm

import "unsafe"

//go:generate go run ../../../../internal/leafasm -o leaf_amd64.s

// SolveAVX512F64 solves with panels of a triangle of float64 in AVX-512F.
//
//go:noescape
func SolveAVX512F64(t *Leaf)

// FactorAVX512F64 factors a diagonal block of float64 in AVX-512F.
//
//go:noescape
func FactorAVX512F64(t *Leaf)

// SolveAVX512F32 solves with panels of a triangle of float32 in AVX-512F.
//
//go:noescape
func SolveAVX512F32(t *Leaf)

// FactorAVX512F32 factors a diagonal block of float32 in AVX-512F.
//
//go:noescape
func FactorAVX512F32(t *Leaf)

// SolveAVX2F64 solves with panels of a triangle of float64 in AVX2.
//
//go:noescape
func SolveAVX2F64(t *Leaf)

// FactorAVX2F64 factors a diagonal block of float64 in AVX2.
//
//go:noescape
func FactorAVX2F64(t *Leaf)

// SolveAVX2F32 solves with panels of a triangle of float32 in AVX2.
//
//go:noescape
func SolveAVX2F32(t *Leaf)

// FactorAVX2F32 factors a diagonal block of float32 in AVX2.
//
//go:noescape
func FactorAVX2F32(t *Leaf)

// TransposeAVX512F64 transposes blocks of as many rows and columns as a vector in
// AVX-512F has lanes of float64: rows lie a stride, and blocks a step apart, in bytes.
//
//go:noescape
func TransposeAVX512F64(dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int)

// TransposeAVX512F32 transposes blocks of as many rows and columns as a vector in
// AVX-512F has lanes of float32: rows lie a stride, and blocks a step apart, in bytes.
//
//go:noescape
func TransposeAVX512F32(dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int)

// TransposeAVX2F64 transposes blocks of as many rows and columns as a vector in
// AVX2 has lanes of float64: rows lie a stride, and blocks a step apart, in bytes.
//
//go:noescape
func TransposeAVX2F64(dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int)

// TransposeAVX2F32 transposes blocks of as many rows and columns as a vector in
// AVX2 has lanes of float32: rows lie a stride, and blocks a step apart, in bytes.
//
//go:noescape
func TransposeAVX2F32(dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int)

// PackAVX512F64 copies n rows of float64, as long as a tile in AVX-512F has rows
// and a stride in bytes apart, to dst without gaps. n is a multiple of 4.
//
//go:noescape
func PackAVX512F64(dst, src unsafe.Pointer, stride, n int)

// PackAVX512F32 copies n rows of float32, as long as a tile in AVX-512F has rows
// and a stride in bytes apart, to dst without gaps. n is a multiple of 4.
//
//go:noescape
func PackAVX512F32(dst, src unsafe.Pointer, stride, n int)

// PackAVX2F64 copies n rows of float64, as long as a tile in AVX2 has rows
// and a stride in bytes apart, to dst without gaps. n is a multiple of 4.
//
//go:noescape
func PackAVX2F64(dst, src unsafe.Pointer, stride, n int)

// PackAVX2F32 copies n rows of float32, as long as a tile in AVX2 has rows
// and a stride in bytes apart, to dst without gaps. n is a multiple of 4.
//
//go:noescape
func PackAVX2F32(dst, src unsafe.Pointer, stride, n int)
