//go:build !noasm

#include "textflag.h"

// func spmvF64(dst, x *float64, starts *int, columns *int32, values *float64, entries, lo, hi int) (rows int)
//
// NEON cannot load elements from several places at once, so nothing is a vector here: what this gains
// over the portable code is what Go spends on addresses. The sums are fused, as Go's are, and have the
// same bits. F0 to F3 are the four parts of a sum. R8 is the entry at hand, R10 and R11 point to its
// column and value, R12 counts the entries left in the row.
TEXT ·spmvF64(SB), NOSPLIT, $0-72
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD starts+16(FP), R2
	MOVD columns+24(FP), R3
	MOVD values+32(FP), R4
	MOVD entries+40(FP), R5
	MOVD lo+48(FP), R6
	MOVD hi+56(FP), R7
	ADD  R6<<3, R0
	ADD  R6<<3, R2
	SUB  R6, R7
	MOVD R7, R6
	MOVD (R2), R8
	ADD  R8<<2, R3, R10
	ADD  R8<<3, R4, R11

row:
	MOVD.W 8(R2), R9
	CMP    R8, R9
	BLO    end
	CMP    R5, R9
	BHI    end
	SUB    R8, R9, R12
	MOVD   R9, R8
	FMOVD  ZR, F0
	FMOVD  ZR, F1
	FMOVD  ZR, F2
	FMOVD  ZR, F3
	SUBS   $4, R12
	BLT    rest

four:
	LDPW.P  8(R10), (R13, R14)
	LDPW.P  8(R10), (R15, R16)
	FLDPD.P 16(R11), (F4, F5)
	FLDPD.P 16(R11), (F6, F7)
	FMOVD   (R1)(R13<<3), F8
	FMOVD   (R1)(R14<<3), F9
	FMOVD   (R1)(R15<<3), F10
	FMOVD   (R1)(R16<<3), F11
	FMADDD  F8, F0, F4, F0
	FMADDD  F9, F1, F5, F1
	FMADDD  F10, F2, F6, F2
	FMADDD  F11, F3, F7, F3
	SUBS    $4, R12
	BGE     four

rest:
	ADDS $4, R12
	BEQ  sum

one:
	MOVWU.P 4(R10), R13
	FMOVD.P 8(R11), F4
	FMOVD   (R1)(R13<<3), F8
	FMADDD  F8, F0, F4, F0
	SUBS    $1, R12
	BNE     one

sum:
	FADDD   F1, F0, F0
	FADDD   F3, F2, F2
	FADDD   F2, F0, F0
	FMOVD.P F0, 8(R0)
	SUBS    $1, R7
	BNE     row

end:
	SUB  R7, R6
	MOVD R6, rows+64(FP)
	RET
