package main

import "fmt"

// Registers of the kernels for columns of L and U:
//
//	AX  *LUColumn
//	DX  rows of column K    R8  the same rows of column 0    R9  from column to column
//	R10 coefficients        R11 K                            CX  blocks left
//	SI, DI, BX  column, coefficient and count in the loop over the columns before
//	R12, R13    masks
//
// and of vectors, with n = luVecs and a = luAccs:
//
//	0 … n−1          the rows of column K
//	n … n+a−1        their greatest magnitudes so far, by lane
//	n+a … n+2a−1     and the rows of these
//	n+2a …           coefficient, factor, mask of the magnitude, row, step, others
//	K1, K2           masks

// luVecs is the number of vectors in a block of rows: for so many products is
// a coefficient broadcast once. isa.LUVectors says the same.
const luVecs = 4

// luDiagonal is the number of rows of the first block that may lie above the
// diagonal, isa.LUDiagonal.
const luDiagonal = 16

// luAccs is the number of independent searches for the greatest magnitude.
func (g *generator) luAccs() int {
	if g.avx512() {
		return 4
	}
	return 2
}

func (g *generator) lu() {
	g.luTables()
	g.luUpdate()
	g.luScale()
}

// luExchange writes the exchange of two pieces of memory, the bytes of which
// are a multiple of four:
//
//	DI, SI  the pieces    DX  what is to be fetched    CX  bytes left
func (g *generator) luExchange() {
	g.function("exchange", "x, y, next unsafe.Pointer, n int", "DI", "SI", "DX", "CX")
	for _, vecs := range []int{128 / g.bytes, 1} {
		g.p("SUBQ $%d, CX", vecs*g.bytes)
		g.p("JLT  rest%d", vecs)
		g.l("\nloop%d:", vecs)
		for i := range vecs {
			g.p("VMOVUPD %d(DI), %s", i*g.bytes, g.v(2*i))
			g.p("VMOVUPD %d(SI), %s", i*g.bytes, g.v(2*i+1))
		}
		for i := 0; i < vecs*g.bytes; i += 64 {
			g.p("PREFETCHT0 %d(DX)", i)
		}
		for i := range vecs {
			g.p("VMOVUPD %s, %d(SI)", g.v(2*i), i*g.bytes)
			g.p("VMOVUPD %s, %d(DI)", g.v(2*i+1), i*g.bytes)
		}
		for _, r := range []string{"DI", "SI", "DX"} {
			g.p("ADDQ $%d, %s", vecs*g.bytes, r)
		}
		g.p("SUBQ $%d, CX", vecs*g.bytes)
		g.p("JGE  loop%d", vecs)
		g.l("\nrest%d:", vecs)
		g.p("ADDQ $%d, CX", vecs*g.bytes)
	}
	g.p("JEQ  done")
	g.l("\nloop:")
	g.p("MOVL (DI), AX")
	g.p("MOVL (SI), BX")
	g.p("MOVL AX, (SI)")
	g.p("MOVL BX, (DI)")
	g.p("ADDQ $4, DI")
	g.p("ADDQ $4, SI")
	g.p("SUBQ $4, CX")
	g.p("JNE  loop")
	g.l("\ndone:")
	g.ret()
}

// luTables writes the mask of a magnitude, and for AVX2 that of the rows that
// follow the diagonal: as many zeros as a block has rows, then as many ones.
func (g *generator) luTables() {
	abs := map[int]string{8: "0x7fffffffffffffff", 4: "0x7fffffff"}[g.size]
	g.constants("luabs", 1, func(int) string { return abs })
	g.constants("lustep", 1, func(int) string { return fmt.Sprint(g.luAccs() * g.lanes()) })
	if g.avx512() {
		g.constants("lulanes", 1, func(int) string { return fmt.Sprint(g.lanes()) })
		return
	}
	n := luVecs * g.lanes()
	g.constants("lubelow", 2*n, func(i int) string { return ones(i >= n) })
}

// R12 says which rows of the first block follow a diagonal: by its bits, or as
// the address of lanes in luTables.

