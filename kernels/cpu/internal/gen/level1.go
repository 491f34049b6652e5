package main

import (
	"fmt"
	"math/bits"
)

// level1File returns the file of the kernels on single vectors.
func level1File(isa isa) *generator {
	g := newFile(isa)
	for _, g.elem = range elems() {
		if !g.avx512() { // a mask of the first lanes is a part of this table
			g.constants("lanes", 2*g.lanes(), func(i int) string { return ones(i < g.lanes()) })
		}
		g.dot()
		g.axpy()
		g.scal()
		g.rot()
		g.reflect()
		g.sumSquares()
		g.absolute("asum", "VADD")
		g.absolute("amax", "VMAX")
	}
	return g
}

// level1 begins a kernel: the vectors follow n, and then pointers to one element each.
//
//	CX n      SI, DI the vectors      DX, BX the elements
func (g *generator) level1(name string, vectors, elements []string) {
	t, params, registers := fmt.Sprintf("float%d", 8*g.size), "n int", []string{"CX"}
	for i, v := range vectors {
		params, registers = params+", "+v+" *"+t, append(registers, []string{"SI", "DI"}[i])
	}
	for i, e := range elements {
		params, registers = params+", "+e+" *"+t, append(registers, []string{"DX", "BX"}[i])
	}
	g.function(name+g.typ, params, registers...)
}

// unroll is how many vectors a turn of a kernel takes. Each has sums of its own, as an addition takes
// four cycles and two can begin in each.
const unroll = 4

// turns writes the loops over vectors of lanes elements, each of which is one of width bytes in
// memory. each writes what happens to one vector at an offset from SI and DI: the lanes of a mask or,
// if that is "", all. k tells the vectors of a turn apart.
func (g *generator) turns(lanes, width int, each func(k, at int, mask string)) {
	shift := bits.Len(uint(lanes)) - 1
	g.p("MOVQ CX, AX")
	g.p("SHRQ $%d, AX", shift+bits.Len(unroll)-1)
	g.p("JZ   single")
	g.l("\nturn:")
	for k := range unroll {
		each(k, k*width, "")
	}
	g.p("ADDQ $%d, SI", unroll*width)
	g.p("ADDQ $%d, DI", unroll*width)
	g.p("DECQ AX")
	g.p("JNZ  turn")
	g.l("\nsingle:")
	g.p("ANDQ $%d, CX", unroll*lanes-1)
	g.p("MOVQ CX, AX")
	g.p("SHRQ $%d, AX", shift)
	g.p("JZ   rest")
	g.l("\nvector:")
	each(0, 0, "")
	g.p("ADDQ $%d, SI", width)
	g.p("ADDQ $%d, DI", width)
	g.p("DECQ AX")
	g.p("JNZ  vector")
	g.l("\nrest:")
	g.p("ANDQ $%d, CX", lanes-1)
	g.p("JZ   done")
	mask := "K1"
	if g.avx512() {
		g.lowest("AX", mask)
	} else {
		mask = "Y15"
		if width < g.bytes {
			mask = "X15"
		}
		g.p("LEAQ %s+%d(SB), AX", g.local("lanes"), g.lanes()*g.size)
		g.p("NEGQ CX")
		g.p("%s (AX)(CX*%d), %s", g.op("VMOVU"), g.size, mask)
	}
	each(1, 0, mask)
	g.l("\ndone:")
}

// dot writes s = Σ x·y.
func (g *generator) dot() {
	const sum, x, y = 0, 4, 8
	g.level1("dot", []string{"x", "y"}, []string{"s"})
	g.zeroSums(sum)
	g.turns(g.lanes(), g.bytes, func(k, at int, mask string) {
		g.load(offset(at, "(SI)"), mask, g.v(x+k))
		if mask == "" {
			g.p("%s %s, %s, %s", g.op("VFMADD231"), offset(at, "(DI)"), g.v(x+k), g.v(sum+k))
			return
		}
		g.load(offset(at, "(DI)"), mask, g.v(y))
		g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(y), g.v(x+k), g.v(sum+k))
	})
	g.join("VADD", g.elem, sum)
	g.p("VMOV%s X%d, (DX)", g.scalar, sum)
	g.ret()
}

