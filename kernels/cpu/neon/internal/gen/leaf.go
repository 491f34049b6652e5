package main

import "fmt"

// Registers of the kernels for triangles:
//
//	R0  *Leaf
//	R1  column p of A    R2…R4  1, 2 and 3 times the row stride    R5  column stride
//	R6  row p of X       R7     from the end of a row to the next one
//	R8  C                R9     its leading dimension
//	R10 count            R11    K
//	R12 panel of A       R13    panels left
//	R14 lanes in the last vector of C
//	R20 from panel to panel     R21  what that grows by     R22  reciprocals of the diagonal
//	R15, R19, R23       others

// leafFile returns the file of the kernels for diagonal blocks.
func leafFile() *generator {
	g := newFile()
	g.l("// Offsets of the fields of Leaf.")
	g.offsets("ARG", "A", "RS", "CS", "PS", "X", "C", "LDC", "INV", "K", "PANELS", "WIDTH", "LAST", "LANE", "PLAIN", "GROW")
	g.l("")
	for _, g.elem = range elems() {
		g.solves()
		g.factors()
		g.transpose()
		g.packTriangle()
	}
	return g
}

// kind is what a solving kernel takes for C.
type kind string

const (
	whole  kind = ""  // rows of whole vectors
	masked kind = "m" // rows of which the last vector is not whole
	own    kind = "x" // X itself
)

// jump writes the function that goes on with one of the kernels in a table, by a field of its argument;
// the first one has the number first.
func (g *generator) jump(name, params, table, field string, first int) {
	g.function(name, params, "R0")
	g.p("MOVD %s, R1", field)
	g.p("MOVD $%s(SB), R2", table)
	if first > 0 {
		g.p("SUB $%d, R1", first)
	}
	g.p("MOVD (R2)(R1<<3), R2")
	g.p("B (R2)")
	g.l("")
}

// solves writes the entry solve and its kernels by width.
func (g *generator) solves() {
	table := g.local("solves")
	size := 0
	for v := 1; v <= vecs; v++ {
		for _, kind := range []kind{whole, masked, own} {
			name := g.local(fmt.Sprintf("solve%d%s", v, kind))
			g.solve(name, v, kind)
			g.l("DATA %s+%d(SB)/8, $%s(SB)\n", table, size, name)
			size += 8
		}
	}
	g.l("GLOBL %s(SB), RODATA, $%d\n", table, size)
	g.jump("solve"+g.typ, "t *isa.Leaf", table, "ARG_WIDTH", 3)
}

// rowOfX loads a row of X of n registers, as far as there is room, and has use add their products.
func (g *generator) rowOfX(n int, use func(n, q int)) {
	if n <= 4 {
		g.load(n, regB, "R6", "R7")
		use(n, 0)
		return
	}
	g.load(4, regB, "R6", "64")
	use(4, 0)
	g.load(n-4, regB, "R6", "R7")
	use(n-4, 4)
}

// rest sets R7, for rows of X of n registers.
func (g *generator) rest(n int) {
	if n > 4 {
		g.p("MOVD $%d, R7", g.stride()-64)
	} else {
		g.p("MOVD $%d, R7", g.stride())
	}
}

// subtract subtracts the products of n registers of X from q on and elements of A from the sums.
func (g *generator) subtract(n, q int, at func(i int) (register, element int)) {
	for r := range n {
		for i := range rows {
			a, e := at(i)
			g.by("fmls", sum(i, q+r), regB+r, a, e)
		}
	}
}

// rowOfC moves a row of n registers, from r on, between registers and what the pointer points to.
func (g *generator) rowOfC(move func(n, r int, pointer, by string), n, r int, pointer string) {
	if n <= 4 {
		move(n, r, pointer, "")
		return
	}
	g.p("ADD $64, %s, R23", pointer)
	move(4, r, pointer, "")
	move(n-4, r+4, "R23", "")
}

