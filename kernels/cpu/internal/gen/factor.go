package main

import "fmt"

// Registers of the factoring kernels:
//
//	AX  *Leaf
//	R12 row p of X      SI  bytes from there to the panel's columns
//	DX  C               BX  leading dimension of C
//	R13 reciprocals of the panel's diagonal
//	DI, R8  tables of lanes, shifted to the panel's first
//	R9  mask of a lane; R10, R11 tables for masks of several, shifted
//	K1  mask of the last vector of C; K2, K3 others
//	CX  count

// factors writes the entry factor and its kernels by width.
func (g *generator) factors() {
	table := g.local("factors")
	for v := 1; v <= g.vecs; v++ {
		name := g.local(fmt.Sprintf("factor%d", v))
		g.factor(name, v)
		g.l("DATA %s+%d(SB)/8, $%s(SB)\n", table, 8*(v-1), name)
	}
	g.l("GLOBL %s(SB), RODATA, $%d\n", table, 8*g.vecs)
	g.entry("factor"+g.typ, "t *isa.Leaf", table, "ARG_WIDTH", 1)
}

func (g *generator) factor(name string, v int) {
	g.l("TEXT %s(SB), NOSPLIT, $0-0", name)
	g.fields("ARG", "X R12", "C DX", "LDC BX", "INV R13", "LANE SI")
	if g.avx512() {
		g.p("MOVQ ARG_LAST, CX")
		g.lowest("R9", "K1")
		g.p("MOVQ SI, CX")
		g.p("MOVQ $-1, R10")
		g.p("SHLQ CX, R10")
	} else {
		g.p("LEAQ %s(SB), R10", g.local("first"))
		g.p("MOVQ ARG_LAST, CX")
		g.p("NEGQ CX")
		g.p("LEAQ %d(R10)(CX*%d), R11", g.bytes, g.size)
		g.p("NEGQ SI")
		g.p("LEAQ %d(R10)(SI*%d), R10", 2*g.bytes, g.size)
		g.p("NEGQ SI")
	}
	g.p("SHLQ $%d, SI", map[int]int{8: 3, 4: 2}[g.size])
	g.p("MOVQ DX, CX")
	for i := range g.rows {
		for j := range v {
			g.load(fmt.Sprintf("%d(CX)", j*g.bytes), g.triangle(i, j, v, g.spare), g.sum(i, j))
		}
		g.p("ADDQ BX, CX")
		if g.avx512() && i < g.rows-1 {
			g.p("SHLQ $1, R10")
		}
	}
	g.p("MOVQ ARG_K, CX")
	g.p("TESTQ CX, CX")
	g.p("JEQ  diagonal")
	g.l("\nloop:")
	for s := range 4 {
		for j := range v {
			g.p("%s %d(R12), %s", g.op("VMOVU"), s*g.stride()+j*g.bytes, g.v(g.b+j))
		}
		g.products("VFNMADD231", g.rows, v, func(i int) string { return fmt.Sprintf("%d(R12)(SI*1)", s*g.stride()+i*g.size) })
	}
	g.p("ADDQ $%d, R12", 4*g.stride())
	g.p("SUBQ $4, CX")
	g.p("JNE  loop")

	g.l("\ndiagonal:")
	g.p("MOVQ ARG_LANE, CX")
	g.p("IMULQ $%d, CX", g.bytes)
	g.p("LEAQ %s(SB), DI", g.local("lane"))
	g.p("ADDQ CX, DI")
	if g.avx512() {
		g.p("MOVQ ARG_LANE, CX")
		g.p("MOVQ $1, R9")
		g.p("SHLQ CX, R9")
		g.p("MOVQ $-1, R10")
		g.p("SHLQ CX, R10")
	} else {
		g.p("LEAQ %s(SB), R8", g.local("only"))
		g.p("ADDQ CX, R8")
	}
	// Row r, unscaled, and its quotients by the pivot update the rows below:
	// they wait for one division, and not for the root, which comes after.
	//
	//	row i −= (row r, lane i / pivot)·row r      row r /= √pivot
	pivot, quot, root, inv := g.spare, g.spare+1, g.spare+2, g.spare+3
	for r := range g.rows {
		g.broadcast(g.acc+r*g.vecs, r, pivot)
		if r < g.rows-1 {
			g.p("%s %s, %s, %s", g.op("VDIV"), g.v(pivot), g.sum(r, 0), g.v(quot))
		}
		g.p("%s %s, %s, %s", g.sop("VSQRT"), g.x(pivot), g.x(pivot), g.x(root))
		g.p("%s %s(SB), %s", g.sop("VMOV"), g.local("one"), g.x(inv))
		g.p("%s %s, %s, %s", g.sop("VDIV"), g.x(root), g.x(inv), g.x(inv))
		for i := r + 1; i < g.rows; i++ {
			q := pivot
			if g.spares > 4 {
				q = g.spare + 4 + i%(g.spares-4)
			}
			g.broadcast(quot, i, q)
			for j := range v {
				g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.sum(r, j), g.v(q), g.sum(i, j))
			}
		}
		g.p("%s %s, %d(R13)", g.sop("VMOV"), g.x(inv), r*g.size)
		g.p("VBROADCAST%s %s, %s", g.scalar, g.x(inv), g.v(inv))
		for j := range v {
			g.p("%s %s, %s, %s", g.op("VMUL"), g.v(inv), g.sum(r, j), g.sum(r, j))
		}
		// The root itself on the diagonal: better than pivot/√pivot.
		if g.avx512() {
			g.p("KMOVW R9, K2")
			g.p("VBROADCAST%s %s, K2, %s", g.scalar, g.x(root), g.sum(r, 0))
			g.p("SHLQ $1, R9")
		} else {
			g.p("VBROADCAST%s %s, %s", g.scalar, g.x(root), g.v(root))
			g.p("VMOVDQU %d(R8), %s", r*g.bytes, g.v(inv))
			g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(inv), g.v(root), g.sum(r, 0), g.sum(r, 0))
		}
		for j := range v {
			g.p("%s %s, %d(R12)", g.op("VMOVU"), g.sum(r, j), r*g.stride()+j*g.bytes)
			g.store(g.sum(r, j), g.triangle(r, j, v, inv), fmt.Sprintf("%d(DX)", j*g.bytes))
		}
		g.p("ADDQ BX, DX")
		if g.avx512() {
			g.p("SHLQ $1, R10")
		}
	}
	g.ret()
}

