package main

// transpose writes the transposition of square blocks of as many rows as a
// vector has lanes:
//
//	DI  block of dst    R8  its stride   R9  from block to block
//	SI  block of src    R10 its stride   R11 from block to block
func (g *generator) transpose() {
	n := g.lanes()
	g.l("// func Transpose%s%s(dst unsafe.Pointer, dstStride, dstStep int, src unsafe.Pointer, srcStride, srcStep, blocks int)", g.name, g.typ)
	g.l("TEXT ·Transpose%s%s(SB), NOSPLIT, $0-56", g.name, g.typ)
	g.p("MOVQ dst+0(FP), DI")
	g.p("MOVQ dstStride+8(FP), R8")
	g.p("MOVQ dstStep+16(FP), R9")
	g.p("MOVQ src+24(FP), SI")
	g.p("MOVQ srcStride+32(FP), R10")
	g.p("MOVQ srcStep+40(FP), R11")
	g.p("MOVQ blocks+48(FP), CX")
	g.l("\nblock:")
	g.p("MOVQ SI, DX")
	for i := range n {
		g.p("%s (DX), %s", g.op("VMOVU"), g.v(i))
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
	g.p("VZEROUPPER")
	g.p("RET")
	g.l("")
}

// two writes dst = op(x, y) in Intel's order of operands.
func (g *generator) two(op string, dst, x, y int) {
	g.p("%s %s, %s, %s", op, g.v(y), g.v(x), g.v(dst))
}

func (g *generator) imm(op string, imm, dst, x, y int) {
	g.p("%s $0x%x, %s, %s, %s", op, imm, g.v(y), g.v(x), g.v(dst))
}

func (g *generator) transpose512f64() []int {
	for i := 0; i < 8; i += 2 {
		g.two("VUNPCKLPD", 8+i, i, i+1)
		g.two("VUNPCKHPD", 9+i, i, i+1)
	}
	// 8…15: pairs of rows; 128 bits hold two rows of one column.
	for h := range 2 { // even and odd columns
		a, b, c, d := 8+h, 10+h, 12+h, 14+h
		g.imm("VSHUFF64X2", 0x88, 4*h, a, b)
		g.imm("VSHUFF64X2", 0xdd, 4*h+1, a, b)
		g.imm("VSHUFF64X2", 0x88, 4*h+2, c, d)
		g.imm("VSHUFF64X2", 0xdd, 4*h+3, c, d)
	}
	out := make([]int, 8)
	for h := range 2 {
		for q := range 2 {
			g.imm("VSHUFF64X2", 0x88, 16+4*h+2*q, 4*h+q, 4*h+q+2)
			g.imm("VSHUFF64X2", 0xdd, 17+4*h+2*q, 4*h+q, 4*h+q+2)
			out[h+2*q], out[h+2*q+4] = 16+4*h+2*q, 17+4*h+2*q
		}
	}
	return out
}

func (g *generator) transpose512f32() []int {
	for i := 0; i < 16; i += 2 {
		g.two("VUNPCKLPS", 16+i, i, i+1)
		g.two("VUNPCKHPS", 17+i, i, i+1)
	}
	// Register 4q+c: rows 4q…4q+3 of columns c, c+4, c+8 and c+12.
	for q := range 4 {
		g.two("VUNPCKLPD", 4*q, 16+4*q, 18+4*q)
		g.two("VUNPCKHPD", 4*q+1, 16+4*q, 18+4*q)
		g.two("VUNPCKLPD", 4*q+2, 17+4*q, 19+4*q)
		g.two("VUNPCKHPD", 4*q+3, 17+4*q, 19+4*q)
	}
	out := make([]int, 16)
	for c := range 4 {
		t := 16 + 4*c
		g.imm("VSHUFF32X4", 0x88, t, c, 4+c)
		g.imm("VSHUFF32X4", 0xdd, t+1, c, 4+c)
		g.imm("VSHUFF32X4", 0x88, t+2, 8+c, 12+c)
		g.imm("VSHUFF32X4", 0xdd, t+3, 8+c, 12+c)
		g.imm("VSHUFF32X4", 0x88, c, t, t+2)
		g.imm("VSHUFF32X4", 0xdd, 8+c, t, t+2)
		g.imm("VSHUFF32X4", 0x88, 4+c, t+1, t+3)
		g.imm("VSHUFF32X4", 0xdd, 12+c, t+1, t+3)
		for i := range 4 {
			out[4*i+c] = 4*i + c
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
