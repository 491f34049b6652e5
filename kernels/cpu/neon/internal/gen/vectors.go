package main

// vectorsFile returns the file of the kernels that memory bounds, and of the loops that measure peaks.
// They take 64 bytes of a row, four registers, at a time.
func vectorsFile() *generator {
	g := newFile()
	for _, g.elem = range elems() {
		g.dots()
		g.axpys()
		g.symv()
		g.absSums()
		g.topBits()
		g.fma()
	}
	g.copyRows()
	g.elem = elems()[0]
	g.triad()
	return g
}

// Registers: rows of A at R0, R4, R5 and R6, R1 their distance, R2 times that 64 bytes of each are
// left.

var rowsOf4 = []string{"R0", "R4", "R5", "R6"}

// fourRows sets the pointers to four rows.
func (g *generator) fourRows() {
	g.p("LSL $%d, R1", g.shift)
	g.p("ADD R1, R0, R4")
	g.p("ADD R1, R4, R5")
	g.p("ADD R1, R5, R6")
}

// reduce adds up the elements of four times n registers from 0 on, and stores the four sums at the
// pointer.
func (g *generator) reduce(n int, pointer string) {
	for i := range 4 {
		for w := n / 2; w > 0; w /= 2 {
			for j := range w {
				g.vec("fadd", i*n+j, i*n+j, i*n+w+j)
			}
		}
	}
	g.vec("faddp", 0, 0, n)
	g.vec("faddp", 1, 2*n, 3*n)
	if g.size == 4 {
		g.vec("faddp", 0, 0, 1)
	}
	g.store(4/g.per(), 0, pointer, "")
}

func (g *generator) loopOver64(label string) {
	g.p("SUBS $1, R2")
	g.p("BNE %s", label)
}

// dots writes the inner products of four rows with x, at R3: four sums of four registers each.
func (g *generator) dots() {
	const x, row = 16, 20
	t := g.float()
	g.function("dots"+g.typ, "a *"+t+", lda int, n int, x *"+t+", s *[4]"+t, "R0", "R1", "R2", "R3", "R7")
	g.fourRows()
	g.p("LSR $%d, R2", 6-g.shift)
	for r := range 16 {
		g.zero(r)
	}
	g.l("\nloop:")
	g.load(4, x, "R3", "64")
	for i, p := range rowsOf4 {
		g.load(4, row+4*(i%2), p, "64")
		for j := range 4 {
			g.vec("fmla", 4*i+j, row+4*(i%2)+j, x+j)
		}
	}
	g.loopOver64("loop")
	g.reduce(4, "R7")
	g.ret()
}

// axpys adds multiples of four rows to y, at R7.
func (g *generator) axpys() {
	const s, y, row = 0, 4, 8
	t := g.float()
	g.function("axpys"+g.typ, "a *"+t+", lda int, n int, s *[4]"+t+", y *"+t, "R0", "R1", "R2", "R3", "R7")
	g.fourRows()
	g.p("LSR $%d, R2", 6-g.shift)
	g.load(4/g.per(), s, "R3", "")
	g.l("\nloop:")
	g.load(4, y, "R7", "")
	for i, p := range rowsOf4 {
		g.load(4, row+4*i, p, "64")
		for j := range 4 {
			g.by("fmla", y+j, row+4*i+j, s+i/g.per(), i%g.per())
		}
	}
	g.store(4, y, "R7", "64")
	g.loopOver64("loop")
	g.ret()
}

