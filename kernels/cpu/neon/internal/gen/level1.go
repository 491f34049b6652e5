package main

import "fmt"

// level1File returns the file of the kernels on single vectors.
func level1File() *generator {
	g := newFile()
	for _, g.elem = range elems() {
		g.dot()
		g.axpy()
		g.scal()
		g.rot()
		g.sumSquares()
		g.asum()
		g.amax()
	}
	return g
}

// level1 begins a kernel: the vectors follow n, and then pointers to one element each.
//
//	R0 n      R1, R2 the vectors      R3, R4 the elements
func (g *generator) level1(name string, vectors, elements []string) {
	params, registers := "n int", []string{"R0"}
	for i, v := range vectors {
		params, registers = params+", "+v+" *"+g.float(), append(registers, []string{"R1", "R2"}[i])
	}
	for i, e := range elements {
		params, registers = params+", "+e+" *"+g.float(), append(registers, []string{"R3", "R4"}[i])
	}
	g.function(name+g.typ, params, registers...)
}

// dot writes s = Σ x·y.
func (g *generator) dot() {
	const sum, x, y = 0, 4, 8
	g.level1("dot", []string{"x", "y"}, []string{"s"})
	g.zeroSums(sum)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, true, x, "R1")
		g.take(n, whole, true, y, "R2")
		for k := range n {
			g.vec("fmla", sum+k, x+k, y+k)
		}
	})
	g.join("fadd", sum, "R3")
}

// axpy writes y += alpha·x.
func (g *generator) axpy() {
	const alpha, x, y = 0, 4, 8
	g.level1("axpy", []string{"x", "y"}, []string{"alpha"})
	g.p("%s (R3), F%d", g.sop("FMOV"), alpha)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, true, x, "R1")
		g.take(n, whole, false, y, "R2")
		for k := range n {
			g.by("fmla", y+k, x+k, alpha, 0)
		}
		g.put(n, whole, y, "R2")
	})
	g.ret()
}

// scal writes x = alpha·x.
func (g *generator) scal() {
	const alpha, x = 0, 4
	g.level1("scal", []string{"x"}, []string{"alpha"})
	g.p("%s (R3), F%d", g.sop("FMOV"), alpha)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, false, x, "R1")
		for k := range n {
			g.by("fmul", x+k, x+k, alpha, 0)
		}
		g.put(n, whole, x, "R1")
	})
	g.ret()
}

// rot writes x, y = c·x + s·y, c·y − s·x.
func (g *generator) rot() {
	const c, s, less, x, y, sx, sy = 0, 1, 2, 4, 8, 12, 16
	g.level1("rot", []string{"x", "y"}, []string{"c", "s"})
	g.p("%s (R3), F%d", g.sop("FMOV"), c)
	g.p("%s (R4), F%d", g.sop("FMOV"), s)
	g.p("%s F%d, F%d", g.sop("FNEG"), s, less)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, false, x, "R1")
		g.take(n, whole, false, y, "R2")
		for k := range n {
			g.by("fmul", sx+k, x+k, less, 0)
			g.by("fmul", sy+k, y+k, s, 0)
		}
		for k := range n {
			g.by("fmla", sy+k, x+k, c, 0)
			g.by("fmla", sx+k, y+k, c, 0)
		}
		g.put(n, whole, sy, "R1")
		g.put(n, whole, sx, "R2")
	})
	g.ret()
}

// sumSquares writes s = Σ x², in float64 for both types: squares of float32 neither overflow nor
// vanish there.
func (g *generator) sumSquares() {
	const sum, x, tmp = 0, 4, 8
	single := g.size == 4
	g.function("sumSquares"+g.typ, fmt.Sprintf("n int, x *%s, s *float64", g.float()), "R0", "R1", "R3")
	g.zeroSums(sum)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, true, x, "R1")
		elem := g.elem
		defer func() { g.elem = elem }()
		g.elem = elems()[0]
		for k := range n {
			if !single {
				g.vec("fmla", sum+k, x+k, x+k)
				continue
			}
			g.widen(false, tmp+2*k, x+k)
			g.widen(true, tmp+2*k+1, x+k)
			for upper := range 2 {
				g.vec("fmla", sum+(2*k+upper)%unroll, tmp+2*k+upper, tmp+2*k+upper)
			}
		}
	})
	elem := g.elem
	g.elem = elems()[0]
	g.join("fadd", sum, "R3")
	g.elem = elem
}

// asum writes s = Σ |x|.
func (g *generator) asum() {
	const sum, x = 0, 4
	g.level1("asum", []string{"x"}, []string{"s"})
	g.zeroSums(sum)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, true, x, "R1")
		for k := range n {
			g.one("fabs", x+k, x+k)
			g.vec("fadd", sum+k, sum+k, x+k)
		}
	})
	g.join("fadd", sum, "R3")
}

// amax writes s = max |x|. It leaves out NaN, which no comparison finds greater.
func (g *generator) amax() {
	const top, x, greater = 0, 4, 8
	g.level1("amax", []string{"x"}, []string{"s"})
	g.zeroSums(top)
	g.turns("R0", 1, func(n int, whole bool) {
		g.take(n, whole, true, x, "R1")
		for k := range n {
			g.vec("facgt", greater+k, x+k, top+k)
			g.bits("bit", top+k, x+k, greater+k)
		}
	})
	for k := range unroll {
		g.one("fabs", top+k, top+k)
	}
	g.join("fmax", top, "R3")
}

// zeroSums clears the sums of a turn.
func (g *generator) zeroSums(sum int) {
	for k := range unroll {
		g.zero(sum + k)
	}
}

// join joins the sums of a turn and their elements, stores the element that remains at the pointer, and
// ends the function.
func (g *generator) join(by string, sum int, pointer string) {
	for k := unroll / 2; k > 0; k /= 2 {
		for i := range k {
			g.vec(by, sum+i, sum+i, sum+i+k)
		}
	}
	for n := g.per(); n > 1; n /= 2 {
		g.vec(by+"p", sum, sum, sum)
	}
	g.p("%s F%d, (%s)", g.sop("FMOV"), sum, pointer)
	g.ret()
}
