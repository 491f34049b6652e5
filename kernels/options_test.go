package kernels_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
)

func TestTableOptions(t *testing.T) {
	bad := kernels.TableOptions{
		AVX512: kernels.TypeBlocks{F64: kernels.Blocks{MC: -1, KC: 1 << 20}},
		AVX2:   kernels.TypeBlocks{F32: kernels.Blocks{NC: -8}},
	}
	table, err := kernels.NewTableWith(bad)
	if e := new(cpu.BlocksError); table != nil || !errors.As(err, &e) || len(e.Problems) != 3 {
		t.Errorf("%v, %v", table, err)
	}
	good := kernels.TableOptions{AVX512: kernels.TypeBlocks{F64: kernels.Blocks{KC: 64}}}
	if table, err = kernels.NewTableWith(good); err != nil {
		t.Fatal(err)
	}
	plain := kernels.NewTable()
	for i, op := range table.All() {
		if want := plain.All()[i]; op.OpName() != want.OpName() || len(op.Versions) != len(want.Versions) {
			t.Errorf("%s has %d versions, want %d", op.OpName(), len(op.Versions), len(want.Versions))
		}
	}
}