// symv writes both at once, with the factors at R7 and the sums at R8: it reads the rows once.
func (g *generator) symv() {
	const x, y, row, c = 16, 20, 24, 28
	t := g.float()
	g.function("symv"+g.typ, "a *"+t+", lda int, n int, x *"+t+", c *[4]"+t+", s *[4]"+t+", y *"+t, "R0", "R1", "R2", "R3", "R7", "R8", "R9")
	g.fourRows()
	g.p("LSR $%d, R2", 6-g.shift)
	for r := range 16 {
		g.zero(r)
	}
	g.load(4/g.per(), c, "R7", "")
	g.l("\nloop:")
	g.load(4, x, "R3", "64")
	g.load(4, y, "R9", "")
	for i, p := range rowsOf4 {
		g.load(4, row, p, "64")
		for j := range 4 {
			g.vec("fmla", 4*i+j, row+j, x+j)
			g.by("fmla", y+j, row+j, c+i/g.per(), i%g.per())
		}
	}
	g.store(4, y, "R9", "64")
	g.loopOver64("loop")
	g.reduce(4, "R8")
	g.ret()
}

// absSums writes the sums of magnitudes, in doubles: four columns of four rows at a time.
func (g *generator) absSums() {
	const sum, top, row, tmp = 0, 8, 16, 24 // two registers for each of four rows
	single := g.elem
	g.function("absSums"+g.typ, "x *"+g.float()+", stride, n int, col, row, top *float64", "R0", "R1", "R2", "R3", "R7", "R8")
	g.fourRows()
	g.elem = elems()[0]
	defer func() { g.elem = single }()
	for r := range 8 {
		g.zero(sum + r)
	}
	g.load(2, top, "R8", "")
	g.l("\nloop:")
	for i, p := range rowsOf4 {
		r := row + 2*i
		if single.size == 4 {
			g.load(1, r+1, p, "16")
			g.widen(false, r, r+1)
			g.widen(true, r+1, r+1)
		} else {
			g.load(2, r, p, "32")
		}
		for j := range 2 {
			g.one("fabs", r+j, r+j)
		}
	}
	g.load(2, tmp+4, "R3", "")
	for j := range 2 {
		g.vec("fmax", tmp, row+j, row+2+j)
		g.vec("fmax", tmp+1, row+4+j, row+6+j)
		g.vec("fmax", tmp, tmp, tmp+1)
		g.vec("fmax", top+j, top+j, tmp)
		for i := range 4 {
			g.vec("fadd", sum+2*i+j, sum+2*i+j, row+2*i+j)
		}
		g.vec("fadd", tmp, row+j, row+2+j)
		g.vec("fadd", tmp+1, row+4+j, row+6+j)
		g.vec("fadd", tmp, tmp, tmp+1)
		g.vec("fadd", tmp+4+j, tmp+4+j, tmp)
	}
	g.store(2, tmp+4, "R3", "32")
	g.p("SUBS $4, R2")
	g.p("BNE loop")
	g.store(2, top, "R8", "")
	for i := range 4 {
		g.vec("fadd", sum+2*i, sum+2*i, sum+2*i+1)
	}
	g.load(2, tmp, "R7", "")
	g.vec("faddp", sum, sum, sum+2)
	g.vec("faddp", sum+1, sum+4, sum+6)
	g.vec("fadd", sum, sum, tmp)
	g.vec("fadd", sum+1, sum+1, tmp+1)
	g.store(2, sum, "R7", "")
	g.ret()
}

// topBits writes the search for the greatest magnitude by its bits: 128 bytes at a time, with eight
// candidates.
func (g *generator) topBits() {
	const top, x, mask = 0, 8, 16
	g.function("topBits"+g.typ, "x *"+g.float()+", n int, top *[8]uint64", "R0", "R1", "R2")
	g.load(4, top, "R2", "")
	for r := range 4 {
		g.p("VMOV V%d.B16, V%d.B16", top+r, top+4+r)
	}
	raise := func(d, n int) {
		if g.size == 4 {
			g.word(opcode(opcodes, "smax")|uint32(n)<<16|uint32(d)<<5|uint32(d), "smax v%d.4s, v%d.4s, v%d.4s", d, d, n)
			return
		}
		g.vec("cmgt", mask, n, d)
		g.bits("bit", d, n, mask)
	}
	g.l("\nloop:")
	g.load(4, x, "R0", "64")
	g.load(4, x+4, "R0", "64")
	for r := range 8 {
		g.one("fabs", x+r, x+r)
		raise(top+r, x+r)
	}
	g.p("SUBS $%d, R1", 128/g.size)
	g.p("BNE loop")
	for r := range 4 {
		raise(top+r, top+4+r)
	}
	g.store(4, top, "R2", "")
	g.ret()
}

