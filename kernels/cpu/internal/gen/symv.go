package main

import "fmt"

// symvFile returns the file of the kernels for products of a symmetric matrix and a vector.
func symvFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.symv()
	}
	return g
}

// symv writes the kernel that reads four rows once, for their inner products with x and for
// multiples of them that are added to y:
//
//	SI, R9, R10, R11  the rows     DX  x      DI  y      AX  bytes gone      CX  times 64 left
//	BX  the factors                R12 the sums
//
// and of vectors the factors, the sums, and those of x, y and a row.
func (g *generator) symv() {
	const factor, sum, x, y, row = 0, 4, 8, 9, 10
	shift := map[int]int{8: 3, 4: 2}[g.size]
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("symv"+g.typ, "a *"+t+", lda int, n int, x *"+t+", c *[4]"+t+", s *[4]"+t+", y *"+t, "SI", "R8", "CX", "DX", "BX", "R12", "DI")
	g.p("SHLQ $%d, R8", shift)
	g.p("LEAQ (SI)(R8*1), R9")
	g.p("LEAQ (SI)(R8*2), R10")
	g.p("LEAQ (R9)(R8*2), R11")
	g.p("SHRQ $%d, CX", 6-shift)
	g.p("XORQ AX, AX")
	for i := range 4 {
		g.p("VBROADCAST%s %d(BX), %s", g.scalar, i*g.size, g.v(factor+i))
		g.zero("VXORPD", sum+i)
	}
	g.l("\nloop:")
	for at := 0; at < 64; at += g.bytes {
		g.p("%s %d(DX)(AX*1), %s", g.op("VMOVU"), at, g.v(x))
		g.p("%s %d(DI)(AX*1), %s", g.op("VMOVU"), at, g.v(y))
		for i, r := range []string{"SI", "R9", "R10", "R11"} {
			g.p("%s %d(%s)(AX*1), %s", g.op("VMOVU"), at, r, g.v(row+i))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(row+i), g.v(x), g.v(sum+i))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(row+i), g.v(factor+i), g.v(y))
		}
		g.p("%s %s, %d(DI)(AX*1)", g.op("VMOVU"), g.v(y), at)
	}
	g.p("ADDQ $64, AX")
	g.p("DECQ CX")
	g.p("JNZ  loop")
	g.l("")
	for i := range 4 {
		s := sum + i
		if g.avx512() {
			g.p("VEXTRACTF64X4 $1, Z%d, Y%d", s, x)
			g.p("%s Y%d, Y%d, Y%d", g.op("VADD"), x, s, s)
		}
		g.p("VEXTRACTF128 $1, Y%d, X%d", s, x)
		g.p("%s X%d, X%d, X%d", g.op("VADD"), x, s, s)
		for n := 16 / g.size; n > 1; n /= 2 {
			g.p("%s X%d, X%d, X%d", g.op("VHADD"), s, s, s)
		}
		g.p("VMOV%s X%d, %d(R12)", g.scalar, s, i*g.size)
	}
	g.ret()
}
