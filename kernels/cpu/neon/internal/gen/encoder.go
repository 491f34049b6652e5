package main

import "fmt"

// opcodes are the instructions on vectors that Go's assembler lacks, on four floats or, with bit
// 22 set, two doubles, of registers 0. "Arm Architecture Reference Manual for A-profile", C7.
var opcodes = map[string]uint32{
	"fmla": 0x4E20CC00, "fmls": 0x4EA0CC00, "fadd": 0x4E20D400, "fsub": 0x4EA0D400, "fmul": 0x6E20DC00,
	"fdiv": 0x6E20FC00, "fmax": 0x4E20F400, "faddp": 0x6E20D400, "fmaxp": 0x6E20F400, "fcmgt": 0x6EA0E400, "facgt": 0x6EA0EC00,
	"smax": 0x4EA06400, "cmgt": 0x4EA03400,
}

// byElement are those of which the last operand is an element.
var byElement = map[string]uint32{"fmla": 0x4F801000, "fmls": 0x4F805000, "fmul": 0x4F809000}

// single are those with one operand.
var single = map[string]uint32{"fabs": 0x4EA0F800, "fsqrt": 0x6EA1F800}

// bitwise are those on bits.
var bitwise = map[string]uint32{"bit": 0x6EA01C00, "bif": 0x6EE01C00, "bsl": 0x6E601C00}

// double is the bit of instructions on doubles.
const double = 1 << 22

// word prints an instruction.
func (g *generator) word(w uint32, format string, args ...any) {
	g.p("WORD $0x%08x // %s", w, fmt.Sprintf(format, args...))
}

// wide returns an opcode for the element type.
func (g *generator) wide(code uint32) uint32 {
	if g.size == 8 {
		return code | double
	}
	return code
}

// opcode returns the entry of a table.
func opcode(table map[string]uint32, name string) uint32 {
	code, ok := table[name]
	if !ok {
		panic("no instruction " + name)
	}
	return code
}

// vec prints d = n op m, or d = d ± n·m, on all elements of registers.
func (g *generator) vec(name string, d, n, m int) {
	g.word(g.wide(opcode(opcodes, name))|uint32(m)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s, v%d.%s", name, d, g.arr, n, g.arr, m, g.arr)
}

// by prints d = n op m[e], or d = d ± n·m[e].
func (g *generator) by(name string, d, n, m, e int) {
	w := g.wide(opcode(byElement, name)) | uint32(m)<<16 | uint32(n)<<5 | uint32(d)
	if g.size == 8 {
		w |= uint32(e) << 11
	} else {
		w |= uint32(e>>1)<<11 | uint32(e&1)<<21
	}
	g.word(w, "%s v%d.%s, v%d.%s, v%d.%s[%d]", name, d, g.arr, n, g.arr, m, g.arr[1:], e)
}

// one prints d = op n.
func (g *generator) one(name string, d, n int) {
	g.word(g.wide(opcode(single, name))|uint32(n)<<5|uint32(d), "%s v%d.%s, v%d.%s", name, d, g.arr, n, g.arr)
}

// bits prints d = op(d, n, m) on bits.
func (g *generator) bits(name string, d, n, m int) {
	g.word(opcode(bitwise, name)|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s v%d.16b, v%d.16b, v%d.16b", name, d, n, m)
}

// widen prints the conversion of the lower or upper two floats of n to doubles.
func (g *generator) widen(upper bool, d, n int) {
	if upper {
		g.word(0x4E617800|uint32(n)<<5|uint32(d), "fcvtl2 v%d.2d, v%d.4s", d, n)
	} else {
		g.word(0x0E617800|uint32(n)<<5|uint32(d), "fcvtl v%d.2d, v%d.2s", d, n)
	}
}
