//go:build !noasm

#include "textflag.h"

// SETUP loads the arguments: four rows at SI, R9, R10, R11, the number of
// columns in CX, the column sums at DI, the row sums at DX and the largest at
// BX; Y15 masks the sign off, Y8 to Y11 sum the rows and Y12 takes the largest.
// SHIFT is log2 of an element's bytes.
#define SETUP(SHIFT) \
	MOVQ     x+0(FP), SI      \
	MOVQ     stride+8(FP), R8 \
	MOVQ     n+16(FP), CX     \
	MOVQ     col+24(FP), DI   \
	MOVQ     row+32(FP), DX   \
	MOVQ     top+40(FP), BX   \
	VMOVUPD  (BX), Y12        \
	SHLQ     $SHIFT, R8       \
	LEAQ     (SI)(R8*1), R9   \
	LEAQ     (SI)(R8*2), R10  \
	LEAQ     (R9)(R8*2), R11  \
	VPCMPEQQ Y15, Y15, Y15    \
	VPSRLQ   $1, Y15, Y15     \
	VXORPD   Y8, Y8, Y8       \
	VXORPD   Y9, Y9, Y9       \
	VXORPD   Y10, Y10, Y10    \
	VXORPD   Y11, Y11, Y11

// SUM adds the magnitudes in Y0 to Y3, four columns of the four rows, and
// goes on BYTES behind them.
#define SUM(BYTES) \
	VMAXPD  Y0, Y1, Y6   \
	VMAXPD  Y2, Y3, Y7   \
	VMAXPD  Y6, Y7, Y6   \
	VMAXPD  Y6, Y12, Y12 \
	VADDPD  Y0, Y8, Y8   \
	VADDPD  Y1, Y9, Y9   \
	VADDPD  Y2, Y10, Y10 \
	VADDPD  Y3, Y11, Y11 \
	VADDPD  Y0, Y1, Y4   \
	VADDPD  Y2, Y3, Y5   \
	VADDPD  Y4, Y5, Y4   \
	VADDPD  (DI), Y4, Y4 \
	VMOVUPD Y4, (DI)     \
	ADDQ    $BYTES, SI   \
	ADDQ    $BYTES, R9   \
	ADDQ    $BYTES, R10  \
	ADDQ    $BYTES, R11  \
	ADDQ    $32, DI      \
	SUBQ    $4, CX

// ROW adds the sum of the elements of Y, whose lower half is X, to a row's.
#define ROW(Y, X, OFF) \
	VEXTRACTF128 $1, Y, X0      \
	VADDPD       X0, X, X       \
	VHADDPD      X, X, X        \
	VADDSD       OFF(DX), X, X  \
	VMOVSD       X, OFF(DX)

#define ROWS \
	ROW(Y8, X8, 0)    \
	ROW(Y9, X9, 8)    \
	ROW(Y10, X10, 16) \
	ROW(Y11, X11, 24) \
	VMOVUPD Y12, (BX)

// func absSumsF64(x *float64, stride, n int, col, row, top *float64)
TEXT ·absSumsF64(SB), NOSPLIT, $0-48
	SETUP(3)

loop64:
	VANDPD (SI), Y15, Y0
	VANDPD (R9), Y15, Y1
	VANDPD (R10), Y15, Y2
	VANDPD (R11), Y15, Y3
	SUM(32)
	JNZ    loop64
	ROWS
	VZEROUPPER
	RET

// func absSumsF32(x *float32, stride, n int, col, row, top *float64)
TEXT ·absSumsF32(SB), NOSPLIT, $0-48
	SETUP(2)

loop32:
	VCVTPS2PD (SI), Y0
	VCVTPS2PD (R9), Y1
	VCVTPS2PD (R10), Y2
	VCVTPS2PD (R11), Y3
	VANDPD    Y0, Y15, Y0
	VANDPD    Y1, Y15, Y1
	VANDPD    Y2, Y15, Y2
	VANDPD    Y3, Y15, Y3
	SUM(16)
	JNZ       loop32
	ROWS
	VZEROUPPER
	RET

// MAGNITUDES loads the magnitudes of 128 bytes at SI into Y0 to Y3 and goes on
// behind them. Y15 masks the sign off.
#define MAGNITUDES \
	VPAND (SI), Y15, Y0   \
	VPAND 32(SI), Y15, Y1 \
	VPAND 64(SI), Y15, Y2 \
	VPAND 96(SI), Y15, Y3 \
	ADDQ  $128, SI

// TOP64 replaces the elements of ACC that are less than those of Y.
#define TOP64(Y, ACC, MASK) \
	VPCMPGTQ  ACC, Y, MASK      \
	VBLENDVPD MASK, Y, ACC, ACC

// func topBitsF64(x *float64, n int, top *[8]uint64)
TEXT ·topBitsF64(SB), NOSPLIT, $0-24
	MOVQ     x+0(FP), SI
	MOVQ     n+8(FP), CX
	MOVQ     top+16(FP), DI
	VPCMPEQQ Y15, Y15, Y15
	VPSRLQ   $1, Y15, Y15
	VMOVDQU  (DI), Y8
	VMOVDQA  Y8, Y9
	VMOVDQA  Y8, Y10
	VMOVDQA  Y8, Y11

top64:
	MAGNITUDES
	TOP64(Y0, Y8, Y4)
	TOP64(Y1, Y9, Y5)
	TOP64(Y2, Y10, Y6)
	TOP64(Y3, Y11, Y7)
	SUBQ $16, CX
	JNZ  top64
	TOP64(Y9, Y8, Y4)
	TOP64(Y11, Y10, Y5)
	TOP64(Y10, Y8, Y4)
	VMOVDQU Y8, (DI)
	VZEROUPPER
	RET

// func topBitsF32(x *float32, n int, top *[8]uint64)
TEXT ·topBitsF32(SB), NOSPLIT, $0-24
	MOVQ     x+0(FP), SI
	MOVQ     n+8(FP), CX
	MOVQ     top+16(FP), DI
	VPCMPEQD Y15, Y15, Y15
	VPSRLD   $1, Y15, Y15
	VMOVDQU  (DI), Y8
	VMOVDQA  Y8, Y9
	VMOVDQA  Y8, Y10
	VMOVDQA  Y8, Y11

top32:
	MAGNITUDES
	VPMAXSD Y0, Y8, Y8
	VPMAXSD Y1, Y9, Y9
	VPMAXSD Y2, Y10, Y10
	VPMAXSD Y3, Y11, Y11
	SUBQ    $32, CX
	JNZ     top32
	VPMAXSD Y9, Y8, Y8
	VPMAXSD Y11, Y10, Y10
	VPMAXSD Y10, Y8, Y8
	VMOVDQU Y8, (DI)
	VZEROUPPER
	RET