// solve writes the kernel for rows of v vectors.
func (g *generator) solve(name string, v int, kind kind) {
	n := pair * v
	g.l("TEXT %s(SB), NOSPLIT, $0-0", name)
	g.fields("ARG", "A R12", "RS R2", "CS R5", "PS R20", "GROW R21", "INV R22", "C R8", "LDC R9", "K R11", "PANELS R13")
	if kind == masked {
		g.p("MOVD ARG_LAST, R14")
	}
	g.p("ADD R2, R2, R3")
	g.p("ADD R2, R3, R4")
	g.rest(n)
	last := func(i int) int { return sum(i, n-pair) }
	g.l("\npanel:")
	g.p("MOVD R8, R10")
	for i := range rows {
		if kind == masked {
			if v > 1 {
				g.load(n-pair, sum(i, 0), "R10", "")
			}
			g.p("ADD $%d, R10, R23", (v-1)*vec)
			g.partial(last(i), "R23")
		} else {
			g.rowOfC(g.load, n, sum(i, 0), "R10")
		}
		g.p("ADD R9, R10")
	}
	g.p("MOVD R12, R1")
	g.p("MOVD ARG_X, R6")
	g.p("MOVD R11, R10")
	g.p("CBZ R10, diagonal")
	g.l("\nloop:")
	move := g.sop("FMOV")
	for range 4 {
		for i := range rows {
			g.p("%s %s, F%d", move, g.rowOfA(i), regA+i)
		}
		g.p("ADD R5, R1")
		g.rowOfX(n, func(n, q int) {
			g.subtract(n, q, func(i int) (int, int) { return regA + i, 0 })
		})
	}
	g.p("SUBS $4, R10")
	g.p("BNE loop")

	g.l("\ndiagonal:")
	g.p("MOVD ARG_PLAIN, R10")
	g.p("CBNZ R10, plain")
	// The reciprocals are in register 0, and 1; elements of A in those from 2 on.
	inverses := rows / g.per()
	g.load(inverses, 0, "R22", "")
	for c := range rows {
		for q := range n {
			g.by("fmul", sum(c, q), sum(c, q), c/g.per(), c%g.per())
		}
		for i := c + 1; i < rows; i++ {
			a := 2 + i%6
			g.p("%s %s, F%d", move, g.rowOfA(i), a)
			for q := range n {
				g.by("fmls", sum(i, q), sum(c, q), a, 0)
			}
		}
		g.p("ADD R5, R1")
	}
	g.l("\nplain:")
	for i := range rows {
		g.rowOfC(g.store, n, sum(i, 0), "R6")
		g.p("ADD $%d, R6", g.stride())
		switch kind {
		case whole:
			g.rowOfC(g.store, n, sum(i, 0), "R8")
		case masked:
			if v > 1 {
				g.store(n-pair, sum(i, 0), "R8", "")
			}
			g.p("ADD $%d, R8, R23", (v-1)*vec)
			g.partialStore(last(i), "R23")
		}
		g.p("ADD R9, R8")
	}
	g.p("ADD R20, R12")
	g.p("ADD R21, R20")
	g.p("ADD $%d, R22", rows*g.size)
	g.p("ADD $%d, R11", rows)
	g.p("SUBS $1, R13")
	g.p("BNE panel")
	g.ret()
}

// rowOfA returns the address of row i of A at column p.
func (g *generator) rowOfA(i int) string {
	return [...]string{"(R1)", "(R1)(R2)", "(R1)(R3)", "(R1)(R4)"}[i]
}

