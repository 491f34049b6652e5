package main

import "fmt"

// lasrFile returns the file of the kernels for sequences of plane rotations.
func lasrFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.lasr()
	}
	return g
}

// lasr writes the kernel that rotates rows of a strip in turn, each with what the rotation before has made of the row
// before: for each number of vectors in a row the code. The last vector has a mask.
//
//	SI  a row    R8  bytes to the next one    R11 rotations left    R9  elements in a row, then vectors
//	DX  cosines and sines
//
// and of vectors those, the next row, the new one, and from 8 on the row.
func (g *generator) lasr() {
	const c, s, next, turned, row = 0, 1, 2, 3, 8
	if !g.avx512() {
		g.constants("stripMask", 2*g.lanes(), func(i int) string { return ones(i < g.lanes()) })
	}
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("lasr"+g.typ, "a *"+t+", step int, k int, n int, cs *"+t, "SI", "R8", "R11", "R9", "DX")
	g.p("SHLQ $%d, R8", map[int]int{8: 3, 4: 2}[g.size])
	g.stripMaskOf()
	g.stripChoice(func(vectors int) {
		mask := func(i int) string {
			if i == vectors-1 {
				return g.stripMask()
			}
			return ""
		}
		g.stripLoad("(SI)", vectors, row)
		g.l("\nrows%d:", vectors)
		g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(c))
		g.p("VBROADCAST%s %d(DX), %s", g.scalar, g.size, g.v(s))
		for i := range vectors {
			g.load(offset(i*g.bytes, "(SI)(R8*1)"), mask(i), g.v(next))
			g.p("%s %s, %s, %s", g.op("VMUL"), g.v(c), g.v(row+i), g.v(turned))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(next), g.v(s), g.v(turned))
			g.store(g.v(turned), mask(i), offset(i*g.bytes, "(SI)"))
			g.p("%s %s, %s, %s", g.op("VMUL"), g.v(s), g.v(row+i), g.v(row+i))
			g.p("%s %s, %s, %s", g.op("VFMSUB231"), g.v(next), g.v(c), g.v(row+i))
		}
		g.p("ADDQ R8, SI")
		g.p("ADDQ $%d, DX", 2*g.size)
		g.p("DECQ R11")
		g.p("JNZ  rows%d", vectors)
		for i := range vectors {
			g.store(g.v(row+i), mask(i), offset(i*g.bytes, "(SI)"))
		}
	})
}
