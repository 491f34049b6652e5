package main

import "fmt"

// gemmFile returns the file of the micro-kernels of gemm and of the packing of their operands.
func gemmFile() *generator {
	g := newFile()
	g.l("// Offsets of the fields of isa.Tiles; alpha and beta follow each other.")
	g.offsets("ARG", "A", "RS", "CS", "PS", "B", "LDB", "C", "LDC", "K", "PANELS", "KIND", "MODE")
	g.l("#define ARG_LAST %d(R0)", 200)
	g.l("#define ARG_ALPHA %d(R0)", alpha)
	g.l("")
	g.copy()
	for _, g.elem = range elems() {
		g.kernels()
		g.packTransposed()
	}
	return g
}

// masks and alpha are the offsets of the masks and of alpha in isa.Tiles.
const (
	masks = 152
	alpha = 208
)

// Registers of the kernels:
//
//	R0  *Tiles
//	R1…R4   rows of A       R5  from column to column of A
//	R6  row of B            R7  from the end of a row to the next one
//	R8  C                   R9  its leading dimension
//	R10 count
//	R11 panel of A          R12 panels left
//	R14 lanes in the last vector of a row of B
//	R25 room for a tile
//	R13, R15, R19…R24       others

// kernels writes the entry and the kernels for each shape of tile.
func (g *generator) kernels() {
	table := g.local("gemms")
	size := 0
	for h := 1; h <= rows; h++ {
		for v := 1; v <= vecs; v++ {
			for _, masked := range []bool{false, true} {
				g.kernel(h, v, masked)
				g.l("DATA %s+%d(SB)/8, $%s(SB)\n", table, size, g.kernelName(h, v, masked))
				size += 8
			}
		}
	}
	g.l("GLOBL %s(SB), RODATA, $%d\n", table, size)
	g.framed("gemm"+g.typ, "t *isa.Tiles["+g.float()+"]", rows*vecs*vec, "R0")
	g.p("MOVD $room-%d(SP), R25", rows*vecs*vec)
	g.p("MOVD ARG_KIND, R1")
	g.p("MOVD $%s(SB), R2", table)
	g.p("MOVD (R2)(R1<<3), R2")
	g.p("CALL (R2)")
	g.ret()
}

func (g *generator) kernelName(h, v int, masked bool) string {
	name := fmt.Sprintf("gemm%dx%d", h, v)
	if masked {
		name += "m"
	}
	return g.local(name)
}

// kernel writes the kernel for tiles of h rows and v vectors. The masked one reads no more of the
// last vector of B than Tiles.Last says.
func (g *generator) kernel(h, v int, masked bool) {
	g.l("TEXT %s(SB), NOSPLIT, $0-0", g.kernelName(h, v, masked))
	g.fields("ARG", "A R11", "PANELS R12", "CS R5", "LDB R7", "C R8", "LDC R9")
	// What is left of a row of B behind what is loaded at first.
	switch {
	case masked && v > 1:
		g.p("SUB $%d, R7", (v-1)*vec)
	case v == vecs:
		g.p("SUB $%d, R7", 2*vec)
	}
	if masked {
		g.p("MOVHU ARG_LAST, R14")
		g.p("CLZ R14, R14")
		g.p("MOVD $64, R15")
		g.p("SUB R14, R15, R14")
	}
	g.l("\npanel:")
	whole := h == rows && !masked
	if whole {
		// C is on its way while the sums are computed.
		g.p("MOVD R8, R1")
		for i := range h {
			for at := 0; at < v*vec; at += 64 {
				g.p("PRFM %d(R1), PLDL1KEEP", at)
			}
			if i < h-1 {
				g.p("ADD R9, R1")
			}
		}
	}
	g.fields("ARG", "B R6", "K R10")
	for i := range h {
		for q := range pair * v {
			g.zero(sum(i, q))
		}
	}
	g.p("CBZ R10, done")
	if whole {
		g.p("CMP $%d, R5", g.size)
		g.p("BEQ columns")
		g.p("MOVD R11, R1")
		g.p("CMP $%d, R5", rows*g.size)
		g.p("BNE rows")
		g.p("CMP $%d, R7", (pair*v-1)%4*reg+reg) // with the rest of a packed row
		g.p("BNE rows")
		g.panels(pair * v)
		g.rows(pair * v)
		g.columns(pair * v)
	} else {
		g.any(h, v, masked)
	}
	g.l("\ndone:")
	g.epilogue(h, v, masked)
}

// products adds to the sums the products of n registers of B, the first of which holds what belongs
// to register q of a row, and the elements of A that at returns for a row.
func (g *generator) products(n, q int, at func(i int) (register, element int)) {
	for r := range n {
		for i := range rows {
			a, e := at(i)
			g.by("fmla", sum(i, q+r), regB+r, a, e)
		}
	}
}

