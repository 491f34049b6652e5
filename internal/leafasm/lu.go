package main

import "fmt"

// Registers of the kernels for columns of L and U:
//
//	AX  *LUColumn
//	DX  rows of column K    R8  the same rows of column 0    R9  from column to column
//	R10 coefficients        R11 K                            CX  blocks left
//	SI, DI, BX  column, coefficient and count in the loop over the columns before
//
// and of vectors, with n = luVecs and a = luAccs:
//
//	0 … n−1          the rows of column K
//	n … n+a−1        their greatest magnitudes so far, by lane
//	n+a … n+2a−1     and the rows of these
//	n+2a …           coefficient, factor, mask of the magnitude, row, step, others
//	K1, K2           masks

// luVecs is the number of vectors in a block of rows: for so many products is
// a coefficient broadcast once. asm.LUBlock says the same.
const luVecs = 4

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

// luTables writes the mask of a magnitude, and for AVX2 that of the rows that
// follow the diagonal: as many zeros as a block has rows, then as many ones.
func (g *generator) luTables() {
	abs := map[int]string{8: "0x7fffffffffffffff", 4: "0x7fffffff"}[g.size]
	g.l("DATA %s+0(SB)/%d, $%s", g.local("luabs"), g.size, abs)
	g.l("GLOBL %s(SB), RODATA|NOPTR, $%d\n", g.local("luabs"), g.size)
	name := g.local("lustep")
	g.l("DATA %s+0(SB)/%d, $%d", name, g.size, g.luAccs()*g.lanes())
	g.l("GLOBL %s(SB), RODATA|NOPTR, $%d\n", name, g.size)
	if g.avx512() {
		return
	}
	name = g.local("lubelow")
	n := luVecs * g.lanes()
	for i := range 2 * n {
		bits := "0"
		if i >= n {
			bits = "-1"
		}
		g.l("DATA %s+%d(SB)/%d, $%s", name, i*g.size, g.size, bits)
	}
	g.l("GLOBL %s(SB), RODATA|NOPTR, $%d\n", name, 2*n*g.size)
}

// luMask makes the mask of the rows from LU_ROW on in vector p of the first
// block: K2, or the vector register mask.
func (g *generator) luMask(p, mask int) {
	if g.avx512() {
		g.p("KMOVW R12, K2")
		if p < luVecs-1 {
			g.p("SHRQ $%d, R12", g.lanes())
		}
		return
	}
	g.p("VMOVDQU %d(R12), %s", p*g.bytes, g.v(mask))
}

// luMasks prepares luMask.
func (g *generator) luMasks() {
	if g.avx512() {
		g.p("MOVQ LU_ROW, CX")
		g.p("MOVQ $-1, R12")
		g.p("SHLQ CX, R12")
		return
	}
	g.p("MOVQ LU_ROW, R12")
	g.p("NEGQ R12")
	g.p("LEAQ %s(SB), R13", g.local("lubelow"))
	g.p("LEAQ %d(R13)(R12*%d), R12", luVecs*g.bytes, g.size)
}

// luStore stores register v, in the lanes of the mask if there is one.
func (g *generator) luStore(v int, at string, masked bool, mask int) {
	switch {
	case !masked:
		g.p("%s %s, %s", g.op("VMOVU"), g.v(v), at)
	case g.avx512():
		g.p("%s %s, K2, %s", g.op("VMOVU"), g.v(v), at)
	default:
		g.p("%s %s, %s, %s", g.op("VMASKMOV"), g.v(v), g.v(mask), at)
	}
}

