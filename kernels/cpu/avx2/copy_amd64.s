//go:build !noasm

#include "textflag.h"

// func copyRows(dst unsafe.Pointer, ld int, src unsafe.Pointer, ss, n, rows, ahead int)
//
// A row is copied 64 bytes at a time, the last 64 once more if they are not whole
// ones: what is copied twice is the same.
TEXT ·copyRows(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ ss+24(FP), R9
	MOVQ n+32(FP), DX
	MOVQ rows+40(FP), CX
	MOVQ ahead+48(FP), R10

row:
	MOVQ SI, R11
	MOVQ DI, R12
	MOVQ DX, BX

line:
	PREFETCHT0 (R11)(R10*1)
	VMOVUPD    (R11), Y0
	VMOVUPD    32(R11), Y1
	VMOVUPD    Y0, (R12)
	VMOVUPD    Y1, 32(R12)
	ADDQ       $64, R11
	ADDQ       $64, R12
	SUBQ       $64, BX
	JGT        next
	JEQ        end

next:
	CMPQ BX, $64
	JGE  line
	LEAQ -64(SI)(DX*1), R11
	LEAQ -64(DI)(DX*1), R12
	MOVQ $64, BX
	JMP  line

end:
	ADDQ R9, SI
	ADDQ R8, DI
	DECQ CX
	JNE  row
	VZEROUPPER
	RET
