package main

import "fmt"

// Registers of the packing:
//
//	AX *Panel    DI dst     R9  pitch      CX columns left
//	             SI src     R8  stride     R10 pointer that walks

// packs writes the packing of elements of one type.
func (g *generator) packs() {
	if !g.avx512() {
		for i := range g.lanes() {
			g.l("DATA %s_bits<>+%d(SB)/%d, $%d", g.lower(), i*g.size, g.size, 1<<i)
		}
		g.l("GLOBL %s_bits<>(SB), RODATA|NOPTR, $32\n", g.lower())
	}
	g.packTransposed()
}

// packing begins a function that takes a *Panel and loads its fields.
func (g *generator) packing(name string) {
	g.function(name, "p *isa.Panel", "AX")
	for i, r := range []string{"DI", "SI", "R8", "R9", "CX", "BX"} {
		g.p("MOVQ %d(AX), %s", 8*i, r)
	}
}

// firsts writes a table for AVX2: the 32 bytes that begin 32-n bytes from its
// start have the sign bits of the first n bytes set.
func (g *generator) firsts() {
	if g.avx512() {
		return
	}
	for i := range 8 {
		v := "0xffffffffffffffff"
		if i >= 4 {
			v = "0"
		}
		g.l("DATA firsts<>+%d(SB)/8, $%s", 8*i, v)
	}
	g.l("GLOBL firsts<>(SB), RODATA|NOPTR, $64\n")
}

// copy writes the function that packs rows of B or Aᵀ as they are. It moves
// words of four bytes.
func (g *generator) copy() {
	g.elem = elems()[1]
	if !g.avx512() {
		g.copyAVX2()
		return
	}
	g.packing("packRows")
	// The last vector of a row is read and written by masks: what W has of
	// it, and what the pitch has.
	last := func(bytes, dst string, vec int) {
		g.p("MOVQ CX, R11")
		g.p("MOVQ %s, CX", bytes)
		g.p("SUBQ $%d, CX", (vec-1)*g.bytes)
		g.p("SHRQ $2, CX")
		g.lowest("R10", dst)
		g.p("MOVQ R11, CX")
	}
	g.p("TESTQ CX, CX")
	g.p("JEQ  done")
	for vec := 1; vec <= g.vecs; vec++ {
		if vec < g.vecs {
			g.p("CMPQ BX, $%d", vec*g.bytes)
			g.p("JGT  more%d", vec)
		}
		last("BX", "K1", vec)
		// A pitch beyond this vector means that all of it is there.
		g.p("MOVQ R9, BX")
		g.p("CMPQ BX, $%d", vec*g.bytes)
		g.p("JLE  fits%d", vec)
		g.p("MOVQ $%d, BX", vec*g.bytes)
		g.l("fits%d:", vec)
		last("BX", "K2", vec)
		g.copyRows("loop", vec, "K1", "K2")
		if vec < g.vecs {
			g.l("\nmore%d:", vec)
		}
	}
	g.l("\ndone:")
	g.ret()
}

// copyAVX2 is copy for AVX2, which has no masks for stores that are worth
// their time on every processor: they take twelve cycles on Zen 3. Here nothing
// is stored but whole vectors, or halves if that is the pitch.
func (g *generator) copyAVX2() {
	const mask, half = "Y15", 16
	g.packing("packRows")
	g.p("TESTQ CX, CX")
	g.p("JEQ  done")
	// Whole vectors.
	for vec := 1; vec <= g.vecs; vec++ {
		g.p("CMPQ BX, $%d", vec*g.bytes)
		g.p("JNE  not%d", vec)
		g.copyRows("whole", vec, "", "")
		g.l("\nnot%d:", vec)
	}
	// The last vector of a row is read by a mask: what W has of it.
	masked := func(vec int) {
		g.p("LEAQ firsts<>+%d(SB), DX", 32+(vec-1)*g.bytes)
		g.p("SUBQ BX, DX")
		g.p("VMOVDQU (DX), %s", mask)
	}
	g.p("CMPQ R9, $%d", half)
	g.p("JEQ  half")
	for vec := 1; vec <= g.vecs; vec++ {
		if vec < g.vecs {
			g.p("CMPQ BX, $%d", vec*g.bytes)
			g.p("JGT  more%d", vec)
		}
		masked(vec)
		g.copyRows("loop", vec, mask, "")
		if vec < g.vecs {
			g.l("\nmore%d:", vec)
		}
	}
	g.l("\nhalf:")
	masked(1)
	g.l("\nhalves:")
	g.fetchRow(1)
	g.p("VPMASKMOVD (SI), X15, X0")
	g.p("VMOVDQU X0, (DI)")
	g.nextRow("halves")
	g.l("\ndone:")
	g.ret()
}

// abreast writes the functions that pack several panels of A or strips of B at
// a time: whole cache lines of rows that are far apart.
func (g *generator) abreast() {
	if g.avx512() {
		return
	}
	g.piecesOf("packStrips", 2, 3*g.bytes)
	g.piecesOf("packPanelsF64", 4, 32)
	g.piecesOf("packPanelsF32", 4, 16)
}

