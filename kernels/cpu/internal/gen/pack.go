package main

// pack writes the copying of rows as long as a tile has rows:
//
//	DI dst   SI row of src   R8 its stride
func (g *generator) pack() {
	row := g.rows * g.size
	reg := map[int]string{64: "Z", 32: "Y", 16: "X"}[row]
	g.function("packTriangle"+g.typ, "dst, src unsafe.Pointer, stride, n int", "DI", "SI", "R8", "CX")
	g.p("LEAQ (R8)(R8*2), R9")
	g.l("\nloop:") // n is a multiple of four
	for i, at := range []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)", "(SI)(R9*1)"} {
		g.p("%s %s, %s%d", g.op("VMOVU"), at, reg, i)
	}
	for i := range 4 {
		g.p("%s %s%d, %d(DI)", g.op("VMOVU"), reg, i, i*row)
	}
	g.p("LEAQ (SI)(R8*4), SI")
	g.p("ADDQ $%d, DI", 4*row)
	g.p("SUBQ $4, CX")
	g.p("JNE  loop")
	g.ret()
}
