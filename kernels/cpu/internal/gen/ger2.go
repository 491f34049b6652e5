package main

import "fmt"

// ger2File returns the file of the kernels for updates of rank one and two.
func ger2File(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		if !g.avx512() {
			g.constants("stripMask", 2*g.lanes(), func(i int) string { return ones(i < g.lanes()) })
		}
		g.ger()
		g.ger2()
	}
	return g
}

// ger writes the kernel that adds multiples of a vector to the rows of a strip, with the registers of [strip]: the factors
// are the elements of x, and y stays in registers from 8 on.
func (g *generator) ger() {
	g.strip("ger", func(vectors int) {
		g.stripLoad("(DI)", vectors, 8)
		g.l("\nrows%d:", vectors)
		g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(0))
		for i := range vectors {
			mask, row := "", g.v(1+i%4)
			if i == vectors-1 {
				mask = g.stripMask()
			}
			g.load(offset(i*g.bytes, "(SI)"), mask, row)
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(8+i), g.v(0), row)
			g.store(row, mask, offset(i*g.bytes, "(SI)"))
		}
		g.p("ADDQ R8, SI")
		g.p("ADDQ $%d, DX", g.size)
		g.p("DECQ CX")
		g.p("JNZ  rows%d", vectors)
	})
}

// ger2 writes the kernel that subtracts multiples of two vectors from the rows of a strip: for each number of vectors in a
// row the code. The last vector has a mask.
//
//	SI  a row       R8  bytes to the next one    R11 rows left    R9  elements in a row, then vectors
//	R12, R13        the factors of the row
//	DX, DI          the two vectors
//
// and of vectors the factors, the row, and from 8 on the first vector. The second one follows it if there are registers.
func (g *generator) ger2() {
	const p, r, row, s, q = 0, 1, 2, 3, 8
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("ger2"+g.typ, "a *"+t+", lda int, m int, n int, p *"+t+", q *"+t+", r *"+t+", s *"+t,
		"SI", "R8", "R11", "R9", "R12", "DX", "R13", "DI")
	g.p("SHLQ $%d, R8", map[int]int{8: 3, 4: 2}[g.size])
	g.stripMaskOf()
	g.stripChoice(func(vectors int) {
		g.stripLoad("(DX)", vectors, q)
		if g.avx512() {
			g.stripLoad("(DI)", vectors, q+stripVectors)
		}
		g.l("\nrows%d:", vectors)
		g.p("VBROADCAST%s (R12), %s", g.scalar, g.v(p))
		g.p("VBROADCAST%s (R13), %s", g.scalar, g.v(r))
		for i := range vectors {
			mask, second := "", q+stripVectors+i
			if i == vectors-1 {
				mask = g.stripMask()
			}
			g.load(offset(i*g.bytes, "(SI)"), mask, g.v(row))
			g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(q+i), g.v(p), g.v(row))
			if !g.avx512() {
				second = s
				g.load(offset(i*g.bytes, "(DI)"), mask, g.v(s))
			}
			g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(second), g.v(r), g.v(row))
			g.store(g.v(row), mask, offset(i*g.bytes, "(SI)"))
		}
		g.p("ADDQ R8, SI")
		g.p("ADDQ $%d, R12", g.size)
		g.p("ADDQ $%d, R13", g.size)
		g.p("DECQ R11")
		g.p("JNZ  rows%d", vectors)
	})
}