// triangle returns the register with the mask of vector j in row i of the
// tile, having loaded it, or "" if it is whole. For AVX2 it is the spare one.
func (g *generator) triangle(i, j, v, spare int) string {
	if g.avx512() {
		switch {
		case j == 0 && v == 1:
			g.p("KMOVW R10, K2")
			g.p("KANDW K1, K2, K3")
			return "K3"
		case j == 0:
			g.p("KMOVW R10, K2")
			return "K2"
		case j == v-1:
			return "K1"
		}
		return ""
	}
	mask := g.v(spare)
	switch {
	case j == 0:
		g.p("VMOVDQU %d(R10), %s", -i*g.size, mask)
		if v == 1 {
			g.p("VPAND (R11), %s, %s", mask, mask)
		}
	case j == v-1:
		g.p("VMOVDQU (R11), %s", mask)
	default:
		return ""
	}
	return mask
}

// broadcast writes the broadcast of the panel's lane l in register src to
// register dst.
func (g *generator) broadcast(src, l, dst int) {
	if !g.avx512() && g.size == 8 {
		g.p("VPERMPD $%d, %s, %s", l*0x55, g.v(src), g.v(dst))
		return
	}
	g.p("VMOVUPS %d(DI), %s", l*g.bytes, g.v(dst))
	g.p("%s %s, %s, %s", g.op("VPERM"), g.v(src), g.v(dst), g.v(dst))
}
