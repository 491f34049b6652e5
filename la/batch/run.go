package batch

import (
	"context"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// sharedWork is the work of a batch, in floating point operations, from which on all workers compute: fewer take the
// caller some 50 µs.
const sharedWork = 4e5

// run computes a batch of count problems of an order on e, each of which takes the given work. It calls body for each
// group, the problems lo to hi−1. If problem k has no result, body sets infos[k−lo], and failure makes an error of that.
func run[T la.Element](ctx context.Context, e *la.Engine, count, order int, work float64,
	body func(w *worker[T], lo, hi int, interleaved bool, infos []int), failure func(info int) error) error {
	pool := scalar.Pick[T](workers32, workers64)
	first := pool.Get().(*worker[T])
	size, interleaved := first.group(order)
	pool.Put(first)
	var mu sync.Mutex
	var failed []Failure // guarded by mu
	compute := func(group, end int) {
		w := pool.Get().(*worker[T])
		w.infos = atLeast(w.infos, size)
		for ; group < end; group++ {
			lo, hi := group*size, min((group+1)*size, count)
			clear(w.infos[:size])
			body(w, lo, hi, interleaved, w.infos)
			for k := lo; k < hi; k++ {
				if info := w.infos[k-lo]; info != 0 {
					mu.Lock()
					failed = append(failed, Failure{k, failure(info)})
					mu.Unlock()
				}
			}
		}
		pool.Put(w)
	}
	groups := (count + size - 1) / size
	var err error
	if work*float64(count) >= sharedWork {
		err = engine.Loop(ctx, e, groups, compute)
	} else if err = e.Ready(ctx); err == nil {
		compute(0, groups)
	}
	if err != nil || failed == nil {
		return err
	}
	slices.SortFunc(failed, func(a, b Failure) int { return a.Index - b.Index })
	return &Error{failed}
}