// factors writes the kernels that factor a tile in X, by its width and by the register of the first
// vector in which the panel begins, and their entry.
func (g *generator) factors() {
	table := g.local("factors")
	size := 0
	for v := 1; v <= vecs; v++ {
		for at := range pair {
			name := g.local(fmt.Sprintf("factor%d%d", v, at))
			if at == 0 || g.per() == rows { // elsewhere the panel fills a vector
				g.factor(name, v, at)
			} else {
				name = g.local(fmt.Sprintf("factor%d0", v))
			}
			g.l("DATA %s+%d(SB)/8, $%s(SB)\n", table, size, name)
			size += 8
		}
	}
	g.l("GLOBL %s(SB), RODATA, $%d\n", table, size)
	g.framed("factor"+g.typ, "t *isa.Leaf", 8, "R0")
	g.triangle(true)
	g.fields("ARG", "WIDTH R1", "LANE R3")
	g.p("SUB $1, R1")
	g.p("LSL $1, R1")
	g.p("LSR $2, R3") // 0, or the second register of floats
	g.p("ADD R3, R1")
	g.p("MOVD $%s(SB), R2", table)
	g.p("MOVD (R2)(R1<<3), R2")
	g.p("CALL (R2)")
	g.triangle(false)
	g.ret()
}

// triangle copies what the tile has of C, from the diagonal on, into X, filled up with zeros, or back:
// NEON has no masks, and of X all may be written to.
//
//	R6  row of X    R8 row of C    R1 elements of it    R10 rows left
//	R4, R5, R7      the same within a row               R11 zeros
func (g *generator) triangle(in bool) {
	label := map[bool]string{true: "in", false: "out"}[in]
	g.fields("ARG", "X R6", "K R10", "C R8", "LDC R9", "WIDTH R1", "LAST R14", "LANE R3")
	g.p("MOVD $%d, R2", g.stride())
	g.p("MADD R2, R6, R10, R6")
	g.p("ADD R3<<%d, R6", g.shift)
	g.p("ADD R3<<%d, R8", g.shift)
	g.p("SUB $1, R1")
	g.p("LSL $%d, R1", 5-g.shift)
	g.p("ADD R14, R1")
	g.p("SUB R3, R1")
	g.p("MOVD $%d, R11", g.lanes())
	g.p("SUB R14, R11")
	g.p("MOVD $%d, R10", rows)
	from, to := "R4", "R5"
	if in {
		from, to = to, from
	}
	g.l("\n%s:", label)
	g.p("MOVD R6, R4")
	g.p("MOVD R8, R5")
	g.p("SUBS $%d, R1, R7", g.per())
	g.p("BLT %sfew", label)
	g.l("\n%squads:", label)
	g.p("FMOVQ.P %d(%s), F0", reg, from)
	g.p("FMOVQ.P F0, %d(%s)", reg, to)
	g.p("SUBS $%d, R7", g.per())
	g.p("BGE %squads", label)
	g.l("\n%sfew:", label)
	g.p("ADDS $%d, R7", g.per())
	g.p("BEQ %sdone", label)
	g.l("\n%sone:", label)
	g.p("%s.P %d(%s), F0", g.sop("FMOV"), g.size, from)
	g.p("%s.P F0, %d(%s)", g.sop("FMOV"), g.size, to)
	g.p("SUBS $1, R7")
	g.p("BNE %sone", label)
	g.l("\n%sdone:", label)
	if in {
		g.p("CBZ R11, full")
		g.p("MOVD R11, R7")
		g.l("\nempty:")
		g.p("%s.P ZR, %d(R4)", map[int]string{8: "MOVD", 4: "MOVW"}[g.size], g.size)
		g.p("SUBS $1, R7")
		g.p("BNE empty")
		g.l("\nfull:")
	}
	g.p("ADD $%d, R6", g.stride()+g.size)
	g.p("ADD R9, R8")
	g.p("ADD $%d, R8", g.size)
	g.p("SUB $1, R1")
	g.p("SUBS $1, R10")
	g.p("BNE %s", label)
}

