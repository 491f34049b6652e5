package main

import "fmt"

// lanesFile returns the file of the kernels for several matrices at once, one in each lane.
func lanesFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.laneUpdate()
		g.laneScale()
	}
	return g
}

// laneUpdate writes the kernel that subtracts from n vectors y the sums of k products: y_j −= Σ s_p·x_(p,j). The vectors s
// are ss, and the rows of x xs vectors apart.
//
//	CX  k, R12 left    AX  vectors left     SI, R10  s, R8 bytes apart     DX, R11  x, R9 bytes apart     DI  y
func (g *generator) laneUpdate() {
	const s = 8
	shift := map[int]int{32: 5, 64: 6}[g.bytes]
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("laneUpdate"+g.typ, "k int, n int, s *"+t+", ss int, x *"+t+", xs int, y *"+t, "CX", "AX", "SI", "R8", "DX", "R9", "DI")
	g.p("SHLQ $%d, R8", shift)
	g.p("SHLQ $%d, R9", shift)
	for _, n := range []int{8, 4, 1} {
		g.l("\nby%d:", n)
		g.p("CMPQ AX, $%d", n)
		g.p("JLT after%d", n)
		for i := range n {
			g.p("%s %d(DI), %s", g.op("VMOVU"), i*g.bytes, g.v(i))
		}
		g.p("MOVQ SI, R10")
		g.p("MOVQ DX, R11")
		g.p("MOVQ CX, R12")
		g.l("\nsum%d:", n)
		g.p("%s (R10), %s", g.op("VMOVU"), g.v(s))
		for i := range n {
			g.p("%s %d(R11), %s, %s", g.op("VFNMADD231"), i*g.bytes, g.v(s), g.v(i))
		}
		g.p("ADDQ R8, R10")
		g.p("ADDQ R9, R11")
		g.p("DECQ R12")
		g.p("JNZ sum%d", n)
		for i := range n {
			g.p("%s %s, %d(DI)", g.op("VMOVU"), g.v(i), i*g.bytes)
		}
		g.p("ADDQ $%d, DI", n*g.bytes)
		g.p("ADDQ $%d, DX", n*g.bytes)
		g.p("SUBQ $%d, AX", n)
		g.p("JMP by%d", n)
		g.l("\nafter%d:", n)
	}
	g.ret()
}

// laneScale writes the kernel that multiplies n vectors y, ys vectors apart, by s.
func (g *generator) laneScale() {
	shift := map[int]int{32: 5, 64: 6}[g.bytes]
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("laneScale"+g.typ, "n int, s *"+t+", y *"+t+", ys int", "CX", "SI", "DI", "R8")
	g.p("SHLQ $%d, R8", shift)
	g.p("%s (SI), %s", g.op("VMOVU"), g.v(0))
	g.l("\nnext:")
	g.p("%s (DI), %s, %s", g.op("VMUL"), g.v(0), g.v(1))
	g.p("%s %s, (DI)", g.op("VMOVU"), g.v(1))
	g.p("ADDQ R8, DI")
	g.p("DECQ CX")
	g.p("JNZ next")
	g.ret()
}
