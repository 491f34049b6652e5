//go:build !noasm

#include "textflag.h"

// TWO loads the elements of x for the columns OFF and OFF+4 bytes from R12 on into X.
#define TWO(OFF, X) \
	MOVL   OFF(R9)(R12*4), AX     \
	MOVL   OFF+4(R9)(R12*4), BX   \
	MOVSD  (SI)(AX*8), X          \
	MOVHPD (SI)(BX*8), X

// func spmvF64(dst, x *float64, starts *int, columns *int32, values *float64, entries, lo, hi int) (rows int)
//
// Values and columns come from memory in their order, and are asked for 512 entries before they are
// needed: a processor that finds out by itself does so too late. X0 and X1 are the four parts of
// a sum. R12 is the entry at hand, R13 where its row ends.
TEXT ·spmvF64(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ starts+16(FP), R8
	MOVQ columns+24(FP), R9
	MOVQ values+32(FP), R10
	MOVQ entries+40(FP), R11
	MOVQ lo+48(FP), CX
	MOVQ hi+56(FP), DX
	MOVQ (R8)(CX*8), R12

row:
	MOVQ  8(R8)(CX*8), R13
	CMPQ  R12, R13
	JHI   end
	CMPQ  R13, R11
	JHI   end
	XORPS X0, X0
	XORPS X1, X1
	LEAQ  4(R12), AX
	CMPQ  AX, R13
	JHI   rest

four:
	PREFETCHNTA 4096(R10)(R12*8)
	PREFETCHNTA 2048(R9)(R12*4)
	TWO(0, X2)
	TWO(8, X3)
	MOVUPD      (R10)(R12*8), X4
	MOVUPD      16(R10)(R12*8), X5
	MULPD       X2, X4
	MULPD       X3, X5
	ADDPD       X4, X0
	ADDPD       X5, X1
	ADDQ        $4, R12
	LEAQ        4(R12), AX
	CMPQ        AX, R13
	JLS         four

rest:
	CMPQ R12, R13
	JEQ  sum

one:
	MOVL  (R9)(R12*4), AX
	MOVSD (R10)(R12*8), X2
	MULSD (SI)(AX*8), X2
	ADDSD X2, X0
	INCQ  R12
	CMPQ  R12, R13
	JNE   one

sum:
	MOVAPD   X0, X2
	UNPCKHPD X2, X2
	ADDSD    X2, X0
	MOVAPD   X1, X3
	UNPCKHPD X3, X3
	ADDSD    X3, X1
	ADDSD    X1, X0
	MOVSD    X0, (DI)(CX*8)
	INCQ     CX
	CMPQ     CX, DX
	JLT      row

end:
	SUBQ lo+48(FP), CX
	MOVQ CX, rows+64(FP)
	RET