// luMasks prepares luMask.
func (g *generator) luMasks() {
	if g.avx512() {
		g.p("MOVQ R12, R13")
	}
}

// luMask makes the mask of the rows that R12 stands for in vector p, one vector
// after the other: K2, or the register mask. It returns its name.
func (g *generator) luMask(p, mask int) (name string) {
	if g.avx512() {
		g.p("KMOVW R13, K2")
		if p < luVecs-1 {
			g.p("SHRQ $%d, R13", g.lanes())
		}
		return "K2"
	}
	g.p("VMOVDQU %d(R12), %s", p*g.bytes, g.v(mask))
	return g.v(mask)
}

// luBelow takes R12 on by a row.
func (g *generator) luBelow() {
	if g.avx512() {
		g.p("ADDQ R12, R12")
	} else {
		g.p("SUBQ $%d, R12", g.size)
	}
}

// luMasked subtracts the product of register t, which is zero out of the mask,
// and coefficient u from p in the lanes of the mask, K2 or the register, which
// it overwrites. The others must not have 0·u subtracted: it is NaN if u is
// infinite.
func (g *generator) luMasked(t, u, p, mask int) {
	if g.avx512() {
		g.p("%s %s, %s, K2, %s", g.op("VFNMADD231"), g.v(t), g.v(u), g.v(p))
		return
	}
	g.p("VPAND %s, %s, %s", g.v(u), g.v(mask), g.v(mask))
	g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(t), g.v(mask), g.v(p))
}

