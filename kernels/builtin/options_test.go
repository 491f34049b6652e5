package builtin_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/kernels/cpu"
)

func TestTableOptions(t *testing.T) {
	bad := builtin.TableOptions{
		AVX512: builtin.TypeBlocks{F64: builtin.Blocks{MC: -1, KC: 1 << 20}},
		AVX2:   builtin.TypeBlocks{F32: builtin.Blocks{NC: -8}},
	}
	table, err := builtin.NewTableWith(bad)
	if e := new(cpu.BlocksError); table != nil || !errors.As(err, &e) || len(e.Problems) != 3 {
		t.Errorf("%v, %v", table, err)
	}
	good := builtin.TableOptions{AVX512: builtin.TypeBlocks{F64: builtin.Blocks{KC: 64}}}
	if table, err = builtin.NewTableWith(good); err != nil {
		t.Fatal(err)
	}
	plain := builtin.NewTable()
	for i, op := range table.All() {
		if want := plain.All()[i]; op.OpName() != want.OpName() || len(op.Versions) != len(want.Versions) {
			t.Errorf("%s has %d versions, want %d", op.OpName(), len(op.Versions), len(want.Versions))
		}
	}
}
