package batch

import (
	"sync"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
)

// worker is the routines and the memory with which one goroutine at a time computes some problems of a batch.
type worker[T la.Element] struct {
	small *op.Small[T]
	lanes *cpu.Lanes[T] // nil if there are none

	a, b, t     []T // interleaved operands
	stage       []T // operands without gaps
	ipiv, infos []int
}

const (
	// interleavedUpTo is the largest order of problems that are computed interleaved: of larger ones, a group does not
	// fit the caches of a core.
	interleavedUpTo = 32
	// groupSize is the number of problems in a group that is not interleaved.
	groupSize = 8
)

func newWorker[T la.Element]() *worker[T] {
	return &worker[T]{small: op.NewSmall[T](), lanes: op.SmallLanes[T]()}
}

var (
	workers64 = &sync.Pool{New: func() any { return newWorker[float64]() }}
	workers32 = &sync.Pool{New: func() any { return newWorker[float32]() }}
)

// group returns how many problems of an order are a group, which is computed at a time, and whether they are
// interleaved, one problem in each lane.
func (w *worker[T]) group(order int) (problems int, interleaved bool) {
	if w.lanes != nil && order <= interleavedUpTo {
		return w.lanes.Count(), true
	}
	return groupSize, false
}

// atLeast returns x if it has n elements, or a new slice.
func atLeast[E any](x []E, n int) []E {
	if len(x) < n {
		return make([]E, n)
	}
	return x
}

// gather interleaves the operands in a of the problems from lo on in x, one problem in each lane. If the batch has too
// few, copies of its last problem fill the other lanes.
func (w *worker[T]) gather(x []T, a *Matrices[T], lo int) {
	n, lanes := a.Rows*a.Cols, w.lanes.Count()
	if a.Each == nil && a.Stride == a.Cols && lo+lanes <= a.Count {
		w.lanes.Interleave(n, x, a.Data[lo*a.Step:], a.Step)
		return
	}
	w.stage = atLeast(w.stage, n*lanes)
	for l := range lanes {
		from := a.at(min(lo+l, a.Count-1))
		for i := range a.Rows {
			copy(w.stage[l*n+i*a.Cols:][:a.Cols], from[i*a.Stride:])
		}
	}
	w.lanes.Interleave(n, x, w.stage, n)
}

// scatter copies the first rows of these operands back from x to a.
func (w *worker[T]) scatter(a *Matrices[T], rows, lo int, x []T) {
	n, lanes := rows*a.Cols, w.lanes.Count()
	if a.Each == nil && a.Stride == a.Cols && lo+lanes <= a.Count {
		w.lanes.Separate(n, a.Data[lo*a.Step:], a.Step, x)
		return
	}
	w.stage = atLeast(w.stage, n*lanes)
	w.lanes.Separate(n, w.stage, n, x)
	for l := range min(lanes, a.Count-lo) {
		to := a.at(lo + l)
		for i := range rows {
			copy(to[i*a.Stride:][:a.Cols], w.stage[l*n+i*a.Cols:])
		}
	}
}

// gatherA interleaves the matrices A of the problems from lo on in w.a.
func (w *worker[T]) gatherA(a *Matrices[T], lo int) {
	w.a = atLeast(w.a, a.Rows*a.Cols*w.lanes.Count())
	w.gather(w.a, a, lo)
}

// solve interleaves the right-hand sides of the problems from lo on in w.b, has by overwrite them with the solutions, and
// copies these back.
func (w *worker[T]) solve(b *Matrices[T], lo int, by func()) {
	w.b = atLeast(w.b, b.Rows*b.Cols*w.lanes.Count())
	w.gather(w.b, b, lo)
	by()
	w.scatter(b, b.Rows, lo, w.b)
}
