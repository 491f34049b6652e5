package kernels_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
)

// TestAbout: all ops are named and described once, in a short line, and no others are.
func TestAbout(t *testing.T) {
	var ops []string
	for _, op := range builtin.NewTable().F64.All() {
		ops = append(ops, op.Name)
		if text := kernels.About(op.Name); text == "" || utf8.RuneCountInString(text) > 60 {
			t.Errorf("%s: %q", op.Name, text)
		}
	}
	names := kernels.Names()
	if names[0] != "gemm" || !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(ops))) {
		t.Errorf("%v, want those of %v", names, ops)
	}
	if kernels.About("nothing") != "" {
		t.Error("an op that there is not is described")
	}
}