// luUpdate writes the kernel that updates a column and looks for its pivot.
func (g *generator) luUpdate() {
	accs := g.luAccs()
	most, where := luVecs, luVecs+accs
	next := luVecs + 2*accs
	reg := func() int { next++; return next - 1 }
	u, s, abs, row, step, t, mask := reg(), reg(), reg(), reg(), reg(), reg(), reg()
	integer := map[int]string{8: "Q", 4: "D"}[g.size]

	g.l("// func LUUpdate%s%s(t *LUColumn)", g.name, g.typ)
	g.l("TEXT ·LUUpdate%s%s(SB), NOSPLIT, $0-8", g.name, g.typ)
	g.p("MOVQ t+0(FP), AX")
	g.p("MOVQ LU_C, DX")
	g.p("MOVQ LU_X, R8")
	g.p("MOVQ LU_LD, R9")
	g.p("MOVQ LU_U, R10")
	g.p("MOVQ LU_K, R11")
	g.luMasks()
	g.p("MOVQ LU_BLOCKS, CX")
	g.p("VBROADCAST%s LU_SCALE, %s", g.scalar, g.v(s))
	g.p("VBROADCAST%s %s(SB), %s", g.scalar, g.local("luabs"), g.v(abs))
	g.p("VPBROADCAST%s %s(SB), %s", integer, g.local("lustep"), g.v(step))
	zero := func(v int) {
		if g.avx512() {
			g.p("VPXORQ %s, %s, %s", g.v(v), g.v(v), g.v(v))
		} else {
			g.p("VPXOR %s, %s, %s", g.v(v), g.v(v), g.v(v))
		}
	}
	zero(row)
	for i := range accs {
		zero(most + i)
		zero(where + i)
	}
	for _, masked := range []bool{true, false} {
		label := "block"
		if masked {
			label = "first"
		}
		g.l("\n%s:", label)
		for p := range luVecs {
			g.p("%s %d(DX), %s", g.op("VMOVU"), p*g.bytes, g.v(p))
		}
		g.p("MOVQ R11, BX")
		g.p("MOVQ R8, SI")
		g.p("MOVQ R10, DI")
		g.p("SUBQ $1, BX")
		g.p("JLT  %smax", label)
		g.p("JEQ  %slast", label)
		g.l("\n%sloop:", label)
		g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(u))
		for p := range luVecs {
			g.p("%s %d(SI), %s, %s", g.op("VFNMADD231"), p*g.bytes, g.v(u), g.v(p))
		}
		g.p("ADDQ R9, SI")
		g.p("ADDQ $%d, DI", g.size)
		g.p("DECQ BX")
		g.p("JNE  %sloop", label)
		g.l("\n%slast:", label)
		g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(u))
		if masked && g.avx512() {
			g.p("MOVQ R12, R13")
		}
		for p := range luVecs {
			at := fmt.Sprintf("%d(SI)", p*g.bytes)
			g.p("%s %s, %s, %s", g.op("VMUL"), at, g.v(s), g.v(t))
			if masked {
				g.luMask(p, mask)
			}
			g.luStore(t, at, masked, mask)
			g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(t), g.v(u), g.v(p))
		}
		if masked && g.avx512() {
			g.p("MOVQ R13, R12")
		}
		g.l("\n%smax:", label)
		for p := range luVecs {
			if masked {
				g.luMask(p, mask)
			}
			g.luStore(p, fmt.Sprintf("%d(DX)", p*g.bytes), masked, mask)
			acc := p % accs
			if g.avx512() {
				g.p("VPAND%s %s, %s, %s", integer, g.v(abs), g.v(p), g.v(p))
				k := ""
				if masked {
					k = "K2, "
				}
				g.p("%s $0x1e, %s, %s, %sK1", g.op("VCMP"), g.v(most+acc), g.v(p), k)
				g.p("%s %s, K1, %s", g.op("VMOVA"), g.v(p), g.v(most+acc))
				g.p("VMOVDQA%d %s, K1, %s", 8*g.size, g.v(row), g.v(where+acc))
			} else {
				g.p("VPAND %s, %s, %s", g.v(abs), g.v(p), g.v(p))
				g.p("%s $0x1e, %s, %s, %s", g.op("VCMP"), g.v(most+acc), g.v(p), g.v(t))
				if masked {
					g.p("VPAND %s, %s, %s", g.v(mask), g.v(t), g.v(t))
				}
				g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(t), g.v(p), g.v(most+acc), g.v(most+acc))
				g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(t), g.v(row), g.v(where+acc), g.v(where+acc))
			}
			if acc == accs-1 {
				g.p("VPADD%s %s, %s, %s", integer, g.v(step), g.v(row), g.v(row))
			}
		}
		g.p("ADDQ $%d, DX", luVecs*g.bytes)
		g.p("ADDQ $%d, R8", luVecs*g.bytes)
		g.p("DECQ CX")
		if masked {
			g.p("JEQ  done")
		} else {
			g.p("JNE  block")
		}
	}
	g.l("\ndone:")
	for i := range accs {
		g.p("%s %s, LU_MOST+%d(AX)", g.op("VMOVU"), g.v(most+i), i*g.bytes)
		g.p("VMOVDQU%s %s, LU_WHERE+%d(AX)", map[bool]string{true: fmt.Sprint(8 * g.size)}[g.avx512()], g.v(where+i), i*g.bytes)
	}
	g.p("VZEROUPPER")
	g.p("RET")
	g.l("")
}

// luScale writes the kernel that only scales a column.
func (g *generator) luScale() {
	s, mask := luVecs, luVecs+1
	g.l("// func LUScale%s%s(t *LUColumn)", g.name, g.typ)
	g.l("TEXT ·LUScale%s%s(SB), NOSPLIT, $0-8", g.name, g.typ)
	g.p("MOVQ t+0(FP), AX")
	g.p("MOVQ LU_C, DX")
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
			if masked {
				g.luMask(p, mask)
			}
			g.luStore(p, at, masked, mask)
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
	g.p("VZEROUPPER")
	g.p("RET")
	g.l("")
}

// luFile returns the file of the kernels for columns of L and U.
func luFile() []byte {
	g := newFile()
	g.l("// Offsets of the fields of LUColumn.")
	for i, f := range []string{"X", "LD", "C", "U", "K", "ROW", "BLOCKS", "SCALE"} {
		g.l("#define LU_%s %d(AX)", f, 8*i)
	}
	g.l("#define LU_MOST %d", 8*8)
	g.l("#define LU_WHERE %d", 8*8+256)
	g.l("")
	for _, g.isa = range isas() {
		for _, g.elem = range elems() {
			g.lu()
		}
	}
	return g.text.Bytes()
}