// panels writes the loop over columns of A and rows of B, of n registers, without gaps, four of them at
// a time: all loads are of four registers.
func (g *generator) panels(n int) {
	steps := g.per() // that four registers of A hold
	g.p("SUBS $4, R10")
	g.p("BLT tail")
	g.l("\npanels:")
	for range 4 / steps {
		g.load(4, regA, "R1", "64")
		for b := 0; b < steps*n; b += 4 {
			g.load(4, regB, "R6", "64")
			for r := range 4 {
				s, q := (b+r)/n, (b+r)%n
				for i := range rows {
					e := s*rows + i
					g.by("fmla", sum(i, q), regB+r, regA+e/g.per(), e%g.per())
				}
			}
		}
	}
	g.p("SUBS $4, R10")
	g.p("BGE panels")
	g.l("\ntail:")
	g.p("ADDS $4, R10")
	g.p("BEQ done")
}

// rows writes the loop over columns of A that lie anywhere.
func (g *generator) rows(n int) {
	g.l("\nrows:")
	g.load(rows/g.per(), regA, "R1", "R5")
	g.rowOfB(n, func(i int) (int, int) { return regA + i/g.per(), i % g.per() })
	g.p("SUBS $1, R10")
	g.p("BNE rows")
	g.p("B done")
}

// rowOfB adds the products with a row of B, of n registers.
func (g *generator) rowOfB(n int, at func(i int) (register, element int)) {
	if n > 4 {
		g.load(4, regB, "R6", "64")
		g.products(4, 0, at)
	}
	g.load((n-1)%4+1, regB, "R6", "R7")
	g.products((n-1)%4+1, (n-1)/4*4, at)
}

// columns writes the loop over rows of A that lie anywhere: as many of their elements at a time as
// a register holds.
func (g *generator) columns(n int) {
	g.l("\ncolumns:")
	g.rowsOfA(rows)
	steps := g.per()
	loop := func(label string, elements int, load string) {
		g.l("\n%s:", label)
		for i := range rows {
			g.p("%s.P %d(R%d), F%d", load, elements*g.size, 1+i, regA+i)
		}
		for s := range elements {
			g.rowOfB(n, func(i int) (int, int) { return regA + i, s })
		}
	}
	g.p("SUBS $%d, R10", steps)
	g.p("BLT rest")
	loop("several", steps, "FMOVQ")
	g.p("SUBS $%d, R10", steps)
	g.p("BGE several")
	g.l("\nrest:")
	g.p("ADDS $%d, R10", steps)
	g.p("BEQ done")
	loop("single", 1, g.sop("FMOV"))
	g.p("SUBS $1, R10")
	g.p("BNE single")
}

// rowsOfA sets the pointers to h rows of A.
func (g *generator) rowsOfA(h int) {
	g.p("MOVD R11, R1")
	if h > 1 {
		g.p("MOVD ARG_RS, R13")
	}
	for i := 1; i < h; i++ {
		g.p("ADD R13, R%d, R%d", i, i+1)
	}
}

// any writes the loop over k for tiles of h rows and v vectors and any A.
func (g *generator) any(h, v int, masked bool) {
	g.rowsOfA(h)
	g.l("\nstep:")
	for i := range h {
		g.duplicate(regA+i, fmt.Sprintf("R%d", 1+i), "R5")
	}
	multiply := func(n, q int) {
		for r := range n {
			for i := range h {
				g.vec("fmla", sum(i, q+r), regB+r, regA+i)
			}
		}
	}
	left := pair * v
	if masked {
		left -= pair
	}
	for q := 0; q < left; q += 4 {
		n := min(4, left-q)
		by := fmt.Sprint(n * reg)
		if q+n == left && !masked {
			by = "R7"
		}
		g.load(n, regB, "R6", by)
		multiply(n, q)
	}
	if masked {
		g.partial(regB, "R6")
		g.p("ADD R7, R6")
		multiply(pair, left)
	}
	g.p("SUBS $1, R10")
	g.p("BNE step")
}

