package main

import "fmt"

// leafFile returns the file of the kernels for diagonal blocks.
func leafFile(isa isa) *generator {
	g := newFile(isa)
	g.l("// Offsets of the fields of Leaf.")
	g.offsets("ARG", "A", "RS", "CS", "PS", "X", "C", "LDC", "INV", "K", "PANELS", "WIDTH", "LAST", "LANE", "PLAIN", "GROW")
	g.l("")
	for _, g.elem = range elems() {
		g.tables()
		g.solves()
		g.factors()
		g.transpose()
		g.pack()
	}
	return g
}

// tables writes the constants: the number one, the indices that broadcast a
// lane, and for AVX2 masks.
func (g *generator) tables() {
	n := g.lanes()
	one := map[int]string{8: "0x3ff0000000000000", 4: "0x3f800000"}[g.size]
	g.constants("one", 1, func(int) string { return one })
	g.constants("lane", n*n, func(i int) string { return fmt.Sprint(i / n) })
	if g.avx512() {
		return
	}
	// Loaded from byte bytes-n·size on, the first n lanes are set; from
	// 2·bytes-n·size on, all but the first n.
	g.constants("first", 3*n, func(i int) string { return ones(i/n != 1) })
	// Vector l has lane l set.
	g.constants("only", n*n, func(i int) string { return ones(i/n == i%n) })
}
