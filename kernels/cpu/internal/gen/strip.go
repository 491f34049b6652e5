package main

import "fmt"

// stripVectors is the number of vectors in the widest row of a strip.
const stripVectors = 8

// stripAhead is the number of rows that the column sums fetch ahead.
const stripAhead = 12

// stripFile returns the file of the kernels for products of vectors and a strip: many short rows.
func stripFile(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		if !g.avx512() {
			g.constants("stripMask", 2*g.lanes(), func(i int) string { return ones(i < g.lanes()) })
		}
		g.strip("stripColumns", g.stripColumns)
		g.strip("stripRows", g.stripRows)
		g.strip("stripUpdate", g.stripUpdate, "w", "z")
	}
	return g
}

// strip writes a kernel: for each number of vectors in a row the code that body writes. The last vector has a mask.
//
//	SI  the rows      R8  bytes between them      CX  their number      R9  elements in a row, then vectors
//	DX  x             DI  y
//
// and of vectors x from 8 on. more is up to two more operands, in R12 and R13.
func (g *generator) strip(name string, body func(vectors int), more ...string) {
	shift := map[int]int{8: 3, 4: 2}[g.size]
	t := fmt.Sprintf("float%d", 8*g.size)
	params := "a *" + t + ", lda int, m int, n int, x *" + t + ", y *" + t
	for _, name := range more {
		params += ", " + name + " *" + t
	}
	registers := []string{"SI", "R8", "R11", "R9", "DX", "DI", "R12", "R13"}
	g.function(name+g.typ, params, registers[:6+len(more)]...)
	g.p("SHLQ $%d, R8", shift)
	g.stripMaskOf()
	g.p("MOVQ R11, CX")
	g.stripChoice(body)
}

// stripMaskOf makes the mask of the last vector of a row of R9 elements. R9 becomes one less than the number of vectors.
func (g *generator) stripMaskOf() {
	lanes := map[int]int{4: 2, 8: 3, 16: 4}[g.lanes()]
	g.p("DECQ R9")
	g.p("MOVQ R9, CX")
	g.p("ANDQ $%d, CX", g.lanes()-1)
	if g.avx512() {
		g.p("INCQ CX")
		g.lowest("R10", "K1")
	} else {
		g.p("XORQ $%d, CX", g.lanes()-1) // lanes that are not read
		g.p("LEAQ %s(SB), R10", g.local("stripMask"))
		g.p("%s (R10)(CX*%d), %s", g.op("VMOVU"), g.size, g.stripMask())
	}
	g.p("SHRQ $%d, R9", lanes)
}

// stripChoice writes the code for each number of vectors in a row.
func (g *generator) stripChoice(body func(vectors int)) {
	for vectors := 1; vectors < stripVectors; vectors++ {
		g.p("CMPQ R9, $%d", vectors)
		g.p("JLT  vectors%d", vectors)
	}
	for vectors := stripVectors; vectors > 0; vectors-- {
		g.l("\nvectors%d:", vectors)
		body(vectors)
		g.ret()
	}
}

// stripMask returns the mask of the last vector.
func (g *generator) stripMask() string {
	if g.avx512() {
		return "K1"
	}
	return g.v(5)
}

// stripLoad loads a row of vectors into registers from first on.
func (g *generator) stripLoad(from string, vectors, first int) {
	for i := range vectors {
		mask := ""
		if i == vectors-1 {
			mask = g.stripMask()
		}
		g.load(offset(i*g.bytes, from), mask, g.v(first+i))
	}
}

// stripMultiply writes acc += row·x for the vector of a row at an address, with the mask if it is the last one.
func (g *generator) stripMultiply(at string, last bool, x, acc string) {
	switch {
	case !last:
		g.p("%s %s, %s, %s", g.op("VFMADD231"), at, x, acc)
	case g.avx512():
		g.p("%s %s, %s, K1, %s", g.op("VFMADD231"), at, x, acc)
	default:
		g.load(at, g.stripMask(), g.v(6))
		g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(6), x, acc)
	}
}