// piecesOf writes the function that cuts rows into n pieces, at most 4, of some
// bytes, and puts those of a row Far apart.
func (g *generator) piecesOf(name string, n, bytes int) {
	g.packing(name)
	g.p("MOVQ 48(AX), R11")
	g.p("LEAQ (R11)(R11*2), R12")
	g.p("TESTQ CX, CX")
	g.p("JEQ  done")
	g.l("\nrow:")
	for line := 0; line < n*bytes; line += 64 {
		g.p("PREFETCHT0 %d(SI)(R8*8)", line)
	}
	for i := range n * bytes / g.bytes {
		g.p("VMOVDQU %d(SI), %s", i*g.bytes, g.v(i))
	}
	for at := 0; at < n*bytes; {
		to := fmt.Sprintf("%d(DI)", at%bytes) + [...]string{"", "(R11*1)", "(R11*2)", "(R12*1)"}[at/bytes]
		r := at / g.bytes
		switch {
		case bytes >= g.bytes:
			g.p("VMOVDQU %s, %s", g.v(r), to)
			at += g.bytes
		case at%g.bytes == 0:
			g.p("VMOVDQU X%d, %s", r, to)
			at += bytes
		default:
			g.p("VEXTRACTF128 $1, %s, %s", g.v(r), to)
			at += bytes
		}
	}
	g.nextRow("row")
	g.l("\ndone:")
	g.ret()
}

// copyRows writes the loop that copies rows of vec vectors, of the last one the lanes
// of a mask from SI and those of another one to DI.
func (g *generator) copyRows(label string, vec int, from, to string) {
	g.l("\n%s%d:", label, vec)
	g.fetchOwnRow(label+"Last", vec)
	for j := range vec - 1 {
		g.load(fmt.Sprintf("%d(SI)", j*g.bytes), "", g.v(j))
	}
	g.load(fmt.Sprintf("%d(SI)", (vec-1)*g.bytes), from, g.v(vec-1))
	for j := range vec - 1 {
		g.store(g.v(j), "", fmt.Sprintf("%d(DI)", j*g.bytes))
	}
	g.store(g.v(vec-1), to, fmt.Sprintf("%d(DI)", (vec-1)*g.bytes))
	g.nextRow(label+"%d", vec)
}

// fetchRow asks for a row of vec vectors, eight rows on.
func (g *generator) fetchRow(vec int) {
	for line := 0; line < vec*g.bytes; line += 64 {
		g.p("PREFETCHT0 %d(SI)(R8*8)", line)
	}
}

// fetchOwnRow is fetchRow if the panel has that row. label tells its jump from others.
func (g *generator) fetchOwnRow(label string, vec int) {
	g.p("CMPQ CX, $8")
	g.p("JLE  %s%d", label, vec)
	g.fetchRow(vec)
	g.l("%s%d:", label, vec)
}

// nextRow writes the end of a loop over rows.
func (g *generator) nextRow(label string, args ...any) {
	g.p("ADDQ R8, SI")
	g.p("ADDQ R9, DI")
	g.p("DECQ CX")
	g.p("JNE  "+label, args...)
	g.p("JMP  done")
}

// packTransposed writes the function that packs rows of Bᵀ: as many of them as a
// vector has lanes, or fewer, become lanes.
func (g *generator) packTransposed() {
	n := g.lanes()
	mask := "Y15"
	g.packing("packTransposed" + g.typ)
	g.l("\nblock:")
	g.p("CMPQ CX, $%d", n)
	g.p("JLT  ragged")
	g.p("CMPQ BX, $%d", n)
	g.p("JLT  ragged")
	g.p("MOVQ SI, R10")
	for i := range n {
		g.p("%s (R10), %s", g.op("VMOVU"), g.v(i))
		if i < n-1 {
			g.p("ADDQ R8, R10")
		}
	}
	columns := g.transposed()
	for _, c := range columns {
		g.p("%s %s, (DI)", g.op("VMOVU"), g.v(c))
		g.p("ADDQ R9, DI")
	}
	g.p("ADDQ $%d, SI", g.bytes)
	g.p("SUBQ $%d, CX", n)
	g.p("JMP  block")
	g.l("\nragged:")
	g.p("TESTQ CX, CX")
	g.p("JLE  done")
	g.p("MOVQ CX, R11")
	g.p("CMPQ CX, $%d", n)
	g.p("JLE  less")
	g.p("MOVQ $%d, CX", n)
	g.l("less:")
	if g.avx512() {
		mask = "K1"
		g.lowest("DX", mask)
	} else {
		g.p("MOVQ CX, R10")
		g.p("SHLQ $%d, R10", map[int]int{8: 3, 4: 2}[g.size])
		g.p("LEAQ firsts<>+32(SB), DX")
		g.p("SUBQ R10, DX")
		g.p("VMOVDQU (DX), %s", mask)
	}
	for i := range n {
		g.zero("VXORPD", i)
	}
	g.p("MOVQ SI, R10")
	for i := range n {
		if i > 0 {
			g.p("CMPQ BX, $%d", i)
			g.p("JLE  loaded")
			g.p("ADDQ R8, R10")
		}
		g.load("(R10)", mask, g.v(i))
	}
	g.l("\nloaded:")
	for i, c := range g.transposed() {
		if i > 0 {
			g.p("CMPQ CX, $%d", i)
			g.p("JLE  stored")
		}
		g.p("%s %s, (DI)", g.op("VMOVU"), g.v(c))
		g.p("ADDQ R9, DI")
	}
	g.l("\nstored:")
	g.p("ADDQ $%d, SI", g.bytes)
	g.p("MOVQ R11, CX")
	g.p("SUBQ $%d, CX", n)
	g.p("JMP  ragged")
	g.l("\ndone:")
	g.ret()
}
