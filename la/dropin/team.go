package dropin

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/la"
)

// smallCondensed is the cube of the largest order of reductions to condensed form, and of what follows them, left to gonum by
// default. Below it the signs of vectors, where they are not defined, are those of gonum.
const smallCondensed = 64 * 64 * 64

// newTeam returns the crew of a call, as many goroutines as there are workers. They end with each step, and their
// scratch is used again in the next one.
func newTeam(co *core) cpu.Crew[float64] {
	scratch := make([][]float64, max(1, co.workers()))
	return func(parts, work int, f func(part, parts int, work []float64)) {
		var next atomic.Int64
		units := min(len(scratch), parts)
		co.together(units, units, func(w int) {
			if len(scratch[w]) < work {
				scratch[w] = make([]float64, work)
			}
			for i := int(next.Add(1)) - 1; i < parts; i = int(next.Add(1)) - 1 {
				f(i, parts, scratch[w][:work])
			}
		})
	}
}

// squarable reports whether a matrix with that largest magnitude is finite and not zero, and squares of its elements
// neither overflow nor, beside that of the largest one, vanish. gonum's routines do the other ones: they scale each
// vector.
func squarable(top float64) bool {
	return top > tridiag.Safe[float64]() && top < 1/tridiag.Safe[float64]()
}

// square returns the n×n matrix in x.
func square(n int, x []float64, ld int) la.General[float64] {
	return la.General[float64]{Rows: n, Cols: n, Stride: ld, Data: x}
}

// matrixOf returns x as kernels/tridiag and its like have it.
func matrixOf(x la.General[float64]) tridiag.Matrix[float64] {
	return tridiag.Matrix[float64]{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data}
}
