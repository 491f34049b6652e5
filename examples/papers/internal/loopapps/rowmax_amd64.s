//go:build !noasm

#include "textflag.h"

// Eight lanes that count and eight that do not: from 4·n bytes before the middle on, n count.
DATA lanes<>+0(SB)/8, $-1
DATA lanes<>+8(SB)/8, $-1
DATA lanes<>+16(SB)/8, $-1
DATA lanes<>+24(SB)/8, $-1
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// LABEL raises X to the label of the column at OFF.
#define LABEL(OFF, R, T, X) \
	MOVL    OFF(R10), R      \
	VMOVD   (SI)(R*4), T     \
	VPMAXUD T, X, X

// func rowMaxAVX2(labels, next *uint32, starts *int, columns *int32, lo, hi int) (changed int)
//
// Labels come from the caches in no order, columns from memory in theirs, 4 KiB before they are
// needed: without that they come too late, and with it they do not stay where labels should. The
// last up to seven columns of a row are gathered at once, as how many there are cannot be
// foreseen. R10 goes through the columns, R11 is where the row ends.
TEXT ·rowMaxAVX2(SB), NOSPLIT, $0-56
	MOVQ labels+0(FP), SI
	MOVQ next+8(FP), DI
	MOVQ starts+16(FP), R8
	MOVQ columns+24(FP), R9
	MOVQ lo+32(FP), CX
	MOVQ hi+40(FP), DX
	LEAQ lanes<>+32(SB), BX
	XORL R15, R15
	MOVQ (R8)(CX*8), R10
	LEAQ (R9)(R10*4), R10

row:
	MOVQ  8(R8)(CX*8), R11
	LEAQ  (R9)(R11*4), R11
	MOVL  (SI)(CX*4), R13
	VMOVD R13, X0
	VPXOR X1, X1, X1
	LEAQ  32(R10), R12
	CMPQ  R12, R11
	JHI   rest

eight:
	PREFETCHNTA 4096(R10)
	LABEL(0, AX, X2, X0)
	LABEL(4, R12, X3, X1)
	LABEL(8, AX, X2, X0)
	LABEL(12, R12, X3, X1)
	LABEL(16, AX, X2, X0)
	LABEL(20, R12, X3, X1)
	LABEL(24, AX, X2, X0)
	LABEL(28, R12, X3, X1)
	ADDQ        $32, R10
	LEAQ        32(R10), R12
	CMPQ        R12, R11
	JLS         eight

rest:
	MOVQ         R10, AX
	SUBQ         R11, AX
	VMOVDQU      (BX)(AX*1), Y2
	VPMASKMOVD   (R10), Y2, Y3
	VPCMPEQD     Y4, Y4, Y4
	VPXOR        Y5, Y5, Y5
	VPGATHERDD   Y4, (SI)(Y3*4), Y5
	VPAND        Y2, Y5, Y5
	VPMAXUD      X1, X0, X0
	VEXTRACTI128 $1, Y5, X6
	VPMAXUD      X5, X0, X0
	VPMAXUD      X6, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPMAXUD      X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPMAXUD      X1, X0, X0
	VMOVD        X0, AX
	MOVL         AX, (DI)(CX*4)
	XORL         R12, R12
	CMPL         AX, R13
	SETNE        R12
	ADDQ         R12, R15
	MOVQ         R11, R10
	INCQ         CX
	CMPQ         CX, DX
	JLT          row
	VZEROUPPER
	MOVQ         R15, changed+48(FP)
	RET
