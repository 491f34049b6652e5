package main

// The kernels for QR work on rows of 64 bytes, four registers: as many columns as there is room for.
//
// Registers of those on the rows of a panel:
//
//	R0  *QRRows
//	R1  row    R2 distance of rows    R3 rows left    R4 C    R5 W
//	R6  the row's element in column C
//
// and of vectors the sums, W, the row, its element in column C, and that in the next one, which the
// element of W there is beside.
const (
	qrRegs = 4
	qrSum  = 0
	qrW    = 8
	qrA    = 16
	qrX    = 24
	qrNext = 25
	qrWC   = 26
)

// qrFile returns the file of the kernels for panels of QR.
func qrFile() *generator {
	g := newFile()
	g.l("// Offsets of the fields of QRRows.")
	g.offsets("ARG", "A", "LD", "M", "C", "W", "DOTS")
	g.l("")
	for _, g.elem = range elems() {
		move := g.sop("FMOV")
		g.qrRows("Dots", func(r int) {
			g.load(qrRegs, qrA+4*r, "R1", "R2")
			g.p("%s (R6), F%d", move, qrX)
			g.p("ADD R2, R6")
			for j := range qrRegs {
				g.by("fmla", qrSum+4*r+j, qrA+4*r+j, qrX, 0)
			}
		})
		g.qrRows("Reflect", func(r int) {
			g.load(qrRegs, qrA+4*r, "R1", "")
			g.p("%s (R6), F%d", move, qrX)
			g.p("%s %d(R6), F%d", move, g.size, qrNext)
			g.p("ADD R2, R6")
			g.p("%s F%d, F%d, F%d, F%d", g.sop("FMSUB"), qrWC, qrNext, qrX, qrNext)
			for j := range qrRegs {
				g.by("fmls", qrA+4*r+j, qrW+j, qrX, 0)
			}
			g.store(qrRegs, qrA+4*r, "R1", "R2")
			for j := range qrRegs {
				g.by("fmla", qrSum+4*r+j, qrA+4*r+j, qrNext, 0)
			}
		})
		g.qrRows("Scale", func(r int) {
			g.load(qrRegs, qrA+4*r, "R1", "")
			for j := range qrRegs {
				g.vec("fmul", qrA+4*r+j, qrA+4*r+j, qrW+j)
			}
			g.store(qrRegs, qrA+4*r, "R1", "R2")
		})
		g.qrBlock("Subtract")
		g.qrBlock("Copy")
	}
	return g
}

// qrRows writes a kernel that does body for every row, two at a time with sums of their own. It stores
// the sums.
func (g *generator) qrRows(name string, body func(r int)) {
	g.function("qr"+name+g.typ, "t *isa.QRRows", "R0")
	g.fields("ARG", "A R1", "LD R2", "M R3", "C R4", "W R5")
	g.p("ADD R4, R1, R6")
	if name != "Dots" {
		g.load(qrRegs, qrW, "R5", "")
	}
	if name == "Reflect" {
		g.p("ADD R4, R5")
		g.p("%s %d(R5), F%d", g.sop("FMOV"), g.size, qrWC)
	}
	for r := range 2 * qrRegs {
		g.zero(qrSum + r)
	}
	g.p("SUBS $2, R3")
	g.p("BLT tail")
	g.l("\nloop:")
	body(0)
	body(1)
	g.p("SUBS $2, R3")
	g.p("BGE loop")
	g.l("\ntail:")
	g.p("ADDS $2, R3")
	g.p("BEQ done")
	body(0)
	g.l("\ndone:")
	if name != "Scale" {
		g.p("MOVD ARG_DOTS, R5")
		for j := range qrRegs {
			g.vec("fadd", qrSum+j, qrSum+j, qrSum+4+j)
		}
		g.store(qrRegs, qrSum, "R5", "")
	}
	g.ret()
}

// qrBlock writes a kernel that subtracts or copies a block of rows:
//
//	R0 dst   R1 its stride   R2 src   R3 its stride   R4 bytes in a row   R5 rows
//	R6, R7   where in the row    R8 bytes left
func (g *generator) qrBlock(name string) {
	g.function("qr"+name+g.typ, "dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, bytes, rows int", "R0", "R1", "R2", "R3", "R4", "R5")
	g.l("\nrow:")
	g.p("MOVD R0, R6")
	g.p("MOVD R2, R7")
	g.p("MOVD R4, R8")
	g.turns("R8", g.size, func(n int, whole bool) {
		g.take(n, whole, true, 0, "R7")
		if name == "Subtract" {
			g.take(n, whole, false, 4, "R6")
			for j := range n {
				g.vec("fsub", j, 4+j, j)
			}
		}
		g.put(n, whole, 0, "R6")
	})
	g.p("ADD R1, R0")
	g.p("ADD R3, R2")
	g.p("SUBS $1, R5")
	g.p("BNE row")
	g.ret()
}
