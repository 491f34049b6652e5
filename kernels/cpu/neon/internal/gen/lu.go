package main

// Registers of the kernels for columns of L and U:
//
//	R0  *LUColumn
//	R1  rows of column K    R2  the same rows of column 0    R3  from column to column
//	R4  coefficients        R5  K                            R6  blocks left
//	R7, R8, R9  column, coefficient and count in the loop over the columns before
//	R10 mask of the rows below a diagonal, as the address of lanes in luTables
//	R11 other
//
// and of vectors:
//
//	0 … 7      the rows of column K
//	8 … 11     their greatest magnitudes so far, by lane
//	12 … 15    and the rows of these
//	16 … 19    row, step, coefficient, factor
//	20 … 23    others
//	24 … 31    the rows of another column
const (
	luVecs  = 4 // vectors in a block of rows of a column, as isa.LUVectors says
	luRegs  = luVecs * pair
	luTurn  = 2 // vectors that are searched at a time
	luAccs  = luTurn * pair
	luMost  = luRegs
	luWhere = luMost + luAccs
	luRow   = 16
	luStep  = 17
	luU     = 18
	luScale = 19
	luT     = 20
	luMask  = 21
	luOther = 22
	luX     = 24

	luDiagonal = 16 // isa.LUDiagonal
)

// luFile returns the file of the kernels for columns of L and U.
func luFile() *generator {
	g := newFile()
	g.l("// Offsets of the fields of LUColumn.")
	g.offsets("LU", "X", "LD", "C", "K", "BLOCKS", "SCALE")
	g.l("#define LU_MOST %d", 8*6)
	g.l("#define LU_WHERE %d", 8*6+64)
	g.l("")
	for _, g.elem = range elems() {
		g.luTable()
		g.luUpdate()
		g.luScaleColumn()
	}
	g.exchange()
	return g
}

// luTable writes the mask of the rows that follow the diagonal: as many zeros as a block has rows, then
// as many ones.
func (g *generator) luTable() {
	name := g.local("lubelow")
	for i := range 2 * luRegs * reg / 8 {
		g.l("DATA %s+%d(SB)/8, $%d", name, 8*i, map[bool]int{true: -1}[i >= luRegs*reg/8])
	}
	g.l("GLOBL %s(SB), RODATA|NOPTR, $%d\n", name, 2*luRegs*reg)
}

// luLoad loads the rows of a block from r on. It keeps the pointer.
func (g *generator) luLoad(r int, pointer string) { g.luMove(g.load, r, pointer) }

func (g *generator) luStore(r int, pointer string) { g.luMove(g.store, r, pointer) }

func (g *generator) luMove(move func(n, r int, pointer, by string), r int, pointer string) {
	g.p("ADD $64, %s, R11", pointer)
	move(4, r, pointer, "")
	move(4, r+4, "R11", "")
}

// and prints d = n & m.
func (g *generator) and(d, n, m int) { g.p("VAND V%d.B16, V%d.B16, V%d.B16", m, n, d) }

// luMasked subtracts from rows below the diagonal, by the mask at R10, the products of x and the
// coefficient. The others must not have 0·u subtracted: it is NaN if u is infinite.
func (g *generator) luMasked() {
	g.p("MOVD R10, R12")
	for p := range luRegs {
		g.load(1, luMask, "R12", "16")
		g.and(luT, luX+p, luMask)
		g.and(luMask, luU, luMask)
		g.vec("fmls", p, luT, luMask)
	}
}

