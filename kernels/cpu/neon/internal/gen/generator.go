package main

import (
	"bytes"
	"fmt"
	"strings"
)

// generator collects the assembly, and the declarations of its functions in Go.
type generator struct {
	elem
	text         bytes.Buffer
	declarations bytes.Buffer
	labels       int // that partial has made
}

// elem is what differs between the element types.
type elem struct {
	typ   string // F64 or F32
	size  int    // bytes
	shift int    // log2 of size
	arr   string // arrangement of a register as the manual has it, 2d or 4s
}

func elems() []elem { return []elem{{"F64", 8, 3, "2d"}, {"F32", 4, 2, "4s"}} }

// What a tile consists of: vectors are pairs of registers.
const (
	reg   = 16 // bytes
	pair  = 2  // registers in a vector
	vec   = pair * reg
	vecs  = 3 // in a row of a tile
	width = pair * vecs
	rows  = 4 // MR: of a tile
)

// In the kernels of gemm and of triangles, the registers of A and of B, or X, come first, and the
// sums of a tile follow, row by row.
const (
	regA = 0
	regB = 4
	acc  = 8
)

// per is the number of elements in a register, lanes that in a vector.
func (g *generator) per() int    { return reg / g.size }
func (g *generator) lanes() int  { return vec / g.size }
func (g *generator) stride() int { return vecs * vec } // of a row of X

// sum returns the register of the sums in row i and register q of a row of v vectors.
func sum(i, q int) int { return acc + i*width + q }