// factor writes the kernel for v vectors, of which the panel begins in register at.
func (g *generator) factor(name string, v, at int) {
	n := pair * v
	g.l("TEXT %s(SB), NOSPLIT, $0-0", name)
	g.fields("ARG", "X R6", "INV R22", "K R10")
	g.p("MOVD $%d, R1", g.stride())
	g.p("MADD R1, R6, R10, R8") // row K
	g.p("MOVD R8, R11")
	g.p("ADD $%d, R6, R12", at*reg)
	g.rest(n)
	for i := range rows {
		g.rowOfC(g.load, n, sum(i, 0), "R11")
		g.p("ADD R1, R11")
	}
	g.p("CBZ R10, diagonal")
	g.l("\nloop:")
	for range 4 {
		g.load(rows/g.per(), regA, "R12", "R1")
		g.rowOfX(n, func(n, q int) {
			g.subtract(n, q, func(i int) (int, int) { return regA + i/g.per(), i % g.per() })
		})
	}
	g.p("SUBS $4, R10")
	g.p("BNE loop")
	g.l("\ndiagonal:")
	const pivot, root, inv, one = 0, 1, 2, 3
	e := map[int]string{8: "D", 4: "S"}[g.size]
	g.p("%s $1.0, F%d", g.sop("FMOV"), one)
	for r := range rows {
		q, l := at+r/g.per(), r%g.per()
		g.p("VMOV V%d.%s[%d], V%d.%s[0]", sum(r, q), e, l, pivot, e)
		g.p("%s F%d, F%d", g.sop("FSQRT"), pivot, root)
		g.p("%s F%d, F%d, F%d", g.sop("FDIV"), root, one, inv)
		g.p("%s.P F%d, %d(R22)", g.sop("FMOV"), inv, g.size)
		for q := range n {
			g.by("fmul", sum(r, q), sum(r, q), inv, 0)
		}
		for i := r + 1; i < rows; i++ {
			for q := range n {
				g.by("fmls", sum(i, q), sum(r, q), sum(r, at+i/g.per()), i%g.per())
			}
		}
		// The root itself on the diagonal: better than pivot/√pivot.
		g.p("VMOV V%d.%s[0], V%d.%s[%d]", root, e, sum(r, q), e, l)
	}
	for i := range rows {
		g.rowOfC(g.store, n, sum(i, 0), "R8")
		g.p("ADD R1, R8")
	}
	g.ret()
}

// transpose writes the transposition of square blocks of as many rows as a vector has lanes:
//
//	R0 block of dst    R1 its stride    R2 from block to block
//	R3 block of src    R4 its stride    R5 from block to block    R6 blocks
//
// Register b·lanes+i has part b of row i, and afterwards part i/per of column b·per+i%per.
func (g *generator) transpose() {
	n, per := g.lanes(), g.per()
	g.function("transpose"+g.typ, "dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int", "R0", "R1", "R2", "R3", "R4", "R5", "R6")
	g.l("\nblock:")
	g.p("MOVD R3, R7")
	for i := range n {
		g.p("FLDPQ (R7), (F%d, F%d)", i, n+i)
		g.p("ADD R4, R7")
	}
	for r := 0; r < pair*n; r += per {
		g.square(r, pair*n)
	}
	g.p("MOVD R0, R7")
	for b := range pair {
		for c := range per {
			g.p("FSTPQ (F%d, F%d), (R7)", b*n+c, b*n+per+c)
			g.p("ADD R1, R7")
		}
	}
	g.p("ADD R2, R0")
	g.p("ADD R5, R3")
	g.p("SUBS $1, R6")
	g.p("BNE block")
	g.ret()
}

// packTriangle writes the copying of rows as long as a tile has rows:
//
//	R0 dst    R1 row of src    R2 its stride    R3 rows left
func (g *generator) packTriangle() {
	n := rows / g.per()
	g.function("packTriangle"+g.typ, "dst, src unsafe.Pointer, stride, n int", "R0", "R1", "R2", "R3")
	g.l("\nloop:") // n is a multiple of four
	for i := range 4 {
		g.load(n, i*n, "R1", "R2")
	}
	for q := 0; q < 4*n; q += 4 {
		g.store(4, q, "R0", "64")
	}
	g.p("SUBS $4, R3")
	g.p("BNE loop")
	g.ret()
}