// axpy writes y += alpha·x.
func (g *generator) axpy() {
	const alpha, x, y = 0, 1, 5
	g.level1("axpy", []string{"x", "y"}, []string{"alpha"})
	g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(alpha))
	g.turns(g.lanes(), g.bytes, func(k, at int, mask string) {
		g.load(offset(at, "(DI)"), mask, g.v(y+k))
		if mask == "" {
			g.p("%s %s, %s, %s", g.op("VFMADD231"), offset(at, "(SI)"), g.v(alpha), g.v(y+k))
		} else {
			g.load(offset(at, "(SI)"), mask, g.v(x))
			g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(x), g.v(alpha), g.v(y+k))
		}
		g.store(g.v(y+k), mask, offset(at, "(DI)"))
	})
	g.ret()
}

// scal writes x = alpha·x.
func (g *generator) scal() {
	const alpha, x = 0, 1
	g.level1("scal", []string{"x"}, []string{"alpha"})
	g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(alpha))
	g.turns(g.lanes(), g.bytes, func(k, at int, mask string) {
		g.load(offset(at, "(SI)"), mask, g.v(x+k))
		g.p("%s %s, %s, %s", g.op("VMUL"), g.v(x+k), g.v(alpha), g.v(x+k))
		g.store(g.v(x+k), mask, offset(at, "(SI)"))
	})
	g.ret()
}

// rot writes x, y = c·x + s·y, c·y − s·x.
func (g *generator) rot() {
	const c, s, x, y = 0, 1, 2, 6
	g.level1("rot", []string{"x", "y"}, []string{"c", "s"})
	g.p("VBROADCAST%s (DX), %s", g.scalar, g.v(c))
	g.p("VBROADCAST%s (BX), %s", g.scalar, g.v(s))
	g.turns(g.lanes(), g.bytes, func(k, at int, mask string) {
		const sx, sy = 10, 11
		g.load(offset(at, "(SI)"), mask, g.v(x+k))
		g.load(offset(at, "(DI)"), mask, g.v(y+k))
		g.p("%s %s, %s, %s", g.op("VMUL"), g.v(x+k), g.v(s), g.v(sx))
		g.p("%s %s, %s, %s", g.op("VMUL"), g.v(y+k), g.v(s), g.v(sy))
		g.p("%s %s, %s, %s", g.op("VFMADD213"), g.v(sy), g.v(c), g.v(x+k))
		g.p("%s %s, %s, %s", g.op("VFMSUB213"), g.v(sx), g.v(c), g.v(y+k))
		g.store(g.v(x+k), mask, offset(at, "(SI)"))
		g.store(g.v(y+k), mask, offset(at, "(DI)"))
	})
	g.ret()
}

// reflect writes s = x + f₀·y + f₁·z and x, y, z −= f₂·s, f₃·s, f₄·s, where z is as far from SI as R8 says.
func (g *generator) reflect() {
	const f, x, y, z, s, step = 0, 5, 6, 7, 8, 4 // a turn takes two sets of vectors
	t := fmt.Sprintf("float%d", 8*g.size)
	g.function("reflect"+g.typ, "n int, x, y, z *"+t+", f *[5]"+t, "CX", "SI", "DI", "R8", "DX")
	g.p("SUBQ SI, R8")
	for i := range 5 {
		g.p("VBROADCAST%s %d(DX), %s", g.scalar, i*g.size, g.v(f+i))
	}
	g.turns(g.lanes(), g.bytes, func(k, at int, mask string) {
		set := k % 2 * step
		vectors := []int{x + set, y + set, z + set}
		places := []string{offset(at, "(SI)"), offset(at, "(DI)"), offset(at, "(SI)(R8*1)")}
		sum := g.v(s + set)
		for i, v := range vectors {
			g.load(places[i], mask, g.v(v))
		}
		g.p("%s %s, %s, %s", g.op("VMUL"), g.v(vectors[1]), g.v(f), sum)
		g.p("%s %s, %s, %s", g.op("VADD"), g.v(vectors[0]), sum, sum)
		g.p("%s %s, %s, %s", g.op("VFMADD231"), g.v(vectors[2]), g.v(f+1), sum)
		for i, v := range vectors {
			g.p("%s %s, %s, %s", g.op("VFNMADD231"), sum, g.v(f+2+i), g.v(v))
			g.store(g.v(v), mask, places[i])
		}
	})
	g.ret()
}