// stripColumns writes the loop that adds multiples of the rows to y, which stays in registers from 8 on. The factors are
// the elements of x.
func (g *generator) stripColumns(vectors int) {
	g.stripLoad("(DI)", vectors, 8)
	g.p("LEAQ (R8)(R8*2), R10")
	g.p("SHLQ $%d, R10", map[int]int{12: 2}[stripAhead])
	g.l("\nrows%d:", vectors)
	g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(0))
	for i := range vectors {
		if i*g.bytes%64 == 0 {
			g.p("PREFETCHT0 %d(SI)(R10*1)", i*g.bytes)
		}
		g.stripMultiply(offset(i*g.bytes, "(SI)"), i == vectors-1, g.v(0), g.v(8+i))
	}
	g.p("ADDQ R8, SI")
	g.p("ADDQ $%d, DX", g.size)
	g.p("DECQ CX")
	g.p("JNZ  rows%d", vectors)
	for i := range vectors {
		mask := ""
		if i == vectors-1 {
			mask = g.stripMask()
		}
		g.store(g.v(8+i), mask, offset(i*g.bytes, "(DI)"))
	}
}

// stripRows writes the loop that adds to y the inner products of the rows, four at a time, with x, which stays in
// registers from 8 on.
func (g *generator) stripRows(vectors int) {
	g.stripLoad("(DX)", vectors, 8)
	g.p("LEAQ (R8)(R8*2), R10")
	g.l("\nrows%d:", vectors)
	for i := range 4 {
		g.zero("VXORPD", i)
	}
	for j := range vectors {
		for i, row := range []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)", "(SI)(R10*1)"} {
			g.stripMultiply(offset(j*g.bytes, row), j == vectors-1, g.v(8+j), g.v(i))
		}
	}
	sums := g.four(0)
	g.p("%s (DI), %s, %s", g.op("VADD"), sums, sums)
	g.p("%s %s, (DI)", g.op("VMOVU"), sums)
	g.p("LEAQ (SI)(R8*4), SI")
	g.p("ADDQ $%d, DI", 4*g.size)
	g.p("SUBQ $4, CX")
	g.p("JNZ  rows%d", vectors)
}

// stripUpdate writes the loop that adds to each row multiples of w, which stays in registers from 8 on, and of z, which
// does so from 16 on if there are as many. The factors are the elements of x and y.
func (g *generator) stripUpdate(vectors int) {
	g.stripLoad("(R12)", vectors, 8)
	if g.avx512() {
		g.stripLoad("(R13)", vectors, 16)
	}
	g.l("\nrows%d:", vectors)
	g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(0))
	g.p("VBROADCAST%s (DI), %s", g.scalar, g.v(1))
	for i := range vectors {
		last, mask, row := i == vectors-1, "", g.v(2+i%2)
		if last {
			mask = g.stripMask()
		}
		at := offset(i*g.bytes, "(SI)")
		g.load(at, mask, row)
		g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(8+i), g.v(0), row)
		if g.avx512() {
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(16+i), g.v(1), row)
		} else {
			g.stripMultiply(offset(i*g.bytes, "(R13)"), last, g.v(1), row)
		}
		g.store(row, mask, at)
	}
	g.p("ADDQ R8, SI")
	g.p("ADDQ $%d, DX", g.size)
	g.p("ADDQ $%d, DI", g.size)
	g.p("DECQ CX")
	g.p("JNZ  rows%d", vectors)
}

// four joins the lanes of four vectors of sums in one with the four sums, whose register it returns. It overwrites the four
// vectors that follow, too.
func (g *generator) four(sum int) string {
	if g.avx512() {
		for i := sum; i < sum+4; i++ {
			g.p("VEXTRACTF64X4 $1, %s, Y%d", g.v(i), 4+i)
			g.p("%s Y%d, Y%d, Y%d", g.op("VADD"), 4+i, i, i)
		}
	}
	g.p("%s Y%d, Y%d, Y%d", g.op("VHADD"), sum+1, sum, sum)
	g.p("%s Y%d, Y%d, Y%d", g.op("VHADD"), sum+3, sum+2, sum+2)
	if g.size == 8 {
		g.p("VPERM2F128 $0x20, Y%d, Y%d, Y%d", sum+2, sum, sum+1)
		g.p("VPERM2F128 $0x31, Y%d, Y%d, Y%d", sum+2, sum, sum+3)
		g.p("VADDPD Y%d, Y%d, Y%d", sum+3, sum+1, sum+1)
		return fmt.Sprintf("Y%d", sum+1)
	}
	g.p("VHADDPS Y%d, Y%d, Y%d", sum+2, sum, sum)
	g.p("VEXTRACTF128 $1, Y%d, X%d", sum, sum+1)
	g.p("VADDPS X%d, X%d, X%d", sum, sum+1, sum+1)
	return fmt.Sprintf("X%d", sum+1)
}
