package main

import "fmt"

// gemmFile returns the file of the micro-kernels of gemm and of the packing of
// their operands, for one instruction set.
func gemmFile(isa isa) *generator {
	g := newFile(isa)
	g.l("// Offsets of the fields of isa.Tiles; alpha and beta follow each other.")
	g.offsets("ARG", "A", "RS", "CS", "PS", "B", "LDB", "C", "LDC", "K", "PANELS", "KIND", "MODE", "NEXT", "LANES")
	for _, f := range []string{"PANEL 136", "ROWS 144", "LAST 200", "ALPHA 208"} { // after LANES scratch
		g.l("#define ARG_%s(AX)", f)
	}
	g.l("")
	g.firsts()
	g.copy()
	g.abreast()
	for _, g.elem = range elems() {
		g.kernels()
		g.packs()
	}
	return g
}

// masks is the offset of the 24 masks of isa.Tiles.
const masks = 152

func (g *generator) beta() string { return fmt.Sprintf("%d(AX)", 208+g.size) }

// Registers of the kernels:
//
//	AX  *Tiles
//	R14 column p of A
//	R12 row p of B      R13, R15  1 and 3 times its leading dimension
//	DX  C               BX        its leading dimension
//	DI  C               to be fetched
//	CX  count
//
// and for A one of
//
//	R11, SI          1 and 3 times the column stride, if rows are adjacent
//	SI, R8, R9, R10  1, 3, 5 and 7 times the row stride, if columns are
//
// so that four columns of A and rows of B are reached from one pointer:
// additions to pointers would take turns from the multiply-adds.

// layout is how the elements of A lie.
type layout int

const (
	rows    layout = iota // adjacent rows, columns anywhere
	columns               // adjacent columns, rows anywhere
	panel                 // adjacent rows of adjacent columns, as packed
)

func (l layout) String() string { return [...]string{"rows", "columns", "panel"}[l] }

// elementOfA returns the address of the element in row i and p columns on.
func (g *generator) elementOfA(l layout, i, p int) string {
	switch l {
	case panel:
		return fmt.Sprintf("%d(R14)", (p*g.rows+i)*g.size)
	case rows:
		return fmt.Sprintf("%d(R14)", i*g.size) + [...]string{"", "(R11*1)", "(R11*2)", "(SI*1)"}[p]
	}
	return fmt.Sprintf("%d(R14)", p*g.size) +
		[...]string{"", "(SI*1)", "(SI*2)", "(R8*1)", "(SI*4)", "(R9*1)", "(R8*2)", "(R10*1)"}[i]
}

// vectorOfB returns the address of vector j, p rows on.
func (g *generator) vectorOfB(j, p int) string {
	return fmt.Sprintf("%d(R12)", j*g.bytes) + [...]string{"", "(R13*1)", "(R13*2)", "(R15*1)"}[p]
}

// kernels writes the entry and the kernels for each shape of tile.
func (g *generator) kernels() {
	table := fmt.Sprintf("%s_table<>", g.lower())
	size := 0
	for _, h := range g.heights() {
		for v := 1; v <= g.vecs; v++ {
			for _, masked := range []bool{false, true} {
				g.kernel(h, v, masked)
				g.l("DATA %s+%d(SB)/8, $%s(SB)\n", table, size, g.kernelName(h, v, masked))
				size += 8
			}
		}
	}
	g.l("GLOBL %s(SB), RODATA, $%d\n", table, size)
	g.entry("gemm"+g.typ, fmt.Sprintf("t *isa.Tiles[float%d]", 8*g.size), table, "ARG_KIND", 0)
}

// heights returns the numbers of rows that there are kernels for. Those
// between 4 and a whole tile are put together.
func (g *generator) heights() []int {
	if g.rows == 8 {
		return []int{1, 2, 3, 4, 8}
	}
	return []int{1, 2, 3, 4}
}

func (g *generator) kernelName(h, v int, masked bool) string {
	name := fmt.Sprintf("%s_%dx%d", g.lower(), h, v)
	if masked {
		name += "m"
	}
	return name + "<>"
}

