package builtin

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Blocks are the sizes of the blocks of a product; zero fields are left to the
// version.
type Blocks = cpu.Blocks

// TableOptions configures a [Table]. The zero value is that of [NewTable]:
// blocks that follow from the sizes of the caches.
type TableOptions struct {
	AVX512, AVX2 TypeBlocks // of the version's products
}

// TypeBlocks are the blocks of a version for each element type.
type TypeBlocks struct{ F32, F64 Blocks }

// Validate returns an error, a *cpu.BlocksError, that lists all sizes out of
// range.
func (o TableOptions) Validate() error {
	var bad []string
	for _, v := range []struct {
		name   string
		blocks Blocks
	}{
		{"AVX512.F32", o.AVX512.F32}, {"AVX512.F64", o.AVX512.F64},
		{"AVX2.F32", o.AVX2.F32}, {"AVX2.F64", o.AVX2.F64},
	} {
		if err, ok := v.blocks.Validate().(*cpu.BlocksError); ok {
			for _, p := range err.Problems {
				bad = append(bad, v.name+"."+p)
			}
		}
	}
	if bad != nil {
		return &cpu.BlocksError{Problems: bad}
	}
	return nil
}

// NewTableWith is [NewTable] with options, or the error of their Validate.
func NewTableWith(opt TableOptions) (*kernels.Table, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	SetBLASThreads(1)
	return builtin(opt), nil
}

// blocksOf returns the blocks for T.
func blocksOf[T kernels.Element](b TypeBlocks) Blocks {
	if unsafe.Sizeof(*new(T)) == 4 {
		return b.F32
	}
	return b.F64
}
