package loopapps

import (
	"github.com/tessera-la/tessera/exec/loop"
)

// vector returns the reduction that adds vectors of k elements.
func vector(k int) loop.Reduction[[]float64] {
	return loop.Reduction[[]float64]{
		New: func() []float64 { return make([]float64, k) },
		Add: func(sum, part *[]float64) {
			for i, v := range *part {
				(*sum)[i] += v
			}
		},
	}
}

// block is the largest number of rows that the kernel gets at a time: that much of X is still in
// a cache when Xᵀy reads it again.
const block = 256
