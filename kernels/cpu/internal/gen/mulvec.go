package main

import "fmt"

// mulvecFile returns the file of the kernels for products of a small matrix and a vector.
func mulvecFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.mulvec()
	}
	return g
}

// mulvec writes the kernel that computes the inner products of x with m ≥ 8 rows of n ≥ 1 elements, eight at a time. The
// last eight may have been computed before, in part. All but the last vector of a row is whole, and that has a mask:
//
//	SI  the first row, R13 before any of it was read   R8, R9, R10, R11  1, 3, 5 and 7 strides
//	DX  x, BX before                                   AX  vectors but for the last, CX left of them
//	DI  y                                              R12 rows left
func (g *generator) mulvec() {
	const x, row, mask = 8, 9, 10
	shift := map[int]int{8: 3, 4: 2}[g.size]
	lanes := map[int]int{4: 2, 8: 3, 16: 4}[g.lanes()]
	if !g.avx512() {
		g.constants("mulvecMask", 2*g.lanes(), func(i int) string { return ones(i < g.lanes()) })
	}
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("mulvec"+g.typ, "a *"+t+", lda int, m int, n int, x *"+t+", y *"+t, "R13", "R8", "R12", "AX", "BX", "DI")
	g.p("DECQ AX")
	g.p("MOVQ AX, CX")
	g.p("ANDQ $%d, CX", g.lanes()-1)
	if g.avx512() {
		g.p("INCQ CX")
		g.lowest("DX", "K1")
	} else {
		g.p("XORQ $%d, CX", g.lanes()-1) // lanes that are not read
		g.p("LEAQ %s(SB), DX", g.local("mulvecMask"))
		g.p("%s (DX)(CX*%d), %s", g.op("VMOVU"), g.size, g.v(mask))
	}
	g.p("SHRQ $%d, AX", lanes)
	g.p("SHLQ $%d, R8", shift)
	g.p("LEAQ (R8)(R8*2), R9")
	g.p("LEAQ (R8)(R8*4), R10")
	g.p("LEAQ (R9)(R8*4), R11")
	rows := []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)", "(SI)(R9*1)", "(SI)(R8*4)", "(SI)(R10*1)", "(SI)(R9*2)", "(SI)(R11*1)"}

	g.l("\nrows:")
	g.p("MOVQ R13, SI")
	g.p("MOVQ BX, DX")
	g.p("MOVQ AX, CX")
	for i := range rows {
		g.zero("VXORPD", i)
	}
	g.p("TESTQ CX, CX")
	g.p("JZ last")
	g.l("\ncolumns:")
	g.p("%s (DX), %s", g.op("VMOVU"), g.v(x))
	for i, at := range rows {
		g.p("%s %s, %s, %s", g.op("VFMADD231"), at, g.v(x), g.v(i))
	}
	g.p("ADDQ $%d, DX", g.bytes)
	g.p("ADDQ $%d, SI", g.bytes)
	g.p("DECQ CX")
	g.p("JNZ columns")
	g.l("\nlast:")
	if g.avx512() {
		g.load("(DX)", "K1", g.v(x))
	} else {
		g.load("(DX)", g.v(mask), g.v(x))
	}
	for i, at := range rows {
		if g.avx512() {
			g.p("%s %s, %s, K1, %s", g.op("VFMADD231"), at, g.v(x), g.v(i))
		} else {
			g.load(at, g.v(mask), g.v(row))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(row), g.v(x), g.v(i))
		}
	}

	g.l("")
	if g.avx512() {
		for i := range rows {
			g.p("VEXTRACTF64X4 $1, %s, Y%d", g.v(i), x+i)
		}
		for i := range rows {
			g.p("%s Y%d, Y%d, Y%d", g.op("VADD"), x+i, i, i)
		}
	}
	for i := 0; i < 8; i += 2 {
		g.p("%s Y%d, Y%d, Y%d", g.op("VHADD"), i+1, i, i)
	}
	step := 4 // rows from one half of sums in a vector to the other
	if g.size == 8 {
		step = 2
	} else {
		for i := 0; i < 8; i += 4 {
			g.p("%s Y%d, Y%d, Y%d", g.op("VHADD"), i+2, i, i)
		}
	}
	for i := 0; i < 8; i += 2 * step {
		g.p("VPERM2F128 $0x20, Y%d, Y%d, Y%d", i+step, i, x)
		g.p("VPERM2F128 $0x31, Y%d, Y%d, Y%d", i+step, i, row)
		g.p("%s Y%d, Y%d, Y%d", g.op("VADD"), row, x, x)
		g.p("%s Y%d, %d(DI)", g.op("VMOVU"), x, i*g.size)
	}
	g.p("SUBQ $8, R12")
	g.p("JZ done")
	g.p("LEAQ (R13)(R8*8), R13")
	g.p("ADDQ $%d, DI", 8*g.size)
	g.p("CMPQ R12, $8")
	g.p("JGE rows")
	g.p("SUBQ $8, R12") // back by as many rows as there are too few
	g.p("LEAQ (DI)(R12*%d), DI", g.size)
	g.p("MOVQ R12, SI")
	g.p("IMULQ R8, SI")
	g.p("ADDQ SI, R13")
	g.p("MOVQ $8, R12")
	g.p("JMP rows")
	g.l("\ndone:")
	g.ret()
}
