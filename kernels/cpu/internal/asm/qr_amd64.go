//go:build !noasm

package asm

import "unsafe"

//go:generate go run ../../../../internal/leafasm -qr -o qr_amd64.s

// QRDotsAVX512F64 sums up the inner products of a column of float64 in AVX-512F.
//
//go:noescape
func QRDotsAVX512F64(t *QRRows)

// QRReflectAVX512F64 applies a reflector of float64 in AVX-512F.
//
//go:noescape
func QRReflectAVX512F64(t *QRRows)

// QRScaleAVX512F64 scales the columns of float64 in AVX-512F.
//
//go:noescape
func QRScaleAVX512F64(t *QRRows)

// QRSubtractAVX512F64 subtracts a block of rows of float64 in AVX-512F. There must be at least one.
//
//go:noescape
func QRSubtractAVX512F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRCopyAVX512F64 copies a block of rows of float64 in AVX-512F. There must be at least one.
//
//go:noescape
func QRCopyAVX512F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRDotsAVX512F32 sums up the inner products of a column of float32 in AVX-512F.
//
//go:noescape
func QRDotsAVX512F32(t *QRRows)

// QRReflectAVX512F32 applies a reflector of float32 in AVX-512F.
//
//go:noescape
func QRReflectAVX512F32(t *QRRows)

// QRScaleAVX512F32 scales the columns of float32 in AVX-512F.
//
//go:noescape
func QRScaleAVX512F32(t *QRRows)

// QRSubtractAVX512F32 subtracts a block of rows of float32 in AVX-512F. There must be at least one.
//
//go:noescape
func QRSubtractAVX512F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRCopyAVX512F32 copies a block of rows of float32 in AVX-512F. There must be at least one.
//
//go:noescape
func QRCopyAVX512F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRDotsAVX2F64 sums up the inner products of a column of float64 in AVX2.
//
//go:noescape
func QRDotsAVX2F64(t *QRRows)

// QRReflectAVX2F64 applies a reflector of float64 in AVX2.
//
//go:noescape
func QRReflectAVX2F64(t *QRRows)

// QRScaleAVX2F64 scales the columns of float64 in AVX2.
//
//go:noescape
func QRScaleAVX2F64(t *QRRows)

// QRSubtractAVX2F64 subtracts a block of rows of float64 in AVX2. There must be at least one.
//
//go:noescape
func QRSubtractAVX2F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRCopyAVX2F64 copies a block of rows of float64 in AVX2. There must be at least one.
//
//go:noescape
func QRCopyAVX2F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRDotsAVX2F32 sums up the inner products of a column of float32 in AVX2.
//
//go:noescape
func QRDotsAVX2F32(t *QRRows)

// QRReflectAVX2F32 applies a reflector of float32 in AVX2.
//
//go:noescape
func QRReflectAVX2F32(t *QRRows)

// QRScaleAVX2F32 scales the columns of float32 in AVX2.
//
//go:noescape
func QRScaleAVX2F32(t *QRRows)

// QRSubtractAVX2F32 subtracts a block of rows of float32 in AVX2. There must be at least one.
//
//go:noescape
func QRSubtractAVX2F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)

// QRCopyAVX2F32 copies a block of rows of float32 in AVX2. There must be at least one.
//
//go:noescape
func QRCopyAVX2F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int)
