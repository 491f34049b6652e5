package main

import "fmt"

// symvFile returns the file of the kernels for products of a symmetric matrix and a vector.
func symvFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		g.symv()
		if g.avx512() {
			g.symvTriangle("symvUpper", true)
			g.symvTriangle("symvLower", false)
		}
	}
	return g
}

// symvTriangle writes the kernel that does four rows of a triangle after the other, with the diagonal. Of a vector with
// elements of the diagonal, which lies at a multiple of its length, each row has masks: one of the elements for the row's
// sum, and one without that on the diagonal.
//
//	SI, R9, R10, R11  the rows     R8  bytes from row to row     R13  the first row, up to BX      R12  n
//	DX  x                          DI  y                         AX   bytes gone                   CX   vectors left
//
// and of vectors the factors, the sums, x, y, rows, and y and alpha at the diagonal; K6 is the lanes of that vector, K7
// those of the last one.
func (g *generator) symvTriangle(name string, upper bool) {
	const factor, sum, x, y, row, diagonal, alpha = 0, 4, 8, 9, 10, 16, 17
	shift := map[int]int{8: 3, 4: 2}[g.size]
	log := map[int]int{8: 3, 16: 4}[g.lanes()]
	rows := []string{"SI", "R9", "R10", "R11"}
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function(name+g.typ, "a *"+t+", lda int, n int, first int, last int, x *"+t+", y *"+t+", alpha *"+t,
		"SI", "R8", "R12", "R13", "BX", "DX", "DI", "AX")
	g.p("VBROADCAST%s (AX), %s", g.scalar, g.v(alpha))
	g.p("SHLQ $%d, R8", shift)
	g.p("MOVQ R13, AX")
	g.p("IMULQ R8, AX")
	g.p("ADDQ AX, SI")
	g.p("MOVQ R12, CX")
	g.p("ANDQ $%d, CX", g.lanes()-1)
	g.lowest("AX", "K7")

	g.l("\nrows:")
	g.p("MOVQ R13, AX")
	g.p("ANDQ $%d, AX", -g.lanes())
	g.p("MOVQ R12, CX")
	g.p("SUBQ AX, CX")
	g.p("CMPQ CX, $%d", g.lanes())
	g.p("JLE  lanes")
	g.p("MOVQ $%d, CX", g.lanes())
	g.l("\nlanes:")
	g.p("MOVQ $1, R9")
	g.p("SHLQ CX, R9")
	g.p("DECQ R9")
	g.p("KMOVW R9, K6")
	g.p("MOVQ R13, CX")
	g.p("ANDQ $%d, CX", g.lanes()-1)
	sums, others := 1, 2 // the masks of the first row
	if upper {
		g.p("MOVQ $-1, R10")
		g.p("SHLQ CX, R10")
		for i := range 5 {
			g.p("MOVQ R10, R11")
			g.p("ANDQ R9, R11")
			g.p("KMOVW R11, K%d", 1+i)
			g.p("ADDQ R10, R10")
		}
	} else {
		sums, others = 2, 1
		g.p("MOVQ $1, R10")
		g.p("SHLQ CX, R10")
		g.p("DECQ R10")
		for i := range 5 {
			g.p("KMOVW R10, K%d", 1+i)
			g.p("LEAQ 1(R10)(R10*1), R10")
		}
	}
	g.p("LEAQ (SI)(R8*1), R9")
	g.p("LEAQ (SI)(R8*2), R10")
	g.p("LEAQ (R9)(R8*2), R11")
	for i := range 4 {
		g.p("VBROADCAST%s %d(DX)(R13*%d), %s", g.scalar, i*g.size, g.size, g.v(factor+i))
		g.p("%s %s, %s, %s", g.op("VMUL"), g.v(alpha), g.v(factor+i), g.v(factor+i))
		g.zero("", sum+i)
	}
	g.p("SHLQ $%d, AX", shift)
	g.load("(DX)(AX*1)", "K6", g.v(x))
	g.load("(DI)(AX*1)", "K6", g.v(diagonal))
	for i, r := range rows {
		g.load("("+r+")(AX*1)", fmt.Sprintf("K%d", sums+i), g.v(row+i))
		g.p("%s %s, %s, K%d, %s", g.op("VFMADD231"), g.v(row+i), g.v(x), sums+i, g.v(sum+i))
		g.p("%s %s, %s, K%d, %s", g.op("VFMADD231"), g.v(row+i), g.v(factor+i), others+i, g.v(diagonal))
	}

	each := func(mask string) {
		g.load("(DX)(AX*1)", mask, g.v(x))
		g.load("(DI)(AX*1)", mask, g.v(y))
		for i, r := range rows {
			g.load("("+r+")(AX*1)", mask, g.v(row+i))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(row+i), g.v(x), g.v(sum+i))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(row+i), g.v(factor+i), g.v(y))
		}
		g.store(g.v(y), mask, "(DI)(AX*1)")
	}
	if upper {
		g.p("ADDQ $%d, AX", g.bytes)
		g.p("MOVQ R12, CX")
		g.p("SHLQ $%d, CX", shift)
		g.p("SUBQ AX, CX")
		g.p("JLE  done")
		g.p("SHRQ $6, CX")
		g.p("JZ   rest")
	} else {
		g.p("XORQ AX, AX")
		g.p("MOVQ R13, CX")
		g.p("SHRQ $%d, CX", log)
		g.p("JZ   done")
	}
	g.l("\nloop:")
	each("")
	g.p("ADDQ $%d, AX", g.bytes)
	g.p("DECQ CX")
	g.p("JNZ  loop")
	if upper {
		g.l("\nrest:")
		g.p("TESTQ $%d, R12", g.lanes()-1)
		g.p("JZ   done")
		each("K7")
	}

	g.l("\ndone:")
	four := g.four(sum)
	g.p("%s %s%d, %s, %s", g.op("VMUL"), four[:1], alpha, four, four)
	g.p("MOVQ R13, AX")
	g.p("MOVQ R13, CX")
	g.p("ANDQ $%d, AX", -g.lanes())
	g.p("ANDQ $%d, CX", g.lanes()-1)
	g.p("MOVQ $15, R9")
	g.p("SHLQ CX, R9")
	g.p("KMOVW R9, K1")
	g.p("%s.Z Z%s, K1, %s", g.op("VEXPAND"), four[1:], g.v(x))
	g.p("%s %s, %s, K1, %s", g.op("VADD"), g.v(x), g.v(diagonal), g.v(diagonal))
	g.store(g.v(diagonal), "K6", fmt.Sprintf("(DI)(AX*%d)", g.size))
	g.p("LEAQ (SI)(R8*4), SI")
	g.p("ADDQ $4, R13")
	g.p("CMPQ R13, BX")
	g.p("JLT  rows")
	g.ret()
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
