package supernodal

import (
	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Matrix is a symmetric sparse matrix in compressed rows, with both triangles. A row may have no column twice.
type Matrix struct {
	Ptr  []int
	Cols []int
	Data []float64
}

// Factor is a Cholesky factor. Different goroutines may compute different fronts at once, if those of the children are
// computed before.
type Factor[T scalar.Real] struct {
	*Analysis
	Panels  []T
	r       *cpu.Packed[T]
	waiting [][]T // what a supernode contributes to its parent, until that has it
}

// NewFactor returns a factor without values. caches are those of a core.
func NewFactor[T scalar.Real](a *Analysis, caches cpu.Caches) *Factor[T] {
	f := &Factor[T]{Analysis: a, Panels: make([]T, a.Panel[a.Supernodes()]), r: cpu.Fastest[T](caches), waiting: make([][]T, a.Supernodes())}
	pages.Large(f.Panels)
	return f
}

// Worker is the memory in which a goroutine computes fronts.
type Worker[T scalar.Real] struct {
	at    []int32 // where a row of the matrix is in the front
	to    []int32 // where the rows of a contribution are in the front
	front []T     // what the front contributes: a square, of which the upper triangle is used
	stack []T     // contributions that wait for their parents
	top   int     // of the stack
	work  []T     // scratch of the routines
}

// NewWorker returns memory for the fronts of f.
func (f *Factor[T]) NewWorker() *Worker[T] {
	most := f.mostRows()
	w := &Worker[T]{at: make([]int32, len(f.Order)), to: make([]int32, most), front: make([]T, f.Front), stack: make([]T, f.Stack), work: make([]T, f.r.Work(most))}
	pages.Large(w.front)
	pages.Large(w.stack)
	return w
}