// p prints an instruction, l a line without indentation.
func (g *generator) p(format string, args ...any) { g.l("\t"+format, args...) }
func (g *generator) l(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

// list returns n registers from r on, as loads and stores have them.
func list(r, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("V%d.B16", r+i))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// load loads n registers, at most 4, from r on, from where the pointer points to. It moves the
// pointer: by a number of bytes, which must be n registers, by a register, or not at all, for "".
func (g *generator) load(n, r int, pointer, by string) {
	switch {
	case by == "":
		g.p("VLD1 (%s), %s", pointer, list(r, n))
	case by[0] == 'R':
		g.p("VLD1.P (%s)(%s), %s", pointer, by, list(r, n))
	default:
		g.p("VLD1.P %s(%s), %s", by, pointer, list(r, n))
	}
}

func (g *generator) store(n, r int, pointer, by string) {
	switch {
	case by == "":
		g.p("VST1 %s, (%s)", list(r, n), pointer)
	case by[0] == 'R':
		g.p("VST1.P %s, (%s)(%s)", list(r, n), pointer, by)
	default:
		g.p("VST1.P %s, %s(%s)", list(r, n), by, pointer)
	}
}

// partial loads a vector of which only R14 lanes are there, fewer than it has, into registers r and
// r+1. R15 and R19 are lost.
func (g *generator) partial(r int, at string) {
	g.zero(r + 1)
	g.part(r, at, func(r int, at string) { g.p("FMOVQ (%s), F%d", at, r) }, func(size, r int, at string, lane int) {
		name := map[int]string{8: "FMOVD", 4: "FMOVS"}[size]
		if lane > 0 {
			g.p("VLD1 (%s), V%d.S[%d]", at, r, lane)
		} else {
			g.p("%s (%s), F%d", name, at, r)
		}
	})
}

// partialStore stores what partial loads.
func (g *generator) partialStore(r int, at string) {
	g.part(r, at, func(r int, at string) { g.p("FMOVQ F%d, (%s)", r, at) }, func(size, r int, at string, lane int) {
		name := map[int]string{8: "FMOVD", 4: "FMOVS"}[size]
		if lane > 0 {
			g.p("VST1 V%d.S[%d], (%s)", r, lane, at)
		} else {
			g.p("%s F%d, (%s)", name, r, at)
		}
	})
}

// part moves R14 lanes of the vector in r and r+1: a whole register by quad, and what is left by few,
// which moves some bytes from a lane on.
func (g *generator) part(r int, at string, quad func(r int, at string), few func(size, r int, at string, lane int)) {
	g.labels++
	n := g.labels
	rest := func(r int, at, count, label string) {
		if g.size == 8 {
			few(8, r, at, 0)
			return
		}
		g.p("CMP $2, %s", count)
		g.p("BLT %s%d", label, n)
		few(8, r, at, 0)
		g.p("BEQ moved%d", n)
		g.p("ADD $8, %s, R15", at)
		few(4, r, "R15", 2)
		g.p("B moved%d", n)
		g.l("\n%s%d:", label, n)
		few(4, r, at, 0)
	}
	g.p("CMP $%d, R14", g.per())
	g.p("BLT first%d", n)
	quad(r, at)
	g.p("BEQ moved%d", n)
	g.p("ADD $%d, %s, R15", reg, at)
	g.p("SUB $%d, R14, R19", g.per())
	rest(r+1, "R15", "R19", "one")
	g.p("B moved%d", n)
	g.l("\nfirst%d:", n)
	rest(r, at, "R14", "only")
	g.l("\nmoved%d:", n)
}

// unroll is how many registers a turn of a kernel takes. Each has sums of its own.
const unroll = 4

// turns writes the loops over elements, whose number, times unit, is in register left: over unroll registers,
// over one, and over one element. each writes what happens to n whole registers, or to the first element
// of one that is zero beyond it.
func (g *generator) turns(left string, unit int, each func(n int, whole bool)) {
	over := 0
	for _, step := range []struct {
		n, elements int
		whole       bool
	}{{unroll, unroll * g.per(), true}, {1, g.per(), true}, {1, 1, false}} {
		units := step.elements * unit
		g.p("ADDS $%d, %s", over-units, left)
		g.p("BLT rest%d", step.elements)
		g.l("\nloop%d:", step.elements)
		each(step.n, step.whole)
		g.p("SUBS $%d, %s", units, left)
		g.p("BGE loop%d", step.elements)
		g.l("\nrest%d:", step.elements)
		over = units
	}
}

// take loads what a turn is for, and moves the pointer if put is not to store it.
func (g *generator) take(n int, whole, move bool, r int, pointer string) {
	switch {
	case whole && move:
		g.load(n, r, pointer, fmt.Sprint(n*reg))
	case whole:
		g.load(n, r, pointer, "")
	case move:
		g.p("%s.P %d(%s), F%d", g.sop("FMOV"), g.size, pointer, r)
	default:
		g.p("%s (%s), F%d", g.sop("FMOV"), pointer, r)
	}
}

// put stores it, and moves the pointer.
func (g *generator) put(n int, whole bool, r int, pointer string) {
	if whole {
		g.store(n, r, pointer, fmt.Sprint(n*reg))
	} else {
		g.p("%s.P F%d, %d(%s)", g.sop("FMOV"), r, g.size, pointer)
	}
}

// zero clears register r.
func (g *generator) zero(r int) { g.p("VEOR V%d.B16, V%d.B16, V%d.B16", r, r, r) }

// duplicate fills register r with the element at the pointer, which moves by what register by
// holds, or not at all, for "".
func (g *generator) duplicate(r int, pointer, by string) {
	arr := map[int]string{8: "D2", 4: "S4"}[g.size]
	if by == "" {
		g.p("VLD1R (%s), [V%d.%s]", pointer, r, arr)
		return
	}
	g.p("VLD1R.P (%s)(%s), [V%d.%s]", pointer, by, r, arr)
}

// local returns the name of a symbol of the file.
func (g *generator) local(name string) string { return name + g.typ + "<>" }

// float is the element type in Go.
func (g *generator) float() string { return fmt.Sprintf("float%d", 8*g.size) }

// sop returns the name of a scalar instruction.
func (g *generator) sop(name string) string { return name + map[int]string{8: "D", 4: "S"}[g.size] }

// offsets defines the fields of a struct at R0, in their order, under a prefix.
func (g *generator) offsets(prefix string, fields ...string) {
	for i, f := range fields {
		g.l("#define %s_%s %d(R0)", prefix, f, 8*i)
	}
}

// fields loads fields of a struct into registers, as in "LDC R6".
func (g *generator) fields(prefix string, loads ...string) {
	for _, load := range loads {
		field, register, _ := strings.Cut(load, " ")
		g.p("MOVD %s_%s, %s", prefix, field, register)
	}
}

// function begins and declares the function of a name and parameters of eight bytes each, and
// loads these into registers, in their order.
func (g *generator) function(name, params string, registers ...string) {
	g.framed(name, params, 0, registers...)
}

// framed is function with room on the stack.
func (g *generator) framed(name, params string, frame int, registers ...string) {
	fmt.Fprintf(&g.declarations, "\n//go:noescape\nfunc %s(%s)\n", name, params)
	g.l("// func %s(%s)", name, params)
	g.l("TEXT ·%s(SB), NOSPLIT, $%d-%d", name, frame, 8*len(registers))
	for i, param := range strings.Split(params, ", ") {
		word, _, _ := strings.Cut(param, " ")
		g.p("MOVD %s+%d(FP), %s", word, 8*i, registers[i])
	}
}

// ret ends a function.
func (g *generator) ret() {
	g.p("RET")
	g.l("")
}

// newFile returns the beginning of a file.
func newFile() *generator {
	g := new(generator)
	g.l("// Code generated by gen; DO NOT EDIT.\n")
	g.l("//go:build !noasm\n")
	g.l("#include \"textflag.h\"\n")
	return g
}
