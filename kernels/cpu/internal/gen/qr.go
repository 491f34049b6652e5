package main

import "fmt"

// The kernels for QR work on rows of qrRow bytes: as many columns as there is
// room for.
//
// Registers of those on the rows of a panel:
//
//	AX  *QRRows
//	DI  row    SI, R11  once and three times the distance of rows    CX  rows left
//	R10 its element in column C    R8  C    R9  W
const qrRow = 64

// qrVecs is the number of vectors in a row, qrUnroll that of rows at a time.
func (g *generator) qrVecs() int { return qrRow / g.bytes }
func (g *generator) qrUnroll() int {
	if g.avx512() {
		return 4
	}
	return 2
}

// qrFile returns the file of the kernels for panels of QR.
func qrFile(isa isa) *generator {
	g := newFile(isa)
	g.l("// Offsets of the fields of QRRows.")
	g.offsets("ARG", "A", "LD", "M", "C", "W", "DOTS")
	g.l("")
	for _, g.elem = range elems() {
		g.qrRows("Dots", func(r int, row, at string) {
			x := g.v(g.qrElement(r))
			g.p("VBROADCAST%s %s, %s", g.scalar, at, x)
			for j := range g.qrVecs() {
				a := g.v(g.qrVector(r, j))
				g.p("%s %s, %s", g.op("VMOVU"), offset(j*g.bytes, row), a)
				g.p("%s %s, %s, %s", g.op("VFMADD231"), a, x, g.v(g.qrSum(r, j)))
			}
		})
		g.qrRows("Reflect", func(r int, row, at string) {
			x, next := g.v(g.qrElement(r)), g.v(g.qrNext(r))
			g.p("VBROADCAST%s %s, %s", g.scalar, at, x)
			g.p("VBROADCAST%s %s, %s", g.scalar, offset(g.size, at), next)
			g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(g.qrW(g.qrVecs())), x, next)
			for j := range g.qrVecs() {
				a := g.v(g.qrVector(r, j))
				g.p("%s %s, %s", g.op("VMOVU"), offset(j*g.bytes, row), a)
				g.p("%s %s, %s, %s", g.op("VFNMADD231"), g.v(g.qrW(j)), x, a)
				g.p("%s %s, %s", g.op("VMOVU"), a, offset(j*g.bytes, row))
				g.p("%s %s, %s, %s", g.op("VFMADD231"), a, next, g.v(g.qrSum(r, j)))
			}
		})
		g.qrRows("Scale", func(r int, row, _ string) {
			for j := range g.qrVecs() {
				a := g.v(g.qrVector(r, j))
				g.p("%s %s, %s, %s", g.op("VMUL"), offset(j*g.bytes, row), g.v(g.qrW(j)), a)
				g.p("%s %s, %s", g.op("VMOVU"), a, offset(j*g.bytes, row))
			}
		})
		g.qrBlock("Subtract")
		g.qrBlock("Copy")
	}
	return g
}

// Vectors, for row r of those at a time: the sums, the row, its element in
// column C, that in the next one, and W with its element of the next column.

func (g *generator) qrSum(r, j int) int { return r*g.qrVecs() + j }
func (g *generator) qrVector(r, j int) int {
	return g.qrUnroll()*g.qrVecs() + r*(g.qrVecs()+2) + j
}
func (g *generator) qrElement(r int) int { return g.qrVector(r, g.qrVecs()) }
func (g *generator) qrNext(r int) int    { return g.qrVector(r, g.qrVecs()+1) }
func (g *generator) qrW(j int) int       { return g.qrVector(g.qrUnroll(), j) }

