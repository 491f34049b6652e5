package main

import (
	"bytes"
	"fmt"
	"strings"
)

// generator collects the assembly for one instruction set and element type, and the
// declarations of its functions in Go.
type generator struct {
	isa
	elem
	text         bytes.Buffer
	declarations bytes.Buffer
}

// isa is what differs between the instruction sets.
type isa struct {
	name  string // the package's, in upper case
	reg   string // prefix of the vector registers: Z or Y
	bytes int    // in a vector
	rows  int    // MR: of a tile
	vecs  int    // in a row of a tile

	// First registers of their kind: the tile's sums, the vectors of X, and
	// the broadcast elements of A with their number. After the loop over k
	// those of A and X are free, and follow each other from spare on.
	acc, b, a, as, spare, spares int
}

// elem is what differs between the element types.
type elem struct {
	typ    string // F64 or F32
	suffix string // of packed instructions
	scalar string // of scalar instructions
	size   int
}

func isas() []isa {
	return []isa{
		{name: "AVX512", reg: "Z", bytes: 64, rows: 8, vecs: 3, acc: 8, b: 0, a: 3, as: 5, spare: 0, spares: 8},
		{name: "AVX2", reg: "Y", bytes: 32, rows: 4, vecs: 3, acc: 0, b: 12, a: 15, as: 1, spare: 12, spares: 4},
	}
}

func elems() []elem {
	return []elem{{"F64", "PD", "SD", 8}, {"F32", "PS", "SS", 4}}
}

func (g *generator) avx512() bool { return g.bytes == 64 }
func (g *generator) lanes() int   { return g.bytes / g.size }
func (g *generator) stride() int  { return g.vecs * g.bytes } // of a row of X

// v returns the name of a vector register, x that of its scalar part.
func (g *generator) v(i int) string { return fmt.Sprintf("%s%d", g.reg, i) }
func (g *generator) x(i int) string { return fmt.Sprintf("X%d", i) }

// sum returns the register of the sums in row i and vector j.
func (g *generator) sum(i, j int) string { return g.v(g.acc + i*g.vecs + j) }

// p prints an instruction, l a line without indentation.
func (g *generator) p(format string, args ...any) { g.l("\t"+format, args...) }
func (g *generator) l(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

// op returns the name of a packed instruction on the element type, sop that
// of a scalar one.
func (g *generator) op(name string) string  { return name + g.suffix }
func (g *generator) sop(name string) string { return name + g.scalar }

func (g *generator) local(name string) string {
	return fmt.Sprintf("%s%s%s<>", name, g.name, g.typ)
}

// offsets defines the fields of a struct, in their order, under a prefix.
func (g *generator) offsets(prefix string, fields ...string) {
	for i, f := range fields {
		g.l("#define %s_%s %d(AX)", prefix, f, 8*i)
	}
}

// fields loads fields of a struct into registers, as in "LDC BX".
func (g *generator) fields(prefix string, loads ...string) {
	for _, load := range loads {
		field, register, _ := strings.Cut(load, " ")
		g.p("MOVQ %s_%s, %s", prefix, field, register)
	}
}

// function begins and declares the function of a name and parameters of eight bytes
// each, and loads these into registers, in their order.
func (g *generator) function(name, params string, registers ...string) {
	fmt.Fprintf(&g.declarations, "\n//go:noescape\nfunc %s(%s)\n", name, params)
	g.l("// func %s(%s)", name, params)
	g.l("TEXT ·%s(SB), NOSPLIT, $0-%d", name, 8*len(registers))
	for i, param := range strings.Split(params, ", ") {
		word, _, _ := strings.Cut(param, " ")
		g.p("MOVQ %s+%d(FP), %s", word, 8*i, registers[i])
	}
}

// entry writes the function that goes on with one of the kernels in a table, by a
// field of its argument; the first one has the number first.
func (g *generator) entry(name, params, table, field string, first int) {
	g.function(name, params, "AX")
	g.p("MOVQ %s, CX", field)
	g.p("LEAQ %s(SB), DX", table)
	g.p("MOVQ %s, DX", offset(-8*first, "(DX)(CX*8)"))
	g.p("JMP  DX")
	g.l("")
}

// load loads a vector: the lanes of a mask, a K register or for AVX2 a vector, or
// all of them if that is "". store stores one.
func (g *generator) load(from, mask, vector string) {
	switch {
	case mask == "":
		g.p("%s %s, %s", g.op("VMOVU"), from, vector)
	case g.avx512():
		g.p("%s.Z %s, %s, %s", g.op("VMOVU"), from, mask, vector)
	default:
		g.p("%s %s, %s, %s", g.op("VMASKMOV"), from, mask, vector)
	}
}

func (g *generator) store(vector, mask, to string) {
	switch {
	case mask == "":
		g.p("%s %s, %s", g.op("VMOVU"), vector, to)
	case g.avx512():
		g.p("%s %s, %s, %s", g.op("VMOVU"), vector, mask, to)
	default:
		g.p("%s %s, %s, %s", g.op("VMASKMOV"), vector, mask, to)
	}
}

// lowest makes the mask of as many lanes as CX says, by way of a register.
func (g *generator) lowest(by, mask string) {
	g.p("MOVQ $1, %s", by)
	g.p("SHLQ CX, %s", by)
	g.p("DECQ %s", by)
	g.p("KMOVW %s, %s", by, mask)
}

// zero clears vector v: for AVX2 by xor, which is an instruction of the kind of
// those around it.
func (g *generator) zero(xor string, v int) {
	if g.avx512() {
		xor = "VPXORQ"
	}
	g.p("%s %s, %s, %s", xor, g.v(v), g.v(v), g.v(v))
}

// ret ends a function.
func (g *generator) ret() {
	g.p("VZEROUPPER")
	g.p("RET")
	g.l("")
}

// newFile returns the beginning of a file.
func newFile(isa isa) *generator {
	g := &generator{isa: isa}
	g.l("// Code generated by gen; DO NOT EDIT.\n")
	g.l("//go:build !noasm\n")
	g.l("#include \"textflag.h\"\n")
	return g
}

// constants writes a table of n integers of the size of an element.
func (g *generator) constants(name string, n int, value func(i int) string) {
	name = g.local(name)
	for i := range n {
		g.l("DATA %s+%d(SB)/%d, $%s", name, i*g.size, g.size, value(i))
	}
	g.l("GLOBL %s(SB), RODATA|NOPTR, $%d\n", name, n*g.size)
}

// ones returns a lane of a mask.
func ones(set bool) string {
	if set {
		return "-1"
	}
	return "0"
}

// lower returns the element type in lower case.
func (g *generator) lower() string { return strings.ToLower(g.typ) }

// offset adds n to an address.
func offset(n int, at string) string {
	if n == 0 {
		return at
	}
	return fmt.Sprintf("%d%s", n, at)
}
