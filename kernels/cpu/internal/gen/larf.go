package main

import "fmt"

// larfFile returns the file of the kernels for reflectors of small matrices.
func larfFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.larf()
	}
	return g
}

// larf writes the kernel that takes the inner products of v with the columns of a strip, and then subtracts multiples of v:
// for each number of vectors in a row the code. The last vector has a mask.
//
//	SI  the first row    R8  bytes between rows    BX  its element of column x    R9  elements in a row, then vectors
//	R11 rows but the first    CX  rows left    DX, R12  a row, and its element of column x
//
// and of vectors the element of v, its factor, the squares, tau, and from 8 on W.
func (g *generator) larf() {
	const lanesMost = 16 // isa.MaxLanes
	const v, factor, squares, tau, scale, row, w = 0, 1, 2, 3, 4, 7, 8
	at := func(vector int) string { return fmt.Sprintf("%d(AX)", 40+vector*lanesMost*g.size) } // of Scale, Taus, Squares, W
	number := func(i int) string { return fmt.Sprintf("%d(AX)", 40+(4*lanesMost+i)*g.size) }   // Factor, Tau
	if !g.avx512() {
		g.constants("stripMask", 2*g.lanes(), func(i int) string { return ones(i < g.lanes()) })
	}
	g.function("larf"+g.typ, fmt.Sprintf("t *isa.Larf[float%d]", 8*g.size), "AX")
	for i, register := range []string{"SI", "R8", "R11", "BX", "R9"} {
		g.p("MOVQ %d(AX), %s", 8*i, register)
	}
	g.p("ADDQ SI, BX")
	g.p("DECQ R11")
	g.stripMaskOf()
	g.p("VBROADCAST%s %s, %s", g.scalar, number(0), g.v(factor))
	g.p("VBROADCAST%s %s, %s", g.scalar, number(1), g.v(tau))
	g.p("%s %s, %s", g.op("VMOVU"), at(0), g.v(scale))
	g.zero("VXORPD", squares)
	g.stripChoice(func(vectors int) {
		last := vectors - 1
		rows := func(label string, body func()) {
			g.p("MOVQ R11, CX")
			g.p("LEAQ (SI)(R8*1), DX")
			g.p("LEAQ (BX)(R8*1), R12")
			g.l("\n%s%d:", label, vectors)
			g.p("VBROADCAST%s (R12), %s", g.scalar, g.v(v))
			g.p("%s %s, %s, %s", g.op("VMUL"), g.v(factor), g.v(v), g.v(v))
			body()
			g.p("ADDQ R8, DX")
			g.p("ADDQ R8, R12")
			g.p("DECQ CX")
			g.p("JNZ  %s%d", label, vectors)
		}
		mask := func(i int) string {
			if i == last {
				return g.stripMask()
			}
			return ""
		}
		g.stripLoad("(SI)", vectors, w)
		rows("dots", func() {
			for i := range vectors {
				g.stripMultiply(offset(i*g.bytes, "(DX)"), i == last, g.v(v), g.v(w+i))
			}
		})
		for i := range vectors {
			by := g.v(tau)
			if i == 0 {
				g.p("%s %s, %s", g.op("VMOVU"), g.v(w), at(3))
				by = at(1)
			}
			g.p("%s %s, %s, %s", g.op("VMUL"), by, g.v(w+i), g.v(w+i))
			g.load(offset(i*g.bytes, "(SI)"), mask(i), g.v(row))
			g.p("%s %s, %s, %s", g.op("VSUB"), g.v(w+i), g.v(row), g.v(row))
			g.store(g.v(row), mask(i), offset(i*g.bytes, "(SI)"))
		}
		rows("rows", func() {
			for i := range vectors {
				g.load(offset(i*g.bytes, "(DX)"), mask(i), g.v(row))
				if i == 0 {
					g.p("%s %s, %s, %s", g.op("VMUL"), g.v(scale), g.v(row), g.v(row))
				}
				g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(w+i), g.v(v), g.v(row))
				g.store(g.v(row), mask(i), offset(i*g.bytes, "(DX)"))
				if i == 0 {
					g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(row), g.v(row), g.v(squares))
				}
			}
		})
		g.p("%s %s, %s", g.op("VMOVU"), g.v(squares), at(2))
	})
}
