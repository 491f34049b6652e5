package isa

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// The assembly finds the fields of Tiles where Go has put them.
func TestOffsets(t *testing.T) {
	var x Tiles[float64]
	var y Tiles[float32]
	if a, b := unsafe.Offsetof(x.Alpha), unsafe.Offsetof(y.Alpha); a != b {
		t.Errorf("Alpha is at %d in float64, %d in float32", a, b)
	}
	for file, pointer := range map[string]string{"../avx2/gemm_amd64.s": "AX", "../avx512/gemm_amd64.s": "AX", "../neon/gemm_arm64.s": "R0"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, offset := range map[string]uintptr{
			"A": unsafe.Offsetof(x.A), "RS": unsafe.Offsetof(x.RS), "CS": unsafe.Offsetof(x.CS), "PS": unsafe.Offsetof(x.PS),
			"B": unsafe.Offsetof(x.B), "LDB": unsafe.Offsetof(x.LDB), "C": unsafe.Offsetof(x.C), "LDC": unsafe.Offsetof(x.LDC),
			"K": unsafe.Offsetof(x.K), "PANELS": unsafe.Offsetof(x.Panels), "KIND": unsafe.Offsetof(x.Kind), "MODE": unsafe.Offsetof(x.Mode),
			"NEXT": unsafe.Offsetof(x.Next), "LANES": unsafe.Offsetof(x.Next) + 8, "LAST": unsafe.Offsetof(x.Last), "ALPHA": unsafe.Offsetof(x.Alpha),
		} {
			if pointer == "R0" && (name == "NEXT" || name == "LANES") {
				continue
			}
			if line := fmt.Sprintf("#define ARG_%s %d(%s)\n", name, offset, pointer); !strings.Contains(string(src), line) {
				t.Errorf("%s lacks %q", file, line)
			}
		}
		if pointer == "R0" {
			for _, v := range []string{
				fmt.Sprintf("ADD $%d, R0", unsafe.Offsetof(x.Masks)),
				fmt.Sprintf("FMOVD %d(R0)", unsafe.Offsetof(x.Beta)),
				fmt.Sprintf("FMOVS %d(R0)", unsafe.Offsetof(y.Beta)),
			} {
				if !strings.Contains(string(src), v) {
					t.Errorf("%s lacks %q", file, v)
				}
			}
			continue
		}
		for _, v := range []string{
			fmt.Sprintf("%d(AX)", unsafe.Offsetof(x.Masks)),
			fmt.Sprintf("BROADCASTSD %d(AX)", unsafe.Offsetof(x.Beta)),
			fmt.Sprintf("BROADCASTSS %d(AX)", unsafe.Offsetof(y.Beta)),
		} {
			if !strings.Contains(string(src), v) {
				t.Errorf("%s lacks %q", file, v)
			}
		}
	}
}
