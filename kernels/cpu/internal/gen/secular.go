package main

import "fmt"

// secularFile returns the file of the kernels for secular equations.
func secularFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.constants("secularOne", 1, func(int) string { return map[int]string{8: "0x3FF0000000000000", 4: "0x3F800000"}[g.size] })
		g.secularSums()
		g.secularFactors("secularFactors", false)
		g.secularFactors("secularFactorsOfSquares", true)
		g.secularQuotients()
	}
	return g
}

// secular begins a kernel for n elements, a positive multiple of the lanes of a vector:
//
//	CX  vectors left      AX  bytes gone
func (g *generator) secular(name, params string, registers ...string) {
	lanes := map[int]int{4: 2, 8: 3, 16: 4}[g.lanes()]
	g.function(name+g.typ, params, registers...)
	g.p("SHRQ $%d, CX", lanes)
	g.p("XORQ AX, AX")
}

// secularNext ends the loop of a kernel.
func (g *generator) secularNext() {
	g.p("ADDQ $%d, AX", g.bytes)
	g.p("DECQ CX")
	g.p("JNZ  loop")
}

// secularSums writes the kernel that computes Σ zz/(delta−tau) and Σ zz/(delta−tau)². Vectors:
//
//	0, 1  the sums      2  1      3  tau      4, 5  a vector of the quotients
func (g *generator) secularSums() {
	t := fmt.Sprintf("float%d", 8*g.size)
	g.secular("secularSums", "n int, delta *"+t+", zz *"+t+", tau *"+t+", s *[2]"+t, "CX", "SI", "DX", "BX", "DI")
	g.zero("VXORPD", 0)
	g.zero("VXORPD", 1)
	g.p("VBROADCAST%s %s(SB), %s", g.scalar, g.local("secularOne"), g.v(2))
	g.p("VBROADCAST%s (BX), %s", g.scalar, g.v(3))
	g.l("\nloop:")
	g.p("%s (SI)(AX*1), %s", g.op("VMOVU"), g.v(4))
	g.p("%s %s, %s, %s", g.op("VSUB"), g.v(3), g.v(4), g.v(4))
	g.p("%s %s, %s, %s", g.op("VDIV"), g.v(4), g.v(2), g.v(4))
	g.p("%s (DX)(AX*1), %s, %s", g.op("VMUL"), g.v(4), g.v(5))
	g.p("%s %s, %s, %s", g.op("VADD"), g.v(5), g.v(0), g.v(0))
	g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(5), g.v(4), g.v(1))
	g.secularNext()
	for i := range 2 {
		if g.avx512() {
			g.p("VEXTRACTF64X4 $1, Z%d, Y4", i)
			g.p("%s Y4, Y%d, Y%d", g.op("VADD"), i, i)
		}
		g.p("VEXTRACTF128 $1, Y%d, X4", i)
		g.p("%s X4, X%d, X%d", g.op("VADD"), i, i)
		for n := 16 / g.size; n > 1; n /= 2 {
			g.p("%s X%d, X%d, X%d", g.op("VHADD"), i, i, i)
		}
		g.p("VMOV%s X%d, %d(DI)", g.scalar, i, i*g.size)
	}
	g.ret()
}

// secularFactors writes the kernel that multiplies f by x/(d−p), or by x/((d−p)·(d+p)).
func (g *generator) secularFactors(name string, squares bool) {
	t := fmt.Sprintf("float%d", 8*g.size)
	g.secular(name, "n int, d *"+t+", p *"+t+", x *"+t+", f *"+t, "CX", "SI", "BX", "DX", "DI")
	g.p("VBROADCAST%s (BX), %s", g.scalar, g.v(3))
	g.l("\nloop:")
	g.p("%s (SI)(AX*1), %s", g.op("VMOVU"), g.v(4))
	g.p("%s %s, %s, %s", g.op("VSUB"), g.v(3), g.v(4), g.v(5))
	if squares {
		g.p("%s %s, %s, %s", g.op("VADD"), g.v(3), g.v(4), g.v(4))
		g.p("%s %s, %s, %s", g.op("VMUL"), g.v(4), g.v(5), g.v(5))
	}
	g.p("%s (DX)(AX*1), %s", g.op("VMOVU"), g.v(4))
	g.p("%s %s, %s, %s", g.op("VDIV"), g.v(5), g.v(4), g.v(4))
	g.p("%s (DI)(AX*1), %s, %s", g.op("VMUL"), g.v(4), g.v(4))
	g.p("%s %s, (DI)(AX*1)", g.op("VMOVU"), g.v(4))
	g.secularNext()
	g.ret()
}

// secularQuotients writes the kernel that computes y = w/x.
func (g *generator) secularQuotients() {
	t := fmt.Sprintf("float%d", 8*g.size)
	g.secular("secularQuotients", "n int, w *"+t+", x *"+t+", y *"+t, "CX", "SI", "DX", "DI")
	g.l("\nloop:")
	g.p("%s (SI)(AX*1), %s", g.op("VMOVU"), g.v(4))
	g.p("%s (DX)(AX*1), %s, %s", g.op("VDIV"), g.v(4), g.v(4))
	g.p("%s %s, (DI)(AX*1)", g.op("VMOVU"), g.v(4))
	g.secularNext()
	g.ret()
}
