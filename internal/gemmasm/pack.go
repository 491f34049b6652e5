package main

// packs writes the packing.
func (g *generator) packs() {
	if !g.avx512() {
		for i := range g.lanes() {
			g.l("DATA %s_bits<>+%d(SB)/%d, $%d", g.typ, i*g.size, g.size, 1<<i)
		}
		g.l("GLOBL %s_bits<>(SB), RODATA|NOPTR, $32\n", g.typ)
	}
}