// qrRows writes a kernel that does body for every row r of those at a time:
// row is its address and at that of its element in column C. It stores the
// sums.
func (g *generator) qrRows(name string, body func(r int, row, at string)) {
	g.function("qr"+name+g.typ, "t *isa.QRRows", "AX")
	g.fields("ARG", "A DI", "LD SI")
	g.p("LEAQ (SI)(SI*2), R11")
	g.fields("ARG", "M CX", "C R8")
	g.p("LEAQ (DI)(R8*1), R10")
	g.p("MOVQ ARG_W, R9")
	if name != "Dots" {
		for j := range g.qrVecs() {
			g.p("%s %d(R9), %s", g.op("VMOVU"), j*g.bytes, g.v(g.qrW(j)))
		}
	}
	if name == "Reflect" {
		g.p("VBROADCAST%s %d(R9)(R8*1), %s", g.scalar, g.size, g.v(g.qrW(g.qrVecs())))
	}
	n := g.qrUnroll()
	for r := range n {
		for j := range g.qrVecs() {
			g.zero("VXORPS", g.qrSum(r, j))
		}
	}
	g.p("SUBQ $%d, CX", n)
	g.p("JLT  tail")
	g.l("\nloop:")
	step := []string{"(%s)", "(%s)(SI*1)", "(%s)(SI*2)", "(%s)(R11*1)"}
	for r := range n {
		body(r, fmt.Sprintf(step[r], "DI"), fmt.Sprintf(step[r], "R10"))
	}
	g.p("LEAQ (DI)(SI*%d), DI", n)
	g.p("LEAQ (R10)(SI*%d), R10", n)
	g.p("SUBQ $%d, CX", n)
	g.p("JGE  loop")
	g.l("\ntail:")
	g.p("ADDQ $%d, CX", n)
	g.p("JEQ  done")
	g.l("\nrow:")
	body(0, "(DI)", "(R10)")
	g.p("ADDQ SI, DI")
	g.p("ADDQ SI, R10")
	g.p("DECQ CX")
	g.p("JNE  row")
	g.l("\ndone:")
	if name != "Scale" {
		g.p("MOVQ ARG_DOTS, R9")
		for j := range g.qrVecs() {
			for r := 1; r < n; r++ {
				g.p("%s %s, %s, %s", g.op("VADD"), g.v(g.qrSum(r, j)), g.v(j), g.v(j))
			}
			g.p("%s %s, %d(R9)", g.op("VMOVU"), g.v(j), j*g.bytes)
		}
	}
	g.ret()
}

// qrBlock writes a kernel that subtracts or copies a block of rows:
//
//	DI dst   R8 its stride   SI src   R9 its stride   R10 bytes in a row   R11 rows
//	CX bytes left, R12 bytes gone
func (g *generator) qrBlock(name string) {
	g.function("qr"+name+g.typ, "dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int", "DI", "R8", "SI", "R9", "R10", "R11")
	if g.avx512() {
		g.p("MOVQ R10, CX")
		g.p("SHRQ $%d, CX", map[int]int{8: 3, 4: 2}[g.size])
		g.p("ANDQ $%d, CX", g.lanes()-1)
		g.lowest("DX", "K1")
	}
	g.l("\nrow:")
	g.p("XORQ R12, R12")
	g.p("MOVQ R10, CX")
	for _, vecs := range []int{3, 1} {
		g.p("SUBQ $%d, CX", vecs*g.bytes)
		g.p("JLT  rest%d", vecs)
		g.l("\nloop%d:", vecs)
		for j := range vecs {
			src, dst := fmt.Sprintf("%d(SI)(R12*1)", j*g.bytes), fmt.Sprintf("%d(DI)(R12*1)", j*g.bytes)
			if name == "Copy" {
				g.p("%s %s, %s", g.op("VMOVU"), src, g.v(j))
			} else {
				g.p("%s %s, %s", g.op("VMOVU"), dst, g.v(j))
				g.p("%s %s, %s, %s", g.op("VSUB"), src, g.v(j), g.v(j))
			}
		}
		for j := range vecs {
			g.p("%s %s, %d(DI)(R12*1)", g.op("VMOVU"), g.v(j), j*g.bytes)
		}
		g.p("ADDQ $%d, R12", vecs*g.bytes)
		g.p("SUBQ $%d, CX", vecs*g.bytes)
		g.p("JGE  loop%d", vecs)
		g.l("\nrest%d:", vecs)
		g.p("ADDQ $%d, CX", vecs*g.bytes)
	}
	g.p("JEQ  next")
	if g.avx512() {
		g.p("%s.Z (SI)(R12*1), K1, Z0", g.op("VMOVU"))
		if name == "Subtract" {
			g.p("%s.Z (DI)(R12*1), K1, Z1", g.op("VMOVU"))
			g.p("%s Z0, Z1, Z0", g.op("VSUB"))
		}
		g.p("%s Z0, K1, (DI)(R12*1)", g.op("VMOVU"))
	} else {
		g.l("\nelement:")
		if name == "Copy" {
			g.p("VMOV%s (SI)(R12*1), X0", g.scalar)
		} else {
			g.p("VMOV%s (DI)(R12*1), X0", g.scalar)
			g.p("VSUB%s (SI)(R12*1), X0, X0", g.scalar)
		}
		g.p("VMOV%s X0, (DI)(R12*1)", g.scalar)
		g.p("ADDQ $%d, R12", g.size)
		g.p("SUBQ $%d, CX", g.size)
		g.p("JNE  element")
	}
	g.l("\nnext:")
	g.p("ADDQ R8, DI")
	g.p("ADDQ R9, SI")
	g.p("DECQ R11")
	g.p("JNE  row")
	g.ret()
}