// luUpdate writes the kernel that updates a column and looks for its pivot.
func (g *generator) luUpdate() {
	accs := g.luAccs()
	most, where := luVecs, luVecs+accs
	next := luVecs + 2*accs
	reg := func() int { next++; return next - 1 }
	u, s, abs, row, step, t, mask := reg(), reg(), reg(), reg(), reg(), reg(), reg()
	integer := map[int]string{8: "Q", 4: "D"}[g.size]

	g.function("luUpdate"+g.typ, "t *isa.LUColumn", "AX")
	g.p("MOVQ LU_C, DX")
	g.p("MOVQ DX, R10")
	g.fields("LU", "X R8", "LD R9", "K R11", "BLOCKS CX")
	g.p("VBROADCAST%s LU_SCALE, %s", g.scalar, g.v(s))
	g.p("VBROADCAST%s %s(SB), %s", g.scalar, g.local("luabs"), g.v(abs))
	g.p("VPBROADCAST%s %s(SB), %s", integer, g.local("lustep"), g.v(step))
	g.zero("VPXOR", row)
	for i := range accs {
		g.zero("VPXOR", most+i)
		g.zero("VPXOR", where+i)
	}

	// The first block has the rows above the diagonal: each is a coefficient of
	// those below it, itself included in the products with those before it.
	g.l("")
	for p := range luVecs {
		g.p("%s %d(DX), %s", g.op("VMOVU"), p*g.bytes, g.v(p))
	}
	if g.avx512() {
		g.p("MOVQ $-2, R12")
	} else {
		g.p("LEAQ %s+%d(SB), R12", g.local("lubelow"), luVecs*g.bytes-g.size)
	}
	g.p("MOVQ R11, BX")
	g.p("MOVQ R8, SI")
	g.p("MOVQ R10, DI")
	g.p("SUBQ $1, BX")
	g.p("JLT  top")
	g.p("JEQ  diagonal")
	g.l("\nabove:")
	g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(u))
	g.luMasks()
	for p := range luVecs {
		g.luMask(p, mask)
		if g.avx512() {
			g.p("%s %d(SI), %s, K2, %s", g.op("VFNMADD231"), p*g.bytes, g.v(u), g.v(p))
		} else {
			g.p("VPAND %d(SI), %s, %s", p*g.bytes, g.v(mask), g.v(t))
			g.luMasked(t, u, p, mask)
		}
		if p*g.lanes() < luDiagonal {
			g.p("%s %s, %d(DX)", g.op("VMOVU"), g.v(p), p*g.bytes)
		}
	}
	g.luBelow()
	g.p("ADDQ R9, SI")
	g.p("ADDQ $%d, DI", g.size)
	g.p("DECQ BX")
	g.p("JNE  above")
	g.l("\ndiagonal:")
	g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(u))
	g.luMasks()
	for p := range luVecs {
		at := fmt.Sprintf("%d(SI)", p*g.bytes)
		name := g.luMask(p, mask)
		if g.avx512() {
			g.p("%s.Z %s, %s, K2, %s", g.op("VMUL"), at, g.v(s), g.v(t))
		} else {
			g.p("%s %s, %s, %s", g.op("VMUL"), at, g.v(s), g.v(t))
			g.p("VPAND %s, %s, %s", g.v(mask), g.v(t), g.v(t))
		}
		g.store(g.v(t), name, at)
		g.luMasked(t, u, p, mask)
	}
	g.luBelow()
	g.l("\ntop:")
	// Back to the rows from K on.
	if g.avx512() {
		g.p("SARQ $1, R12")
	} else {
		g.p("ADDQ $%d, R12", g.size)
	}
	g.luMasks()
	for p := range luVecs {
		g.p("%s %s, %d(DX)", g.op("VMOVU"), g.v(p), p*g.bytes)
		g.luMask(p, mask)
		g.luSearch(p, most, where, row, abs, t, step, mask)
	}
	g.p("JMP  next")

	g.l("\nblock:")
	for p := range luVecs {
		g.p("%s %d(DX), %s", g.op("VMOVU"), p*g.bytes, g.v(p))
	}
	g.p("MOVQ R11, BX")
	g.p("MOVQ R8, SI")
	g.p("MOVQ R10, DI")
	g.p("SUBQ $1, BX")
	g.p("JLT  search")
	g.p("JEQ  last")
	g.l("\nloop:")
	g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(u))
	for p := range luVecs {
		g.p("%s %d(SI), %s, %s", g.op("VFNMADD231"), p*g.bytes, g.v(u), g.v(p))
	}
	g.p("ADDQ R9, SI")
	g.p("ADDQ $%d, DI", g.size)
	g.p("DECQ BX")
	g.p("JNE  loop")
	g.l("\nlast:")
	g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(u))
	for p := range luVecs {
		at := fmt.Sprintf("%d(SI)", p*g.bytes)
		g.p("%s %s, %s, %s", g.op("VMUL"), at, g.v(s), g.v(t))
		g.p("%s %s, %s", g.op("VMOVU"), g.v(t), at)
		g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(t), g.v(u), g.v(p))
	}
	g.l("\nsearch:")
	for p := range luVecs {
		g.p("%s %s, %d(DX)", g.op("VMOVU"), g.v(p), p*g.bytes)
		g.luSearch(p, most, where, row, abs, t, step, -1)
	}
	g.l("\nnext:")
	g.p("ADDQ $%d, DX", luVecs*g.bytes)
	g.p("ADDQ $%d, R8", luVecs*g.bytes)
	g.p("DECQ CX")
	g.p("JNE  block")
	if g.avx512() {
		// One of the searches takes over from the others what is greater, or as
		// great and above.
		g.p("VPBROADCAST%s %s(SB), %s", integer, g.local("lulanes"), g.v(t))
		for i := 1; i < accs; i++ {
			for j := i; j < accs; j++ {
				g.p("VPADD%s %s, %s, %s", integer, g.v(t), g.v(where+j), g.v(where+j))
			}
			g.p("%s $0x1e, %s, %s, K1", g.op("VCMP"), g.v(most), g.v(most+i))
			g.p("%s $0, %s, %s, K2", g.op("VCMP"), g.v(most), g.v(most+i))
			g.p("VPCMP%s $1, %s, %s, K2, K2", integer, g.v(where), g.v(where+i))
			g.p("KORW K1, K2, K1")
			g.p("%s %s, K1, %s", g.op("VMOVA"), g.v(most+i), g.v(most))
			g.p("VMOVDQA%d %s, K1, %s", 8*g.size, g.v(where+i), g.v(where))
		}
		accs = 1
	}
	for i := range accs {
		g.p("%s %s, LU_MOST+%d(AX)", g.op("VMOVU"), g.v(most+i), i*g.bytes)
		g.p("VMOVDQU%s %s, LU_WHERE+%d(AX)", map[bool]string{true: fmt.Sprint(8 * g.size)}[g.avx512()], g.v(where+i), i*g.bytes)
	}
	g.ret()
}

