package neon_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// loop is what an innermost loop of a kernel has, by its disassembly.
type loop struct {
	instructions int
	vector       int // on vectors
	fma          int // of these multiply-adds
	sums         int // that they go to
	loads        int // registers of 128 bits, or less
	broadcasts   int // loads that fill a register with one element
	stack        int // that use the stack
}

// core is a processor with what it can do in a cycle.
type core struct {
	name                    string
	vector, load, width, op int // instructions, registers, instructions or operations; 1 if it counts operations
}

var cores = []core{
	// Arm, "Neoverse N1 Software Optimization Guide" (PJDOC-466751330-9707): pipelines V0 and V1, L0 and L1, four
	// instructions decoded. LD1 of four registers takes four turns of a load pipeline.
	{"Neoverse N1", 2, 2, 4, 0},
	// Dougall Johnson, "Firestorm", https://dougallj.github.io/applecpu/firestorm.html: units 11 to 14, units 8 to 10,
	// eight operations. A load of n registers is n of them, and one more to move the pointer.
	{"Firestorm", 4, 3, 8, 1},
}

// pairs is the number of registers that a step of the widest tile loads, of A and B, where they are packed.
const pairs = 8

// latency is that of a multiply-add, on both.
const latency = 4

// fraction returns the part of the peak of c's multiply-adds that l comes to, if all of it is in the first-level cache
// and the processor looks far enough ahead: the units that it needs most bound it, or its sums, each of which waits for
// itself.
func (l *loop) fraction(c core) float64 {
	ops := l.instructions
	if c.op == 1 {
		ops += l.loads
	}
	cycles := max(float64(l.fma+l.broadcasts)/float64(c.vector), float64(l.loads)/float64(c.load), float64(ops)/float64(c.width),
		float64(latency*l.fma)/float64(l.sums))
	return float64(l.fma) / float64(c.vector) / cycles
}

// TestLoops disassembles the micro-kernels of gemm and holds their innermost loops to what docs/arm64.md says.
func TestLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program for arm64; make test-long runs it")
	}
	const objdump = "aarch64-linux-gnu-objdump"
	if _, err := exec.LookPath(objdump); err != nil {
		t.Skipf("left out: no %s; get it with: make deps", objdump)
	}
	program := filepath.Join(t.TempDir(), "count")
	build := exec.Command("go", "build", "-o", program, "./testdata/count")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := exec.Command(objdump, "-d", "--no-show-raw-insn", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/arm64.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, function := range strings.Split(string(text), "\n\n") {
		name := regexp.MustCompile(`^[0-9a-f]+ <(?:.*\.)?gemm4x([123])(F64|F32)(?:\.abi0)?>:`).FindStringSubmatch(function)
		if name == nil {
			continue
		}
		for _, l := range loops(function) {
			if l.stack > 0 {
				t.Errorf("%s: %d instructions of a loop use the stack", name[0], l.stack)
			}
			if l.fma == 0 {
				continue
			}
			share := float64(l.fma) / float64(l.vector)
			if l.fma == l.sums && l.loads > pairs { // what is left of rows that are read in place
				continue
			}
			if loads := float64(l.loads) / float64(l.fma); name[1] == "3" && (share < 0.85 || loads > 1.0/3) {
				t.Errorf("%s: %.3f of the vector instructions are multiply-adds, with %.3f registers loaded for each", name[0], share, loads)
			}
			if l.fma == l.sums { // of a single step
				continue
			}
			seen++
			row := fmt.Sprintf("| %s, 4×%s | %d | %d | %.1f %% | %.2f | %.0f %% | %.0f %% |", map[string]string{"F64": "float64", "F32": "float32"}[name[2]],
				name[1], l.instructions, l.fma, 100*share, float64(l.loads)/float64(l.fma), 100*l.fraction(cores[0]), 100*l.fraction(cores[1]))
			if !strings.Contains(string(page), row) {
				t.Errorf("docs/arm64.md lacks the row\n%s", row)
			}
		}
	}
	if seen < 6 {
		t.Errorf("found %d loops of six kernels", seen)
	}
}

// loops returns the innermost loops of a function, as objdump prints it.
func loops(function string) (all []*loop) {
	type instruction struct {
		at       uint64
		op, args string
	}
	var code []instruction
	place := map[uint64]int{}
	for _, m := range regexp.MustCompile(`(?m)^ *([0-9a-f]+):\t(\S+)(?:\t(.*))?$`).FindAllStringSubmatch(function, -1) {
		at, _ := strconv.ParseUint(m[1], 16, 64)
		place[at] = len(code)
		code = append(code, instruction{at, m[2], m[3]})
	}
	end := map[int]int{} // of the shortest loop that begins somewhere
	for i, in := range code {
		if !strings.HasPrefix(in.op, "b.") && in.op != "cbnz" && in.op != "cbz" {
			continue
		}
		m := regexp.MustCompile(`([0-9a-f]+) <`).FindStringSubmatch(in.args)
		if m == nil {
			continue
		}
		to, _ := strconv.ParseUint(m[1], 16, 64)
		if first, ok := place[to]; ok && first <= i && end[first] == 0 {
			end[first] = i
		}
	}
	for _, first := range slices.Sorted(maps.Keys(end)) {
		inner := true
		for other, last := range end {
			if other != first && other >= first && last <= end[first] {
				inner = false
			}
		}
		if !inner {
			continue
		}
		l := &loop{}
		sums := map[string]bool{}
		for _, in := range code[first : end[first]+1] {
			l.instructions++
			if strings.Contains(in.args, "sp") {
				l.stack++
			}
			registers := regexp.MustCompile(`\b[vqds]\d{1,2}\b`).FindAllString(in.args, -1)
			if len(registers) == 0 {
				continue
			}
			l.vector++
			switch {
			case in.op == "fmla":
				l.fma++
				sums[registers[0]] = true
			case in.op == "ld1" || in.op == "ld1r" || in.op == "ldr":
				n := len(registers)
				if m := regexp.MustCompile(`\{v(\d+)\.\w+-v(\d+)\.`).FindStringSubmatch(in.args); m != nil {
					from, _ := strconv.Atoi(m[1])
					to, _ := strconv.Atoi(m[2])
					n = to - from + 1
				}
				l.loads += n
				if in.op == "ld1r" {
					l.broadcasts++
				}
			}
		}
		l.sums = len(sums)
		all = append(all, l)
	}
	return all
}
