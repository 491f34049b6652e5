package main

// transpose writes the transposition of square blocks of as many rows as a
// vector has lanes:
//
//	DI  block of dst    R8  its stride   R9  from block to block
//	SI  block of src    R10 its stride   R11 from block to block
func (g *generator) transpose() {
	n := g.lanes()
	g.function("Transpose"+g.name+g.typ, "dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int", "DI", "R8", "R9", "SI", "R10", "R11", "CX")
	g.l("\nblock:")
	g.p("MOVQ SI, DX")
	for i := range n {
		g.transposeLoad(i)
		g.p("ADDQ R10, DX")
	}
	var out []int
	switch {
	case g.avx512() && g.size == 8:
		out = g.transpose512f64()
	case g.avx512():
		out = g.transpose512f32()
	case g.size == 8:
		out = g.transpose256f64()
	default:
		out = g.transpose256f32()
	}
	g.p("MOVQ DI, DX")
	for i := range n {
		g.p("%s %s, (DX)", g.op("VMOVU"), g.v(out[i]))
		g.p("ADDQ R8, DX")
	}
	g.p("ADDQ R9, DI")
	g.p("ADDQ R11, SI")
	g.p("DECQ CX")
	g.p("JNE  block")
	g.ret()
}

// two writes dst = op(x, y) in Intel's order of operands.
func (g *generator) two(op string, dst, x, y int) {
	g.p("%s %s, %s, %s", op, g.v(y), g.v(x), g.v(dst))
}

func (g *generator) imm(op string, imm, dst, x, y int) {
	g.p("%s $0x%x, %s, %s, %s", op, imm, g.v(y), g.v(x), g.v(dst))
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

// In a register of the two below, 128 bits hold one column of as many rows, in
// the order
//
//	rows 0…, column c │ rows 0…, column c' │ rows group…, column c │ rows group…, column c'
//
// so that one shuffle of two such registers completes a column.

func (g *generator) transpose512f64() []int {
	out := make([]int, 8)
	for h := range 2 { // columns 4h…4h+3
		for e := range 2 { // even and odd ones
			op := []string{"VUNPCKLPD", "VUNPCKHPD"}[e]
			t := 8 + 4*h + 2*e
			g.two(op, t, 4*h, 4*h+1)
			g.two(op, t+1, 4*h+2, 4*h+3)
			o := 16 + 4*h + 2*e
			g.imm("VSHUFF64X2", 0x88, o, t, t+1)
			g.imm("VSHUFF64X2", 0xdd, o+1, t, t+1)
			out[4*h+e], out[4*h+2+e] = o, o+1
		}
	}
	return out
}

func (g *generator) transpose512f32() []int {
	out := make([]int, 16)
	for h := range 2 { // columns 8h…8h+7
		for q := range 2 { // rows 8q…8q+7
			r := 8*h + 4*q
			for i := 0; i < 4; i += 2 {
				g.two("VUNPCKLPS", 16+i, r+i, r+i+1)
				g.two("VUNPCKHPS", 17+i, r+i, r+i+1)
			}
			g.two("VUNPCKLPD", r, 16, 18)
			g.two("VUNPCKHPD", r+1, 16, 18)
			g.two("VUNPCKLPD", r+2, 17, 19)
			g.two("VUNPCKHPD", r+3, 17, 19)
		}
		for c := range 4 {
			o := 20 + c
			if h == 1 {
				o = 24 + c
			}
			r := 8*h + c
			g.imm("VSHUFF32X4", 0x88, o, r, r+4)
			g.imm("VSHUFF32X4", 0xdd, r, r, r+4)
			out[8*h+c], out[8*h+4+c] = o, r
		}
	}
	return out
}

func (g *generator) transpose256f64() []int {
	for i := 0; i < 4; i += 2 {
		g.two("VUNPCKLPD", 4+i, i, i+1)
		g.two("VUNPCKHPD", 5+i, i, i+1)
	}
	for h := range 2 {
		g.imm("VPERM2F128", 0x20, 8+h, 4+h, 6+h)
		g.imm("VPERM2F128", 0x31, 10+h, 4+h, 6+h)
	}
	return []int{8, 9, 10, 11}
}

func (g *generator) transpose256f32() []int {
	for i := 0; i < 8; i += 2 {
		g.two("VUNPCKLPS", 8+i, i, i+1)
		g.two("VUNPCKHPS", 9+i, i, i+1)
	}
	for q := range 2 {
		g.two("VUNPCKLPD", 4*q, 8+4*q, 10+4*q)
		g.two("VUNPCKHPD", 4*q+1, 8+4*q, 10+4*q)
		g.two("VUNPCKLPD", 4*q+2, 9+4*q, 11+4*q)
		g.two("VUNPCKHPD", 4*q+3, 9+4*q, 11+4*q)
	}
	out := make([]int, 8)
	for c := range 4 {
		g.imm("VPERM2F128", 0x20, 8+c, c, 4+c)
		g.imm("VPERM2F128", 0x31, 12+c, c, 4+c)
		out[c], out[4+c] = 8+c, 12+c
	}
	return out
}
