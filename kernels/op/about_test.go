package op_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// TestAbout: all ops are named and described once, in a short line, and no others are.
func TestAbout(t *testing.T) {
	var ops []string
	for _, o := range kernels.For[float64](op.NewTable()).All() {
		ops = append(ops, o.Name)
		if text := op.About(o.Name); text == "" || utf8.RuneCountInString(text) > 60 {
			t.Errorf("%s: %q", o.Name, text)
		}
	}
	names := op.Names()
	if names[0] != "gemm" || !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(ops))) {
		t.Errorf("%v, want those of %v", names, ops)
	}
	if op.About("nothing") != "" {
		t.Error("an op that there is not is described")
	}
}
