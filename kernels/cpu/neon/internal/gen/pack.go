package main

import "fmt"

// Registers of the packing:
//
//	R0  *Panel
//	R1  dst    R3  stride    R5  rows, or columns, left
//	R2  src    R4  pitch     R6  bytes of a row, or rows

// packing begins a function that takes a *Panel and loads its fields.
func (g *generator) packing(name string) {
	g.function(name, "p *isa.Panel", "R0")
	for i, r := range []string{"R1", "R2", "R3", "R4", "R5", "R6"} {
		g.p("MOVD %d(R0), %s", 8*i, r)
	}
}

// copy writes the function that packs rows of B or Aᵀ as they are.
func (g *generator) copy() {
	g.packing("packRows")
	g.p("CBZ R5, done")
	// Whole vectors, and the half of one that four elements of 4 bytes are.
	for _, bytes := range []int{reg, vec, 2 * vec, 3 * vec} {
		n := bytes / reg
		g.p("CMP $%d, R6", bytes)
		g.p("BNE not%d", n)
		if n == 1 {
			g.p("CMP $%d, R4", bytes)
			g.p("BNE ragged")
		}
		if n > 4 {
			g.p("SUB $64, R3")
			g.p("SUB $64, R4")
		}
		g.l("\nloop%d:", n)
		if n > 4 {
			g.load(4, 0, "R2", "64")
			g.load(n-4, 4, "R2", "R3")
			g.store(4, 0, "R1", "64")
			g.store(n-4, 4, "R1", "R4")
		} else {
			g.load(n, 0, "R2", "R3")
			g.store(n, 0, "R1", "R4")
		}
		g.p("SUBS $1, R5")
		g.p("BNE loop%d", n)
		g.p("RET")
		g.l("\nnot%d:", n)
	}
	g.l("\nragged:")
	g.p("MOVD R2, R7")
	g.p("MOVD R1, R8")
	g.p("SUB R6, R4, R10")
	g.p("SUBS $%d, R6, R9", reg)
	g.p("BLT words")
	g.l("\nquads:")
	g.p("FMOVQ.P %d(R7), F0", reg)
	g.p("FMOVQ.P F0, %d(R8)", reg)
	g.p("SUBS $%d, R9", reg)
	g.p("BGE quads")
	g.l("\nwords:")
	g.p("ADDS $%d, R9", reg)
	g.p("BEQ zeros")
	g.l("\nword:")
	g.p("MOVWU.P 4(R7), R11")
	g.p("MOVW.P R11, 4(R8)")
	g.p("SUBS $4, R9")
	g.p("BNE word")
	g.l("\nzeros:")
	g.p("CBZ R10, next")
	g.l("\nzero:")
	g.p("MOVW.P ZR, 4(R8)")
	g.p("SUBS $4, R10")
	g.p("BNE zero")
	g.l("\nnext:")
	g.p("ADD R3, R2")
	g.p("ADD R4, R1")
	g.p("SUBS $1, R5")
	g.p("BNE ragged")
	g.l("\ndone:")
	g.ret()
}

// arr is the arrangement of a register as Go's assembler has it.
func (g *generator) arrangement() string { return map[int]string{8: "D2", 4: "S4"}[g.size] }

// square transposes the square of as many registers, from r on, as one holds elements, with as many
// from tmp on.
func (g *generator) square(r, tmp int) {
	two := func(arr string, a, b, lo, hi int) {
		g.p("VTRN1 V%d.%s, V%d.%s, V%d.%s", b, arr, a, arr, lo, arr)
		g.p("VTRN2 V%d.%s, V%d.%s, V%d.%s", b, arr, a, arr, hi, arr)
	}
	if g.size == 8 {
		g.p("VMOV V%d.B16, V%d.B16", r, tmp)
		g.p("VTRN1 V%d.D2, V%d.D2, V%d.D2", r+1, r, r)
		g.p("VTRN2 V%d.D2, V%d.D2, V%d.D2", r+1, tmp, r+1)
		return
	}
	two("S4", r, r+1, tmp, tmp+1)
	two("S4", r+2, r+3, tmp+2, tmp+3)
	two("D2", tmp, tmp+2, r, r+2)
	two("D2", tmp+1, tmp+3, r+1, r+3)
}

// packTransposed writes the function that packs rows of Bᵀ: as many of them as a vector has lanes,
// or fewer, become lanes. Four rows of which nothing goes to the upper half of a vector are those
// of a panel of A.
//
// Rows are at R2 and, from the second on, R7 to R13.
func (g *generator) packTransposed() {
	per, lanes := g.per(), g.lanes()
	g.packing("packTransposed" + g.typ)
	pointers := []string{"R2", "R7", "R8", "R9", "R10", "R11", "R12", "R13"}
	whole := func(label string, n int) {
		for i := 1; i < n; i++ {
			g.p("ADD R3, %s, %s", pointers[i-1], pointers[i])
		}
		g.p("SUBS $%d, R5", per)
		g.p("BLT rest%s", label)
		g.l("\n%s:", label)
		for i := range n {
			g.p("FMOVQ.P %d(%s), F%d", reg, pointers[i], i)
		}
		for i := 0; i < n; i += per {
			g.square(i, 16)
		}
		if n == per { // neighbours in memory
			g.store(per, 0, "R1", fmt.Sprint(per*reg))
		} else {
			for i := range per {
				// Column i is in registers i, per+i.
				g.p("FSTPQ (F%d, F%d), (R1)", i, per+i)
				g.p("ADD R4, R1")
			}
		}
		g.p("SUBS $%d, R5", per)
		g.p("BGE %s", label)
		g.l("\nrest%s:", label)
		g.p("ADD $%d, R5", per)
	}
	g.p("CMP $%d, R6", lanes)
	g.p("BNE fewer")
	whole("vectors", lanes)
	g.p("B ragged")
	g.l("\nfewer:")
	if per < lanes && per == rows {
		g.p("CMP $%d, R6", per)
		g.p("BNE ragged")
		g.p("CMP $%d, R4", reg)
		g.p("BNE ragged")
		whole("half", per)
	}
	// Element by element: R7 to R9 are a lane's pointers and count, R10 the lanes left.
	g.l("\nragged:")
	g.p("CBZ R5, done")
	g.p("MOVD $%d, R10", lanes)
	if per == rows {
		g.p("CMP $%d, R4", reg)
		g.p("BNE lane")
		g.p("MOVD $%d, R10", per)
	}
	g.l("\nlane:")
	g.p("MOVD R1, R7")
	g.p("MOVD R2, R8")
	g.p("MOVD R5, R9")
	g.p("CBZ R6, empty")
	g.p("SUB $1, R6")
	move := map[int]string{8: "MOVD", 4: "MOVWU"}[g.size]
	store := map[int]string{8: "MOVD", 4: "MOVW"}[g.size]
	g.l("\nelement:")
	g.p("%s.P %d(R8), R11", move, g.size)
	g.p("%s R11, (R7)", store)
	g.p("ADD R4, R7")
	g.p("SUBS $1, R9")
	g.p("BNE element")
	g.p("B next")
	g.l("\nempty:")
	g.p("%s ZR, (R7)", store)
	g.p("ADD R4, R7")
	g.p("SUBS $1, R9")
	g.p("BNE empty")
	g.l("\nnext:")
	g.p("ADD R3, R2")
	g.p("ADD $%d, R1", g.size)
	g.p("SUBS $1, R10")
	g.p("BNE lane")
	g.l("\ndone:")
	g.ret()
}