// fmaSums is the number of sums of the loop that measures the peak.
const fmaSums = 24

// fma writes that loop: twice as many multiply-adds as there are sums.
func (g *generator) fma() {
	const x, y = 30, 31
	g.function("fma"+g.typ, "n int", "R0")
	g.p("%s $1.0, F0", g.sop("FMOV"))
	g.p("%s $0.25, F1", g.sop("FMOV"))
	e := g.arr[1:]
	up := map[string]string{"d": "D", "s": "S"}[e]
	arr := g.arrangement()
	g.p("VDUP V0.%s[0], V%d.%s", up, x, arr)
	g.p("VDUP V1.%s[0], V%d.%s", up, y, arr)
	for i := range fmaSums {
		g.p("VMOV V%d.B16, V%d.B16", y, i)
	}
	g.l("\nloop:")
	// s += y·x and s −= y·x: the sums swing between 1/4 and 1/2.
	for _, op := range []string{"fmla", "fmls"} {
		for i := range fmaSums {
			g.vec(op, i, y, x)
		}
	}
	g.p("SUBS $1, R0")
	g.p("BNE loop")
	g.ret()
}

// copyRows writes the copying of rows of at least 64 bytes: the last 64 once more if they are not whole
// ones, for what is copied twice is the same.
//
//	R0 dst   R1 its stride   R2 src   R3 its stride   R4 bytes of a row   R5 rows   R6 how far ahead
func (g *generator) copyRows() {
	g.function("copyRows", "dst unsafe.Pointer, ld int, src unsafe.Pointer, ss, n, rows, ahead int", "R0", "R1", "R2", "R3", "R4", "R5", "R6")
	g.l("\nrow:")
	g.p("MOVD R2, R7")
	g.p("MOVD R0, R8")
	g.p("SUB $64, R4, R9")
	g.l("\nline:")
	g.p("ADD R6, R7, R10")
	g.p("PRFM (R10), PLDL1KEEP")
	g.load(4, 0, "R7", "64")
	g.store(4, 0, "R8", "64")
	g.p("SUBS $64, R9")
	g.p("BGE line")
	g.p("ADDS $64, R9")
	g.p("BEQ next")
	g.p("ADD R4, R2, R7")
	g.p("ADD R4, R0, R8")
	g.p("SUB $64, R7")
	g.p("SUB $64, R8")
	g.load(4, 0, "R7", "")
	g.store(4, 0, "R8", "")
	g.l("\nnext:")
	g.p("ADD R3, R2")
	g.p("ADD R1, R0")
	g.p("SUBS $1, R5")
	g.p("BNE row")
	g.ret()
}

// triad writes dst = x + s·y for n elements, a positive multiple of 16.
func (g *generator) triad() {
	const s, x, y = 31, 0, 8
	g.function("triadF64", "dst, x, y *float64, s float64, n int", "R0", "R1", "R2", "R3", "R4")
	g.p("VMOV R3, V%d.D[0]", s)
	g.l("\nloop:")
	for i := range 2 {
		g.load(4, x+4*i, "R1", "64")
		g.load(4, y+4*i, "R2", "64")
	}
	for j := range 8 {
		g.by("fmla", x+j, y+j, s, 0)
	}
	for i := range 2 {
		g.store(4, x+4*i, "R0", "64")
	}
	g.p("SUBS $16, R4")
	g.p("BNE loop")
	g.ret()
}
