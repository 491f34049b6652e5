package tiles

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// sequentialBytes is the size up to which a conversion stays on the calling
// goroutine. On a 2-core Xeon (2 MiB L2 a core) 1 MiB is copied from cache in
// 25 µs, about what it takes to wake another thread, and a second worker
// gained nothing up to there: go test -bench CopySmall, commit 77cdac9 with
// the limit at 0.
const sequentialBytes = 1 << 20

// EachTile calls f for every stored tile, from at most the given number of goroutines (0 or less:
// GOMAXPROCS), all of which have ended when it returns. Any of them may get any tile, at any time, so
// f(i, j) must not depend on other calls of f. The caller alone goes through a small matrix.
//
// It is for work that memory bounds, in calls that have no runtime or whose job has ended: conversions
// and norms. Everything else is tasks.
func (a *Matrix[T]) EachTile(workers int, f func(i, j int)) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(a.tiles))
	if a.Bytes() <= sequentialBytes {
		workers = 1
	}
	var next atomic.Int64
	work := func() {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(a.tiles) {
				return
			}
			if i, j := k/a.nt, k%a.nt; a.Stored(i, j) {
				f(i, j)
			}
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
