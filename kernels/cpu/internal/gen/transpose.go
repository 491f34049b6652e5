package main

// transpose writes the transposition of square blocks of as many rows as a
// vector has lanes:
//
//	DI  block of dst    R8  its stride   R9  from block to block
//	SI  block of src    R10 its stride   R11 from block to block
func (g *generator) transpose() {
	n := g.lanes()
	g.function("transpose"+g.typ, "dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int", "DI", "R8", "R9", "SI", "R10", "R11", "CX")
	g.l("\nblock:")
	g.p("MOVQ SI, DX")
	for i := range n {
		g.transposeLoad(i)
		g.p("ADDQ R10, DX")
	}
	transposed := g.transposed
	if g.avx512() {
		transposed = g.transposedHalves
	}
	columns := transposed()
	g.p("MOVQ DI, DX")
	for _, c := range columns {
		g.p("%s %s, (DX)", g.op("VMOVU"), g.v(c))
		g.p("ADDQ R8, DX")
	}
	g.p("ADDQ R9, DI")
	g.p("ADDQ R11, SI")
	g.p("DECQ CX")
	g.p("JNE  block")
	g.ret()
}

// transposeLoad loads row i. For AVX-512 register j < lanes/2 gets the first halves of
// two rows, and register lanes/2+j the second halves, of which the rows of
// every other group of 128 bits' lanes are the upper ones: unlike shuffles,
// insertions from memory do not wait for the one port that shuffles have.
func (g *generator) transposeLoad(i int) {
	if !g.avx512() {
		g.p("%s (DX), %s", g.op("VMOVU"), g.v(i))
		return
	}
	group := 16 / g.size // rows that 128 bits hold of a column
	j := i/(2*group)*group + i%group
	for h := range 2 {
		r := h*g.lanes()/2 + j
		if i%(2*group) < group {
			g.p("VMOVUPD %d(DX), Y%d", 32*h, r)
		} else {
			g.p("VINSERTF64X4 $1, %d(DX), Z%d, Z%d", 32*h, r, r)
		}
	}
}

// square is a square of elements in registers: x has them by rows, and free is one
// more.
type square struct {
	*generator
	x    []int
	free int
}

// two replaces registers x[i] and x[j] by what lo and hi make of them.
func (s *square) two(i, j int, lo, hi string) {
	x := s.x
	s.p("%s %s, %s, %s", lo, s.v(x[j]), s.v(x[i]), s.v(s.free))
	s.p("%s %s, %s, %s", hi, s.v(x[j]), s.v(x[i]), s.v(x[j]))
	x[i], s.free = s.free, x[i]
}

// within transposes the square in the registers 0 to lanes-1, with one more for
// free, within lanes of 128 bits: afterwards x[i] holds columns c, c+w, c+2w … of w
// rows, w being the elements in 128 bits.
func (g *generator) within() (s *square, w int) {
	n := g.lanes()
	s = &square{generator: g, free: n}
	for i := range n {
		s.x = append(s.x, i)
	}
	for i := 0; i < n; i += 2 {
		s.two(i, i+1, g.op("VUNPCKL"), g.op("VUNPCKH"))
	}
	for i := 0; i < n && g.size == 4; i += 4 {
		s.two(i, i+2, "VUNPCKLPD", "VUNPCKHPD")
		s.two(i+1, i+3, "VUNPCKLPD", "VUNPCKHPD")
		// Columns 0, 2 and 1, 3 are together.
		s.x[i+1], s.x[i+2] = s.x[i+2], s.x[i+1]
	}
	return s, 16 / g.size
}

// The halves of what two shuffles of the same registers make, in lanes of 128 bits.
const (
	low, high = "VSHUFF64X2 $0x44,", "VSHUFF64X2 $0xEE,"
	even, odd = "VSHUFF64X2 $0x88,", "VSHUFF64X2 $0xDD,"
)

// transposed writes the transposition of the square whose rows the registers 0 to
// lanes-1 hold, and returns the registers that then hold the columns.
func (g *generator) transposed() []int {
	s, w := g.within()
	columns := make([]int, g.lanes())
	for c := range w {
		if g.avx512() {
			s.two(c, c+w, low, high)
			s.two(c+2*w, c+3*w, low, high)
			s.two(c, c+2*w, even, odd)
			s.two(c+w, c+3*w, even, odd)
			columns[c], columns[c+w], columns[c+2*w], columns[c+3*w] = s.x[c], s.x[c+2*w], s.x[c+w], s.x[c+3*w]
		} else {
			s.two(c, c+w, "VPERM2F128 $0x20,", "VPERM2F128 $0x31,")
			columns[c], columns[c+w] = s.x[c], s.x[c+w]
		}
	}
	return columns
}

// transposedHalves is transposed for rows that transposeLoad has loaded for AVX-512.
// Within 128 bits transposed, a register holds in them one column of as many rows, in
// the order
//
//	rows 0…, column c │ rows 0…, column c' │ rows group…, column c │ rows group…, column c'
//
// so that one shuffle of two such registers completes a column.
func (g *generator) transposedHalves() []int {
	s, w := g.within()
	n := g.lanes()
	for half := 0; half < n; half += n / 2 {
		for c := half; c < half+w; c++ {
			s.two(c, c+w, even, odd)
		}
	}
	return s.x
}
