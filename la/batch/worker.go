package batch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// worker is what computes with some problems of a batch: routines and memory. One goroutine uses it at a time.
type worker[T la.Element] struct {
	small *op.Small[T]
	lanes *cpu.Lanes[T] // nil if there are none

	a, b, t     []T // interleaved operands
	stage       []T // operands without gaps
	ipiv, infos []int
}

// interleavedUpTo is the largest order of problems that are computed interleaved: of larger ones, several together do not
// fit the caches of a core.
const interleavedUpTo = 32

// single is the number of problems that a worker without lanes takes at a time.
const single = 8

func newWorker[T la.Element]() *worker[T] {
	return &worker[T]{small: op.NewSmall[T](), lanes: op.SmallLanes[T]()}
}

var (
	workers64 = &sync.Pool{New: func() any { return newWorker[float64]() }}
	workers32 = &sync.Pool{New: func() any { return newWorker[float32]() }}
)

// group returns how many problems of an order are computed at a time, and whether they are interleaved.
func (w *worker[T]) group(order int) (problems int, interleaved bool) {
	if w.lanes != nil && order <= interleavedUpTo {
		return w.lanes.Count(), true
	}
	return single, false
}

// atLeast returns x if it has n elements, or a new slice.
func atLeast[E any](x []E, n int) []E {
	if len(x) < n {
		return make([]E, n)
	}
	return x
}

// gather copies the problems from lo on, as many as there are lanes, to x in the interleaved form. Where there are too few
// the last one stands for those that are missing.
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

// scatter copies them back, or their first rows.
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

// least is the work of a batch, in floating point operations, from which on all workers compute: on fewer the caller does in
// some 50 µs.
const least = 4e5

// run calls body for the problems lo to hi−1, hi − lo being one group, until all count problems have been computed, on e.
// body sets infos[k−lo] if problem k has no result: failure then makes an error of it.
func run[T la.Element](ctx context.Context, e *la.Engine, count, order int, work float64,
	body func(w *worker[T], lo, hi int, interleaved bool, infos []int), failure func(info int) error) error {
	pool := scalar.Pick[T](workers32, workers64)
	var mu sync.Mutex
	var failed []Failure
	first := pool.Get().(*worker[T])
	size, interleaved := first.group(order)
	chunk := func(w *worker[T], lo, hi int) {
		w.infos = atLeast(w.infos, size)
		for ; lo < hi; lo++ {
			from, to := lo*size, min((lo+1)*size, count)
			clear(w.infos[:size])
			body(w, from, to, interleaved, w.infos)
			for k := from; k < to; k++ {
				if info := w.infos[k-from]; info != 0 {
					mu.Lock()
					failed = append(failed, Failure{k, failure(info)})
					mu.Unlock()
				}
			}
		}
	}
	groups := (count + size - 1) / size
	if work*float64(count) < least {
		if err := e.Ready(ctx); err != nil {
			return err
		}
		chunk(first, 0, groups)
		pool.Put(first)
	} else {
		pool.Put(first)
		err := engine.Loop(ctx, e, groups, func(lo, hi int) {
			w := pool.Get().(*worker[T])
			chunk(w, lo, hi)
			pool.Put(w)
		})
		if err != nil {
			return err
		}
	}
	if failed == nil {
		return nil
	}
	slices.SortFunc(failed, func(a, b Failure) int { return a.Index - b.Index })
	return &Error{failed}
}

// notDefinite and singular make an error of LAPACK's info.
func notDefinite(info int) error { return &la.NotPositiveDefiniteError{Minor: info} }
func singular(info int) error    { return &la.SingularError{Column: info} }

// complete completes operands that are not nil, and returns a *la.ShapeError if one makes no sense or has another number
// of matrices.
func complete[T la.Element](op string, names string, all ...*Matrices[T]) error {
	for i, a := range all {
		if a == nil {
			continue
		}
		if err := a.complete(op, names[i:i+1]); err != nil {
			return err
		}
		if a.Count != all[0].Count {
			return &la.ShapeError{Op: op, Detail: fmt.Sprintf("%c has %d matrices and %c %d", names[0], all[0].Count, names[i], a.Count)}
		}
	}
	return nil
}

// shapes returns a *la.ShapeError unless fit.
func shapes[T la.Element](op string, fit bool, a, b *Matrices[T]) error {
	if fit {
		return nil
	}
	detail := fmt.Sprintf("a is %d×%d", a.Rows, a.Cols)
	if b != nil {
		detail += fmt.Sprintf(" and b %d×%d", b.Rows, b.Cols)
	}
	return &la.ShapeError{Op: op, Detail: detail}
}