func (g *generator) luUpdate() {
	arr := g.arrangement()
	g.function("luUpdate"+g.typ, "t *isa.LUColumn", "R0")
	g.fields("LU", "C R1", "X R2", "LD R3", "K R5", "BLOCKS R6")
	g.p("MOVD R1, R4")
	g.p("ADD $%d, R0, R11", 8*5)
	g.duplicate(luScale, "R11", "")
	g.zero(luRow)
	for i := range luAccs {
		g.zero(luMost + i)
		g.zero(luWhere + i)
	}
	g.p("MOVD $%d, R11", luAccs*g.per())
	g.p("VDUP R11, V%d.%s", luStep, arr)

	// The first block has the rows above the diagonal: each is a coefficient of those below it, itself
	// included in the products with those before it.
	g.l("")
	g.luLoad(0, "R1")
	g.p("MOVD $%s+%d(SB), R10", g.local("lubelow"), luRegs*reg-g.size)
	begin := func(none, one string) {
		g.p("MOVD R2, R7")
		g.p("MOVD R4, R8")
		g.p("SUBS $1, R5, R9")
		g.p("BLT %s", none)
		g.p("BEQ %s", one)
	}
	next := func(label string) {
		g.p("ADD R3, R7")
		g.p("ADD $%d, R8", g.size)
		g.p("SUBS $1, R9")
		g.p("BNE %s", label)
	}
	begin("top", "diagonal")
	g.l("\nabove:")
	g.duplicate(luU, "R8", "")
	g.luLoad(luX, "R7")
	g.luMasked()
	if luDiagonal*g.size > 64 {
		g.luStore(0, "R1")
	} else {
		g.store(4, 0, "R1", "")
	}
	g.p("SUB $%d, R10", g.size)
	next("above")
	g.l("\ndiagonal:")
	g.duplicate(luU, "R8", "")
	g.luLoad(luX, "R7")
	g.p("MOVD R10, R12")
	for p := range luRegs {
		g.load(1, luMask, "R12", "16")
		g.vec("fmul", luT, luX+p, luScale)
		g.bits("bit", luX+p, luT, luMask)
	}
	g.luStore(luX, "R7")
	g.luMasked()
	g.p("SUB $%d, R10", g.size)
	g.l("\ntop:")
	g.luStore(0, "R1")
	g.p("ADD $%d, R10", g.size) // back to the rows from K on
	for p := range luRegs {
		g.load(1, luMask, "R10", "16")
		g.luSearch(p, true)
	}
	g.p("B next")

	g.l("\nblock:")
	g.luLoad(0, "R1")
	begin("search", "last")
	g.l("\nloop:")
	g.duplicate(luU, "R8", "")
	g.luLoad(luX, "R7")
	for p := range luRegs {
		g.by("fmls", p, luX+p, luU, 0)
	}
	next("loop")
	g.l("\nlast:")
	g.duplicate(luU, "R8", "")
	g.luLoad(luX, "R7")
	for p := range luRegs {
		g.by("fmul", luX+p, luX+p, luScale, 0)
	}
	g.luStore(luX, "R7")
	for p := range luRegs {
		g.by("fmls", p, luX+p, luU, 0)
	}
	g.l("\nsearch:")
	g.luStore(0, "R1")
	for p := range luRegs {
		g.luSearch(p, false)
	}
	g.l("\nnext:")
	g.p("ADD $%d, R1", luRegs*reg)
	g.p("ADD $%d, R2", luRegs*reg)
	g.p("SUBS $1, R6")
	g.p("BNE block")
	g.p("ADD $LU_MOST, R0, R11")
	g.store(4, luMost, "R11", "")
	g.p("ADD $LU_WHERE, R0, R11")
	g.store(4, luWhere, "R11", "")
	g.ret()
}

// luSearch compares register p, which it overwrites, with the greatest so far, in the lanes of luMask
// if there is a mask.
func (g *generator) luSearch(p int, masked bool) {
	acc := p % luAccs
	g.one("fabs", p, p)
	g.vec("fcmgt", luT, p, luMost+acc)
	if masked {
		g.and(luT, luT, luMask)
	}
	g.bits("bit", luMost+acc, p, luT)
	g.bits("bit", luWhere+acc, luRow, luT)
	if acc == luAccs-1 {
		arr := g.arrangement()
		g.p("VADD V%d.%s, V%d.%s, V%d.%s", luStep, arr, luRow, arr, luRow, arr)
	}
}

// luScaleColumn writes the kernel that only scales a column.
func (g *generator) luScaleColumn() {
	g.function("luScale"+g.typ, "t *isa.LUColumn", "R0")
	g.fields("LU", "C R1", "K R5", "BLOCKS R6")
	g.p("ADD $%d, R0, R11", 8*5)
	g.duplicate(luScale, "R11", "")
	g.p("MOVD $%s+%d(SB), R10", g.local("lubelow"), luRegs*reg)
	g.p("SUB R5<<%d, R10", g.shift)
	g.luLoad(luX, "R1")
	for p := range luRegs {
		g.load(1, luMask, "R10", "16")
		g.vec("fmul", luT, luX+p, luScale)
		g.bits("bit", luX+p, luT, luMask)
	}
	g.p("B store")
	g.l("\nblock:")
	g.luLoad(luX, "R1")
	for p := range luRegs {
		g.by("fmul", luX+p, luX+p, luScale, 0)
	}
	g.l("\nstore:")
	g.luStore(luX, "R1")
	g.p("ADD $%d, R1", luRegs*reg)
	g.p("SUBS $1, R6")
	g.p("BNE block")
	g.ret()
}

// exchange writes the exchange of two pieces of memory, the bytes of which are a multiple of four:
//
//	R0, R1 the pieces    R2 what is to be fetched    R3 bytes left
func (g *generator) exchange() {
	g.elem = elems()[1]
	g.function("exchange", "x, y, next unsafe.Pointer, n int", "R0", "R1", "R2", "R3")
	g.turns("R3", g.size, func(n int, whole bool) {
		g.take(n, whole, false, 0, "R0")
		g.take(n, whole, false, 4, "R1")
		if whole {
			g.p("PRFM (R2), PLDL1KEEP")
			g.p("ADD $%d, R2", n*reg)
		}
		g.put(n, whole, 0, "R1")
		g.put(n, whole, 4, "R0")
	})
	g.ret()
}
