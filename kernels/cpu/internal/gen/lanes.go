package main

import "fmt"

// lanesFile returns the file of the kernels for several matrices at once, one in each lane.
func lanesFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.laneUpdate()
		g.laneScale()
		g.lanePivot()
		g.laneEliminate()
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

// lanePivot writes the kernel that finds in each lane of n vectors, which are xs apart, the first of the greatest
// magnitudes, and its place, counted from 0. No other one is greater than a NaN, and none is one.
//
//	CX  vectors left    SI  a vector, R8 bytes to the next one    DX  the magnitudes     DI  the places
func (g *generator) lanePivot() {
	const top, at, place, one, magnitude, x, greater = 0, 1, 2, 3, 4, 5, 6
	shift := map[int]int{32: 5, 64: 6}[g.bytes]
	t := fmt.Sprintf("float%d", 8*g.size)
	g.constants("laneOne", 1, func(int) string { return map[int]string{8: "0x3ff0000000000000", 4: "0x3f800000"}[g.size] })
	g.function("lanePivot"+g.typ, "n int, x *"+t+", xs int, top *"+t+", at *"+t, "CX", "SI", "R8", "DX", "DI")
	g.p("SHLQ $%d, R8", shift)
	g.p("VBROADCAST%s %s(SB), %s", g.scalar, g.local("laneOne"), g.v(one))
	and := g.magnitudes(magnitude)
	g.zero("VXORPD", at)
	g.zero("VXORPD", place)
	g.p("%s (SI), %s, %s", and, g.v(magnitude), g.v(top))
	g.l("\nnext:")
	g.p("DECQ CX")
	g.p("JZ   done")
	g.p("ADDQ R8, SI")
	g.p("%s %s, %s, %s", g.op("VADD"), g.v(one), g.v(place), g.v(place))
	g.p("%s (SI), %s, %s", and, g.v(magnitude), g.v(x))
	const greaterThan = 0x1e // false for NaN
	if g.avx512() {
		g.p("%s $%#x, %s, %s, K1", g.op("VCMP"), greaterThan, g.v(top), g.v(x))
		g.p("%s %s, K1, %s", g.op("VMOVA"), g.v(x), g.v(top))
		g.p("%s %s, K1, %s", g.op("VMOVA"), g.v(place), g.v(at))
	} else {
		g.p("%s $%#x, %s, %s, %s", g.op("VCMP"), greaterThan, g.v(top), g.v(x), g.v(greater))
		g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(greater), g.v(x), g.v(top), g.v(top))
		g.p("%s %s, %s, %s, %s", g.op("VBLENDV"), g.v(greater), g.v(place), g.v(at), g.v(at))
	}
	g.p("JMP  next")
	g.l("\ndone:")
	g.p("%s %s, (DX)", g.op("VMOVU"), g.v(top))
	g.p("%s %s, (DI)", g.op("VMOVU"), g.v(at))
	g.ret()
}

// laneEliminate writes the kernel that multiplies the first vector of m rows by s, and subtracts from the n that follow it
// the products of x and what became of the first one.
//
//	CX  rows left    AX  n, R12 left    SI  a row, R10 its vectors, R8 bytes to the next row    DX  x, R11 its vectors
func (g *generator) laneEliminate() {
	const s, first, y = 0, 1, 2
	shift := map[int]int{32: 5, 64: 6}[g.bytes]
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("laneEliminate"+g.typ, "m int, n int, s *"+t+", a *"+t+", lda int, x *"+t, "CX", "AX", "BX", "SI", "R8", "DX")
	g.p("SHLQ $%d, R8", shift)
	g.p("%s (BX), %s", g.op("VMOVU"), g.v(s))
	g.l("\nrows:")
	g.p("%s (SI), %s, %s", g.op("VMUL"), g.v(s), g.v(first))
	g.p("%s %s, (SI)", g.op("VMOVU"), g.v(first))
	g.p("LEAQ %d(SI), R10", g.bytes)
	g.p("MOVQ DX, R11")
	g.p("MOVQ AX, R12")
	for _, n := range []int{4, 1} {
		g.l("\nby%d:", n)
		g.p("CMPQ R12, $%d", n)
		g.p("JLT after%d", n)
		for i := range n {
			g.p("%s %s, %s", g.op("VMOVU"), offset(i*g.bytes, "(R10)"), g.v(y+i))
			g.p("%s %s, %s, %s", g.op("VFNMADD231"), offset(i*g.bytes, "(R11)"), g.v(first), g.v(y+i))
			g.p("%s %s, %s", g.op("VMOVU"), g.v(y+i), offset(i*g.bytes, "(R10)"))
		}
		g.p("ADDQ $%d, R10", n*g.bytes)
		g.p("ADDQ $%d, R11", n*g.bytes)
		g.p("SUBQ $%d, R12", n)
		g.p("JMP by%d", n)
		g.l("\nafter%d:", n)
	}
	g.p("ADDQ R8, SI")
	g.p("DECQ CX")
	g.p("JNZ  rows")
	g.ret()
}
