//go:build !noasm

#include "textflag.h"

// ROWS loads the arguments: four rows at SI, R9, R10, R11, and in CX the number
// of times that 64 bytes of each are to be read. SHIFT is log2 of an element's
// bytes.
#define ROWS(SHIFT) \
	MOVQ a+0(FP), SI       \
	MOVQ lda+8(FP), R8     \
	MOVQ n+16(FP), CX      \
	SHLQ $SHIFT, R8        \
	LEAQ (SI)(R8*1), R9    \
	LEAQ (SI)(R8*2), R10   \
	LEAQ (R9)(R8*2), R11   \
	SHRQ $(6-SHIFT), CX    \
	XORQ AX, AX

// DOTS zeroes the sums: Y0 to Y3 of the first halves of the rows' 64 bytes, Y4
// to Y7 of the second ones.
#define DOTS \
	MOVQ   x+24(FP), DX \
	MOVQ   s+32(FP), DI \
	VXORPS Y0, Y0, Y0   \
	VXORPS Y1, Y1, Y1   \
	VXORPS Y2, Y2, Y2   \
	VXORPS Y3, Y3, Y3   \
	VXORPS Y4, Y4, Y4   \
	VXORPS Y5, Y5, Y5   \
	VXORPS Y6, Y6, Y6   \
	VXORPS Y7, Y7, Y7

// JOIN adds the upper sums to the lower ones, and the upper half of each to
// its lower one.
#define JOIN(ADD) \
	ADD          Y4, Y0, Y0     \
	ADD          Y5, Y1, Y1     \
	ADD          Y6, Y2, Y2     \
	ADD          Y7, Y3, Y3     \
	VEXTRACTF128 $1, Y0, X4     \
	VEXTRACTF128 $1, Y1, X5     \
	VEXTRACTF128 $1, Y2, X6     \
	VEXTRACTF128 $1, Y3, X7     \
	ADD          X4, X0, X0     \
	ADD          X5, X1, X1     \
	ADD          X6, X2, X2     \
	ADD          X7, X3, X3

// func dotsF64(a *float64, lda, n int, x *float64, s *[4]float64)
TEXT ·dotsF64(SB), NOSPLIT, $0-40
	ROWS(3)
	DOTS

dots64:
	VMOVUPD     (DX)(AX*1), Y8
	VMOVUPD     32(DX)(AX*1), Y9
	VFMADD231PD (SI)(AX*1), Y8, Y0
	VFMADD231PD (R9)(AX*1), Y8, Y1
	VFMADD231PD (R10)(AX*1), Y8, Y2
	VFMADD231PD (R11)(AX*1), Y8, Y3
	VFMADD231PD 32(SI)(AX*1), Y9, Y4
	VFMADD231PD 32(R9)(AX*1), Y9, Y5
	VFMADD231PD 32(R10)(AX*1), Y9, Y6
	VFMADD231PD 32(R11)(AX*1), Y9, Y7
	ADDQ        $64, AX
	DECQ        CX
	JNZ         dots64
	JOIN(VADDPD)
	VHADDPD     X1, X0, X0
	VHADDPD     X3, X2, X2
	VMOVUPD     X0, (DI)
	VMOVUPD     X2, 16(DI)
	VZEROUPPER
	RET

// func dotsF32(a *float32, lda, n int, x *float32, s *[4]float32)
TEXT ·dotsF32(SB), NOSPLIT, $0-40
	ROWS(2)
	DOTS

dots32:
	VMOVUPS     (DX)(AX*1), Y8
	VMOVUPS     32(DX)(AX*1), Y9
	VFMADD231PS (SI)(AX*1), Y8, Y0
	VFMADD231PS (R9)(AX*1), Y8, Y1
	VFMADD231PS (R10)(AX*1), Y8, Y2
	VFMADD231PS (R11)(AX*1), Y8, Y3
	VFMADD231PS 32(SI)(AX*1), Y9, Y4
	VFMADD231PS 32(R9)(AX*1), Y9, Y5
	VFMADD231PS 32(R10)(AX*1), Y9, Y6
	VFMADD231PS 32(R11)(AX*1), Y9, Y7
	ADDQ        $64, AX
	DECQ        CX
	JNZ         dots32
	JOIN(VADDPS)
	VHADDPS     X1, X0, X0
	VHADDPS     X3, X2, X2
	VHADDPS     X2, X0, X0
	VMOVUPS     X0, (DI)
	VZEROUPPER
	RET

// func axpysF64(a *float64, lda, n int, s *[4]float64, y *float64)
TEXT ·axpysF64(SB), NOSPLIT, $0-40
	ROWS(3)
	MOVQ         s+24(FP), DX
	MOVQ         y+32(FP), DI
	VBROADCASTSD (DX), Y0
	VBROADCASTSD 8(DX), Y1
	VBROADCASTSD 16(DX), Y2
	VBROADCASTSD 24(DX), Y3

axpys64:
	VMOVUPD     (DI)(AX*1), Y8
	VMOVUPD     32(DI)(AX*1), Y9
	VFMADD231PD (SI)(AX*1), Y0, Y8
	VFMADD231PD 32(SI)(AX*1), Y0, Y9
	VFMADD231PD (R9)(AX*1), Y1, Y8
	VFMADD231PD 32(R9)(AX*1), Y1, Y9
	VFMADD231PD (R10)(AX*1), Y2, Y8
	VFMADD231PD 32(R10)(AX*1), Y2, Y9
	VFMADD231PD (R11)(AX*1), Y3, Y8
	VFMADD231PD 32(R11)(AX*1), Y3, Y9
	VMOVUPD     Y8, (DI)(AX*1)
	VMOVUPD     Y9, 32(DI)(AX*1)
	ADDQ        $64, AX
	DECQ        CX
	JNZ         axpys64
	VZEROUPPER
	RET

// func axpysF32(a *float32, lda, n int, s *[4]float32, y *float32)
TEXT ·axpysF32(SB), NOSPLIT, $0-40
	ROWS(2)
	MOVQ         s+24(FP), DX
	MOVQ         y+32(FP), DI
	VBROADCASTSS (DX), Y0
	VBROADCASTSS 4(DX), Y1
	VBROADCASTSS 8(DX), Y2
	VBROADCASTSS 12(DX), Y3

axpys32:
	VMOVUPS     (DI)(AX*1), Y8
	VMOVUPS     32(DI)(AX*1), Y9
	VFMADD231PS (SI)(AX*1), Y0, Y8
	VFMADD231PS 32(SI)(AX*1), Y0, Y9
	VFMADD231PS (R9)(AX*1), Y1, Y8
	VFMADD231PS 32(R9)(AX*1), Y1, Y9
	VFMADD231PS (R10)(AX*1), Y2, Y8
	VFMADD231PS 32(R10)(AX*1), Y2, Y9
	VFMADD231PS (R11)(AX*1), Y3, Y8
	VFMADD231PS 32(R11)(AX*1), Y3, Y9
	VMOVUPS     Y8, (DI)(AX*1)
	VMOVUPS     Y9, 32(DI)(AX*1)
	ADDQ        $64, AX
	DECQ        CX
	JNZ         axpys32
	VZEROUPPER
	RET