// sumSquares writes s = Σ x², in float64 for both types: squares of float32 neither overflow nor
// vanish there.
func (g *generator) sumSquares() {
	const sum, x = 0, 4
	elem := g.elem
	width := g.bytes * g.size / 8
	g.function("sumSquares"+g.typ, fmt.Sprintf("n int, x *float%d, s *float64", 8*g.size), "CX", "SI", "DX")
	g.zeroSums(sum)
	g.turns(g.bytes/8, width, func(k, at int, mask string) {
		from := offset(at, "(SI)")
		switch {
		case g.size == 8:
			g.load(from, mask, g.v(x+k))
		case mask == "":
			g.p("VCVTPS2PD %s, %s", from, g.v(x+k))
		case g.avx512():
			g.p("VCVTPS2PD.Z %s, %s, %s", from, mask, g.v(x+k))
		default:
			g.p("VMASKMOVPS %s, %s, X%d", from, mask, x+k)
			g.p("VCVTPS2PD X%d, %s", x+k, g.v(x+k))
		}
		g.p("VFMADD231PD %s, %s, %s", g.v(x+k), g.v(x+k), g.v(sum+k))
	})
	g.join("VADD", elems()[0], sum)
	g.p("VMOVSD X%d, (DX)", sum)
	g.elem = elem
	g.ret()
}

// absolute writes s = Σ |x| or max |x|, by the name of the instruction that joins two. The greatest
// magnitude leaves out NaN.
func (g *generator) absolute(name, join string) {
	const sum, x, magnitude = 0, 4, 8
	g.level1(name, []string{"x"}, []string{"s"})
	g.zeroSums(sum)
	and := g.magnitudes(magnitude)
	g.turns(g.lanes(), g.bytes, func(k, at int, mask string) {
		g.load(offset(at, "(SI)"), mask, g.v(x+k))
		g.p("%s %s, %s, %s", and, g.v(magnitude), g.v(x+k), g.v(x+k))
		g.p("%s %s, %s, %s", g.op(join), g.v(sum+k), g.v(x+k), g.v(sum+k))
	})
	g.join(join, g.elem, sum)
	g.p("VMOV%s X%d, (DX)", g.scalar, sum)
	g.ret()
}

// zeroSums clears the sums of a turn.
func (g *generator) zeroSums(sum int) {
	for k := range unroll {
		g.zero("VXORPD", sum+k)
	}
}

// join joins the sums of a turn, and their lanes, in the first lane of the first one. It overwrites
// vector sum+4.
func (g *generator) join(by string, e elem, sum int) {
	by += e.suffix
	for k := unroll / 2; k > 0; k /= 2 {
		for i := range k {
			g.p("%s %s, %s, %s", by, g.v(sum+i+k), g.v(sum+i), g.v(sum+i))
		}
	}
	other := sum + unroll
	if g.avx512() {
		g.p("VEXTRACTF64X4 $1, Z%d, Y%d", sum, other)
		g.p("%s Y%d, Y%d, Y%d", by, other, sum, sum)
	}
	g.p("VEXTRACTF128 $1, Y%d, X%d", sum, other)
	g.p("%s X%d, X%d, X%d", by, other, sum, sum)
	g.p("VUNPCKHPD X%d, X%d, X%d", sum, sum, other)
	g.p("%s X%d, X%d, X%d", by, other, sum, sum)
	if e.size == 4 {
		g.p("VMOVSHDUP X%d, X%d", sum, other)
		g.p("%s X%d, X%d, X%d", by, other, sum, sum)
	}
}

// magnitudes makes vector v ones but for the signs, and returns the instruction that makes magnitudes with it.
func (g *generator) magnitudes(v int) (and string) {
	shift, and := map[int]string{8: "VPSRLQ", 4: "VPSRLD"}[g.size], "VPAND"
	if g.avx512() {
		and = "VPANDQ"
		g.p("VPTERNLOGQ $255, %[1]s, %[1]s, %[1]s", g.v(v))
	} else {
		g.p("VPCMPEQD %[1]s, %[1]s, %[1]s", g.v(v))
	}
	g.p("%s $1, %s, %s", shift, g.v(v), g.v(v))
	return and
}