// epilogue writes what happens to the sums of a tile by Tiles.Mode, and the end of the loop over
// panels. Only tiles of all rows have modes without masks.
func (g *generator) epilogue(h, v int, masked bool) {
	const factor, other = 0, 1
	g.p("MOVD ARG_MODE, R13")
	g.p("%s ARG_ALPHA, F%d", g.sop("FMOV"), factor)
	n := pair * v
	// row passes the registers of a row, from r on, to load or store; the pointer moves on to the
	// next row.
	row := func(move func(n, r int, pointer, by string), r int, pointer string) {
		if n <= 4 {
			move(n, r, pointer, "R9")
			return
		}
		move(4, r, pointer, "64")
		move(n-4, r+4, pointer, "R15")
	}
	if h == rows && !masked {
		g.p("CMP $2, R13")
		g.p("BGE masks")
		g.p("SUB $64, R9, R15")
		g.p("MOVD R8, R1")
		g.p("CBNZ R13, add")
		for i := range h {
			for q := range n {
				g.by("fmul", sum(i, q), sum(i, q), factor, 0)
			}
			row(g.store, sum(i, 0), "R1")
		}
		g.p("B next")
		g.l("\nadd:")
		g.p("MOVD R8, R2")
		for i := range h {
			row(g.load, other, "R2")
			for q := range n {
				g.by("fmla", other+q, sum(i, q), factor, 0)
			}
			row(g.store, other, "R1")
		}
		g.p("B next")
		g.l("\nmasks:")
	}
	g.merge(h, v)
	g.l("\nnext:")
	g.p("MOVD ARG_PS, R1")
	g.p("ADD R1, R11")
	if h == rows {
		g.p("ADD R9<<2, R8")
	} else {
		g.p("MOVD $%d, R1", h)
		g.p("MADD R1, R8, R9, R8")
	}
	g.p("SUBS $1, R12")
	g.p("BNE panel")
	g.ret()
}

// merge writes the modes with masks: the sums go to R25, and from there, vector by vector or, where
// a mask does not have all lanes, lane by lane to C.
func (g *generator) merge(h, v int) {
	const factor, beta, s, c = 0, 1, 4, 6
	g.p("MOVD R25, R1")
	for i := range h {
		for q := 0; q < pair*v; q += 4 {
			n := min(4, pair*v-q)
			g.store(n, sum(i, q), "R1", fmt.Sprint(n*reg))
		}
	}
	g.p("%s %d(R0), F%d", g.sop("FMOV"), alpha+g.size, beta)
	g.p("MOVD R25, R1")
	g.p("MOVD R8, R2")
	g.p("ADD $%d, R0, R3", masks)
	g.p("MOVD $%d, R19", h)
	g.l("\nrow:")
	g.p("MOVD R2, R4")
	g.p("MOVD $%d, R21", v)
	g.l("\nvector:")
	g.p("MOVHU.P 2(R3), R22")
	g.p("AND $%d, R22", 1<<g.lanes()-1)
	g.p("CMP $%d, R22", 1<<g.lanes()-1)
	g.p("BNE lanes")
	g.load(pair, s, "R1", fmt.Sprint(vec))
	g.p("CMP $2, R13")
	g.p("BNE scale")
	for q := range pair {
		g.by("fmul", c+q, s+q, factor, 0)
	}
	g.p("B whole")
	g.l("\nscale:")
	g.load(pair, c, "R4", "")
	for q := range pair {
		g.by("fmul", c+q, c+q, beta, 0)
		g.by("fmla", c+q, s+q, factor, 0)
	}
	g.l("\nwhole:")
	g.store(pair, c, "R4", "")
	g.p("B ahead")

	g.l("\nlanes:")
	g.p("MOVD R1, R23")
	g.p("MOVD R4, R24")
	g.p("ADD $%d, R1", vec)
	g.p("CBZ R22, ahead")
	g.l("\nlane:")
	g.p("TBZ $0, R22, skip")
	g.p("%s (R23), F%d", g.sop("FMOV"), s)
	g.p("CMP $2, R13")
	g.p("BNE scaled")
	g.p("%s F%d, F%d, F%d", g.sop("FMUL"), factor, s, s)
	g.p("B set")
	g.l("\nscaled:")
	g.p("%s (R24), F%d", g.sop("FMOV"), c)
	g.p("%s F%d, F%d, F%d", g.sop("FMUL"), beta, c, c)
	g.p("%s F%d, F%d, F%d, F%d", g.sop("FMADD"), factor, c, s, s)
	g.l("\nset:")
	g.p("%s F%d, (R24)", g.sop("FMOV"), s)
	g.l("\nskip:")
	g.p("ADD $%d, R23", g.size)
	g.p("ADD $%d, R24", g.size)
	g.p("LSR $1, R22")
	g.p("CBNZ R22, lane")
	g.l("\nahead:")
	g.p("ADD $%d, R4", vec)
	g.p("SUBS $1, R21")
	g.p("BNE vector")
	if v < vecs {
		g.p("ADD $%d, R3", 2*(vecs-v))
	}
	g.p("ADD R9, R2")
	g.p("SUBS $1, R19")
	g.p("BNE row")
}