// kernel writes the kernel for tiles of h rows and v vectors. The masked one
// reads no more of the last vector of B than Tiles.Last says.
func (g *generator) kernel(h, v int, masked bool) {
	g.l("TEXT %s(SB), NOSPLIT, $0-0", g.kernelName(h, v, masked))
	g.p("MOVQ ARG_LDB, R13")
	g.p("LEAQ (R13)(R13*2), R15")
	g.fields("ARG", "C DX", "LDC BX")
	if masked {
		if g.avx512() {
			g.p("KMOVW ARG_LAST, K1")
		} else {
			g.lanesOf("ARG_LAST", g.a)
			g.p("VMOVDQU %s, ARG_LANES", g.v(g.a))
		}
	}
	// Not in place: the garbage collector would find a pointer beyond A.
	g.p("MOVQ ARG_A, CX")
	g.p("MOVQ CX, ARG_PANEL")
	g.l("\npanel:")
	if h < g.rows || masked {
		// C is on its way while the sums are computed.
		g.p("MOVQ DX, DI")
		for i := range h {
			for _, line := range g.linesOfC(v) {
				g.p("PREFETCHT0 %d(DI)", line)
			}
			if i < h-1 {
				g.p("ADDQ BX, DI")
			}
		}
	}
	g.fields("ARG", "PANEL R14", "B R12", "K CX")
	for i := range h {
		for j := range v {
			g.zero("VXORPD", g.acc+i*g.vecs+j)
		}
	}
	g.p("MOVQ ARG_CS, R11")
	if h == 1 {
		// One row is as good as the other.
		g.sums(rows, h, v, masked)
	} else {
		g.p("CMPQ R11, $%d", g.size)
		g.p("JEQ  columns")
		if h == g.rows && !masked {
			g.p("CMPQ R11, $%d", g.rows*g.size)
			g.p("JEQ  panels")
		}
		g.p("LEAQ (R11)(R11*2), SI")
		if h == g.rows && !masked {
			g.p("LEAQ (R11)(R11*4), R8")
			g.p("LEAQ (R11)(R11*8), R10")
			g.p("LEAQ (R11)(R8*2), R9")
		}
		g.sums(rows, h, v, masked)
		g.p("JMP  done")
		if h == g.rows && !masked {
			g.l("\npanels:")
			g.sums(panel, h, v, masked)
			g.p("JMP  done")
		}
		g.l("\ncolumns:")
		g.p("MOVQ ARG_RS, SI")
		if h > 3 {
			g.p("LEAQ (SI)(SI*2), R8")
		}
		if h > 5 {
			g.p("LEAQ (SI)(SI*4), R9")
		}
		if h > 7 {
			g.p("LEAQ (R8)(SI*4), R10")
		}
		g.sums(columns, h, v, masked)
	}
	g.l("\ndone:")
	g.epilogue(h, v, masked)
}

// sums writes the loop over k. Tiles of all rows take four steps at a time.
func (g *generator) sums(label layout, h, v int, masked bool) {
	if h == g.rows && !masked {
		// While the first sums are computed C is on its way, a row at a time:
		// requests for all of it at once would hold up those for A.
		// Later it is what Tiles.Next points to, a cache line at a time.
		four := func(fetch bool) {
			lines := g.linesOfC(v)
			for p := range 4 {
				if fetch && p < len(lines) {
					g.p("PREFETCHT0 %d(DI)", lines[p])
				}
				g.fetchA(label, p)
				g.step(label, h, v, p, false)
			}
			g.advance(label, 4)
		}
		g.p("SUBQ $4, CX")
		g.p("JLT  %vtail", label)
		g.p("MOVQ DX, DI")
		g.p("MOVQ $%d, ARG_ROWS", h)
		g.l("\n%vfetch:", label)
		four(true)
		g.p("SUBQ $4, CX")
		g.p("JLT  %vtail", label)
		g.p("ADDQ BX, DI")
		g.p("DECQ ARG_ROWS")
		g.p("JNE  %vfetch", label)
		g.p("MOVQ ARG_NEXT, DI")
		g.l("\n%v4:", label)
		g.p("PREFETCHT1 (DI)")
		g.p("ADDQ $64, DI")
		four(false)
		g.p("SUBQ $4, CX")
		g.p("JGE  %v4", label)
		g.p("MOVQ DI, ARG_NEXT")
		g.l("\n%vtail:", label)
		g.p("ADDQ $4, CX")
	} else {
		g.p("TESTQ CX, CX")
	}
	g.p("JEQ  done")
	g.l("\n%v1:", label)
	g.step(label, h, v, 0, masked)
	g.advance(label, 1)
	g.p("DECQ CX")
	g.p("JNE  %v1", label)
}

// fetchA asks for what is to be read of A soon, if hardware does not foresee it:
// one of four columns far apart, eight columns on. Elsewhere it would only take
// turns from the loads: there are 11 of them in the twelve cycles that the
// multiply-adds of AVX-512 take, and a twelfth costs one twentieth of the speed.
func (g *generator) fetchA(l layout, p int) {
	if l == rows {
		g.p("PREFETCHT0 (R14)%s", [...]string{"(R11*8)", "(R10*1)", "(R8*2)", "(R9*1)"}[p])
	}
}

// linesOfC returns offsets that hit every cache line of v vectors.
func (g *generator) linesOfC(v int) (offsets []int) {
	for at := 0; at < v*g.bytes; at += 64 {
		offsets = append(offsets, at)
	}
	return append(offsets, v*g.bytes-1)
}

