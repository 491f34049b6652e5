package main

import "fmt"

// Registers of the solving kernels:
//
//	AX  *Leaf
//	DI  panel of A      R14  its column p         SI, R8, R9, R10  1, 3, 5 and 7 times the row stride
//	R11 column stride of A
//	R12 row p of X
//	DX  C               BX   leading dimension of C
//	CX  count
//	R13 second count, then reciprocals of the panel's diagonal

// rowOfA returns the address of row i of A at column p.
func rowOfA(i int) string {
	return [...]string{"(R14)", "(R14)(SI*1)", "(R14)(SI*2)", "(R14)(R8*1)", "(R14)(SI*4)", "(R14)(R9*1)", "(R14)(R8*2)", "(R14)(R10*1)"}[i]
}

// solves writes the entry solve and its kernels by width.
func (g *generator) solves() {
	table := g.local("solves")
	size := 0
	for v := 1; v <= g.vecs; v++ {
		for _, kind := range []kind{whole, masked, own} {
			name := fmt.Sprintf("solve%d%s", v, kind)
			g.solve(g.local(name), v, kind)
			g.l("DATA %s+%d(SB)/8, $%s(SB)\n", table, size, g.local(name))
			size += 8
		}
	}
	g.l("GLOBL %s(SB), RODATA, $%d\n", table, size)
	g.entry("solve"+g.typ, "t *isa.Leaf", table, "ARG_WIDTH", 3)
}

// ahead is how many columns of A before the end of a panel the next one of C
// is asked for. Much earlier, it would be gone again from the first-level
// cache when its turn comes, if its rows lie a multiple of a page apart.
const ahead = 32

// kind is what a solving kernel takes for C.
type kind string

const (
	whole  kind = ""  // rows of whole vectors
	masked kind = "m" // rows of which the last vector is not whole
	own    kind = "x" // X itself
)

// solve writes the kernel for rows of v vectors.
func (g *generator) solve(name string, v int, kind kind) {
	masked := kind == masked
	g.l("TEXT %s(SB), NOSPLIT, $0-0", name)
	g.fields("ARG", "A DI", "RS SI")
	g.p("LEAQ (SI)(SI*2), R8")
	if g.rows == 8 {
		g.p("LEAQ (SI)(SI*4), R9")
		g.p("LEAQ (R8)(SI*4), R10")
	}
	g.fields("ARG", "CS R11", "C DX", "LDC BX")
	if masked && g.avx512() {
		g.p("MOVQ ARG_LAST, CX")
		g.lowest("R12", "K1")
	}
	mask := g.v(g.spare + g.spares - 1)
	if g.avx512() {
		mask = "K1"
	}
	maskOf := func(j int) string {
		if masked && j == v-1 {
			return mask
		}
		return ""
	}
	loadMask := func() {
		if masked && !g.avx512() {
			g.p("MOVQ ARG_LAST, CX")
			g.p("NEGQ CX")
			g.p("LEAQ %s+%d(SB), R9", g.local("first"), g.bytes)
			g.p("VMOVDQU (R9)(CX*%d), %s", g.size, mask)
		}
	}

	g.l("\npanel:")
	loadMask()
	g.p("MOVQ DX, R12")
	for i := range g.rows {
		for j := range v {
			g.load(fmt.Sprintf("%d(R12)", j*g.bytes), maskOf(j), g.sum(i, j))
		}
		g.p("ADDQ BX, R12")
	}
	g.p("MOVQ DI, R14")
	g.fields("ARG", "X R12", "K CX")
	g.p("MOVQ $%d, R13", ahead)
	g.p("SUBQ R13, CX")
	g.p("JGT  loop")
	g.p("ADDQ CX, R13") // all of K
	g.p("JMP  prefetch")
	g.l("\nloop:")
	for s := range 4 {
		// Columns of A that are not neighbours come in time only if asked for.
		g.p("PREFETCHT0 (R14)(R11*8)")
		for j := range v {
			g.p("%s %d(R12), %s", g.op("VMOVU"), s*g.stride()+j*g.bytes, g.v(g.b+j))
		}
		g.products("VFNMADD231", g.rows, v, rowOfA)
		g.p("ADDQ R11, R14")
	}
	g.p("ADDQ $%d, R12", 4*g.stride())
	g.p("SUBQ $4, CX")
	g.p("JNE  loop")
	g.p("TESTQ R13, R13")
	g.p("JEQ  diagonal")
	g.l("\nprefetch:")
	g.p("LEAQ (DX)(BX*%d), CX", g.rows)
	for i := range g.rows {
		for j := range v {
			if j*g.bytes%64 == 0 && kind != own {
				g.p("PREFETCHT0 %d(CX)", j*g.bytes)
			}
		}
		if i < g.rows-1 && kind != own {
			g.p("ADDQ BX, CX")
		}
	}
	g.p("MOVQ R13, CX")
	g.p("XORQ R13, R13")
	g.p("TESTQ CX, CX")
	g.p("JNE  loop")

	g.l("\ndiagonal:")
	g.p("MOVQ ARG_INV, R13")
	loadMask()
	g.p("CMPQ ARG_PLAIN, $0")
	g.p("JNE  plain")
	spares := g.spares
	if !g.avx512() {
		spares-- // the mask
	}
	next := 0
	spare := func() string {
		next++
		return g.v(g.spare + next%spares)
	}
	for c := range g.rows {
		r := spare()
		g.p("VBROADCAST%s %d(R13), %s", g.scalar, c*g.size, r)
		for j := range v {
			g.p("%s %s, %s, %s", g.op("VMUL"), r, g.sum(c, j), g.sum(c, j))
		}
		for i := c + 1; i < g.rows; i++ {
			a := spare()
			g.p("VBROADCAST%s %s, %s", g.scalar, rowOfA(i), a)
			for j := range v {
				g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.sum(c, j), a, g.sum(i, j))
			}
		}
		g.finish(c, v, kind, maskOf)
		g.p("ADDQ R11, R14")
	}
	g.l("\nnext:")
	g.p("MOVQ ARG_PS, CX")
	g.p("ADDQ CX, DI")
	g.p("ADDQ ARG_GROW, CX")
	g.p("MOVQ CX, ARG_PS")
	g.p("ADDQ $%d, ARG_INV", g.rows*g.size)
	g.p("ADDQ $%d, ARG_K", g.rows)
	g.p("DECQ ARG_PANELS")
	g.p("JNE  panel")
	g.p("VZEROUPPER")
	g.p("RET")
	g.l("\nplain:")
	for i := range g.rows {
		g.finish(i, v, kind, maskOf)
	}
	g.p("JMP  next")
	g.l("")
}

// finish writes row i of the sums to X, where R12 points to row 0, and to C, of
// which DX moves to the next row.
func (g *generator) finish(i, v int, kind kind, maskOf func(j int) string) {
	for j := range v {
		g.p("%s %s, %d(R12)", g.op("VMOVU"), g.sum(i, j), i*g.stride()+j*g.bytes)
		if kind != own {
			g.store(g.sum(i, j), maskOf(j), fmt.Sprintf("%d(DX)", j*g.bytes))
		}
	}
	g.p("ADDQ BX, DX")
}
