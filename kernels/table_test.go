package kernels_test

import (
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// TestOps: a table has what it was made of, whatever becomes of the lists, and a type without ops has none.
func TestOps(t *testing.T) {
	a, b := &versions.Op{Name: "a"}, &versions.Op{Name: "b"}
	list := []*versions.Op{a, b}
	table := kernels.MakeTable(map[kernels.Type][]*versions.Op{scalar.Float64: list})
	list[0] = nil
	ops := kernels.For[float64](table)
	if all := ops.All(); !slices.Equal(all, []*versions.Op{a, b}) || ops.Op("a") != a || ops.Op("c") != nil {
		t.Errorf("ops %v", all)
	}
	for name, none := range map[string]kernels.Ops[float32]{"another type": kernels.For[float32](table), "zero": {}} {
		if none.All() != nil || none.Op("a") != nil {
			t.Errorf("%s: ops %v", name, none.All())
		}
	}
	defer func() {
		if p := recover(); p != kernels.ErrVersion {
			t.Errorf("two ops of one name: %v", p)
		}
	}()
	kernels.MakeTable(map[kernels.Type][]*versions.Op{scalar.Float64: {a, a}})
}