// advance moves the pointers on by n columns of A and rows of B, n being 1 or
// 4.
func (g *generator) advance(l layout, n int) {
	g.p("LEAQ (R12)(R13*%d), R12", n)
	switch l {
	case rows:
		g.p("LEAQ (R14)(R11*%d), R14", n)
	case columns:
		g.p("ADDQ $%d, R14", n*g.size)
	case panel:
		g.p("ADDQ $%d, R14", n*g.rows*g.size)
	}
}

// step adds the product of the column of A and the row of B that are p on.
func (g *generator) step(l layout, h, v, p int, masked bool) {
	for j := range v {
		mask := ""
		if masked && j == v-1 {
			mask = "K1"
			if !g.avx512() {
				mask = g.v(g.a)
				g.p("VMOVDQU ARG_LANES, %s", mask)
			}
		}
		g.load(g.vectorOfB(j, p), mask, g.v(g.b+j))
	}
	g.products("VFMADD231", h, v, func(i int) string { return g.elementOfA(l, i, p) })
}

// products adds to the sums of h rows and v vectors, or subtracts from them, the
// products of the vectors of B and an element of each row, at an address.
func (g *generator) products(op string, h, v int, at func(i int) string) {
	for i := range h {
		a := g.v(g.a + i%g.as)
		g.p("VBROADCAST%s %s, %s", g.scalar, at(i), a)
		for j := range v {
			g.p("%s %s, %s, %s", g.op(op), g.v(g.b+j), a, g.sum(i, j))
		}
	}
}

// epilogue writes what happens to the sums of a tile by Tiles.Mode, and
// the end of the loop over panels. Only tiles of all rows have modes without
// masks.
func (g *generator) epilogue(h, v int, masked bool) {
	whole := h == g.rows && !masked
	alpha, beta, tmp := g.v(g.b), g.v(g.b+1), g.v(g.b+2)
	g.p("VBROADCAST%s ARG_ALPHA, %s", g.scalar, alpha)
	g.p("MOVQ ARG_MODE, CX")
	g.p("CMPQ CX, $2")
	if whole {
		g.p("JEQ  setmask")
		g.p("JGT  scalemask")
		g.p("TESTQ CX, CX")
		g.p("JNE  add")
	} else {
		g.p("JNE  scalemask")
	}
	each := func(label string, last bool, f func(i, j int, sum, c string)) {
		g.l("\n%s:", label)
		if label == "scalemask" {
			g.p("VBROADCAST%s %s, %s", g.scalar, g.beta(), beta)
		}
		for i := range h {
			for j := range v {
				f(i, j, g.sum(i, j), fmt.Sprintf("%d(DX)", j*g.bytes))
			}
			g.p("ADDQ BX, DX")
		}
		if !last {
			g.p("JMP  next")
		}
	}
	mul, fma, mov := g.op("VMUL"), g.op("VFMADD213"), g.op("VMOVU")
	if whole {
		each("set", false, func(_, _ int, sum, c string) {
			g.p("%s %s, %s, %s", mul, alpha, sum, sum)
			g.p("%s %s, %s", mov, sum, c)
		})
	}
	maskOf := func(i, j int) string {
		at := fmt.Sprintf("%d(AX)", masks+2*(i*g.vecs+j))
		if g.avx512() {
			g.p("KMOVW %s, K2", at)
			return "K2"
		}
		g.lanesOf(at, g.b+3)
		return g.v(g.b + 3)
	}
	each("setmask", false, func(i, j int, sum, c string) {
		mask := maskOf(i, j)
		g.p("%s %s, %s, %s", mul, alpha, sum, sum)
		g.store(sum, mask, c)
	})
	each("scalemask", !whole, func(i, j int, sum, c string) {
		mask := maskOf(i, j)
		g.load(c, mask, tmp)
		g.p("%s %s, %s, %s", mul, beta, tmp, tmp)
		g.p("%s %s, %s, %s", fma, tmp, alpha, sum)
		g.store(sum, mask, c)
	})
	if whole {
		each("add", true, func(_, _ int, sum, c string) {
			g.p("%s %s, %s, %s", fma, c, alpha, sum)
			g.p("%s %s, %s", mov, sum, c)
		})
	}
	g.l("\nnext:")
	g.p("MOVQ ARG_PS, CX")
	g.p("ADDQ CX, ARG_PANEL")
	g.p("DECQ ARG_PANELS")
	g.p("JNE  panel")
	g.ret()
}

// lanesOf writes the expansion of the 16-bit mask at an address to lanes of
// all ones or zeros in register r, for AVX2.
func (g *generator) lanesOf(at string, r int) {
	bits := fmt.Sprintf("%s_bits<>(SB)", g.lower())
	g.p("VPBROADCASTW %s, %s", at, g.v(r))
	g.p("VPAND %s, %s, %s", bits, g.v(r), g.v(r))
	cmp := map[int]string{4: "VPCMPEQD", 8: "VPCMPEQQ"}[g.size]
	g.p("%s %s, %s, %s", cmp, bits, g.v(r), g.v(r))
}