// luSearch compares vector p, which it overwrites, with the greatest so far, in
// the lanes of the mask if that is not negative.
func (g *generator) luSearch(p, most, where, row, abs, t, step, mask int) {
	accs := g.luAccs()
	acc := p % accs
	integer := map[int]string{8: "Q", 4: "D"}[g.size]
	if g.avx512() {
		g.p("VPAND%s %s, %s, %s", integer, g.v(abs), g.v(p), g.v(p))
		k := ""
		if mask >= 0 {
			k = "K2, "
		}
		g.p("%s $0x1e, %s, %s, %sK1", g.op("VCMP"), g.v(most+acc), g.v(p), k)
		g.p("%s %s, K1, %s", g.op("VMOVA"), g.v(p), g.v(most+acc))
		g.p("VMOVDQA%d %s, K1, %s", 8*g.size, g.v(row), g.v(where+acc))
	} else {
		g.p("VPAND %s, %s, %s", g.v(abs), g.v(p), g.v(p))
		g.p("%s $0x1e, %s, %s, %s", g.op("VCMP"), g.v(most+acc), g.v(p), g.v(t))
		if mask >= 0 {
			g.p("VPAND %s, %s, %s", g.v(mask), g.v(t), g.v(t))
		}
		g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(t), g.v(p), g.v(most+acc), g.v(most+acc))
		g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(t), g.v(row), g.v(where+acc), g.v(where+acc))
	}
	if acc == accs-1 {
		g.p("VPADD%s %s, %s, %s", integer, g.v(step), g.v(row), g.v(row))
	}
}

// luScale writes the kernel that only scales a column.
func (g *generator) luScale() {
	s, mask := luVecs, luVecs+1
	g.function("luScale"+g.typ, "t *isa.LUColumn", "AX")
	g.fields("LU", "C DX", "K R11")
	if g.avx512() {
		g.p("MOVQ R11, CX")
		g.p("MOVQ $-1, R12")
		g.p("SHLQ CX, R12")
	} else {
		g.p("NEGQ R11")
		g.p("LEAQ %s(SB), R12", g.local("lubelow"))
		g.p("LEAQ %d(R12)(R11*%d), R12", luVecs*g.bytes, g.size)
	}
	g.luMasks()
	g.p("MOVQ LU_BLOCKS, CX")
	g.p("VBROADCAST%s LU_SCALE, %s", g.scalar, g.v(s))
	for _, masked := range []bool{true, false} {
		if !masked {
			g.l("\nblock:")
		}
		for p := range luVecs {
			at := fmt.Sprintf("%d(DX)", p*g.bytes)
			g.p("%s %s, %s, %s", g.op("VMUL"), at, g.v(s), g.v(p))
			name := ""
			if masked {
				name = g.luMask(p, mask)
			}
			g.store(g.v(p), name, at)
		}
		g.p("ADDQ $%d, DX", luVecs*g.bytes)
		g.p("DECQ CX")
		if masked {
			g.p("JEQ  done")
		} else {
			g.p("JNE  block")
		}
	}
	g.l("\ndone:")
	g.ret()
}

// luFile returns the file of the kernels for columns of L and U.
func luFile(isa isa) *generator {
	g := newFile(isa)
	g.l("// Offsets of the fields of LUColumn.")
	g.offsets("LU", "X", "LD", "C", "K", "BLOCKS", "SCALE")
	g.l("#define LU_MOST %d", 8*6)
	g.l("#define LU_WHERE %d", 8*6+64)
	g.l("")
	for _, g.elem = range elems() {
		g.lu()
	}
	g.luExchange()
	return g
}
