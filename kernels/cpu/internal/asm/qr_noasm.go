//go:build noasm || !amd64

package asm

import "unsafe"

// QRDotsAVX512F64 sums up the inner products of a column of float64 in AVX-512F.
func QRDotsAVX512F64(t *QRRows) { panic("asm: no AVX512 in this build") }

// QRReflectAVX512F64 applies a reflector of float64 in AVX-512F.
func QRReflectAVX512F64(t *QRRows) { panic("asm: no AVX512 in this build") }

// QRScaleAVX512F64 scales the columns of float64 in AVX-512F.
func QRScaleAVX512F64(t *QRRows) { panic("asm: no AVX512 in this build") }

// QRSubtractAVX512F64 subtracts a block of rows of float64 in AVX-512F. There must be at least one.
func QRSubtractAVX512F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX512 in this build")
}

// QRCopyAVX512F64 copies a block of rows of float64 in AVX-512F. There must be at least one.
func QRCopyAVX512F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX512 in this build")
}

// QRDotsAVX512F32 sums up the inner products of a column of float32 in AVX-512F.
func QRDotsAVX512F32(t *QRRows) { panic("asm: no AVX512 in this build") }

// QRReflectAVX512F32 applies a reflector of float32 in AVX-512F.
func QRReflectAVX512F32(t *QRRows) { panic("asm: no AVX512 in this build") }

// QRScaleAVX512F32 scales the columns of float32 in AVX-512F.
func QRScaleAVX512F32(t *QRRows) { panic("asm: no AVX512 in this build") }

// QRSubtractAVX512F32 subtracts a block of rows of float32 in AVX-512F. There must be at least one.
func QRSubtractAVX512F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX512 in this build")
}

// QRCopyAVX512F32 copies a block of rows of float32 in AVX-512F. There must be at least one.
func QRCopyAVX512F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX512 in this build")
}

// QRDotsAVX2F64 sums up the inner products of a column of float64 in AVX2.
func QRDotsAVX2F64(t *QRRows) { panic("asm: no AVX2 in this build") }

// QRReflectAVX2F64 applies a reflector of float64 in AVX2.
func QRReflectAVX2F64(t *QRRows) { panic("asm: no AVX2 in this build") }

// QRScaleAVX2F64 scales the columns of float64 in AVX2.
func QRScaleAVX2F64(t *QRRows) { panic("asm: no AVX2 in this build") }

// QRSubtractAVX2F64 subtracts a block of rows of float64 in AVX2. There must be at least one.
func QRSubtractAVX2F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX2 in this build")
}

// QRCopyAVX2F64 copies a block of rows of float64 in AVX2. There must be at least one.
func QRCopyAVX2F64(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX2 in this build")
}

// QRDotsAVX2F32 sums up the inner products of a column of float32 in AVX2.
func QRDotsAVX2F32(t *QRRows) { panic("asm: no AVX2 in this build") }

// QRReflectAVX2F32 applies a reflector of float32 in AVX2.
func QRReflectAVX2F32(t *QRRows) { panic("asm: no AVX2 in this build") }

// QRScaleAVX2F32 scales the columns of float32 in AVX2.
func QRScaleAVX2F32(t *QRRows) { panic("asm: no AVX2 in this build") }

// QRSubtractAVX2F32 subtracts a block of rows of float32 in AVX2. There must be at least one.
func QRSubtractAVX2F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX2 in this build")
}

// QRCopyAVX2F32 copies a block of rows of float32 in AVX2. There must be at least one.
func QRCopyAVX2F32(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int) {
	panic("asm: no AVX2 in this build")
}
