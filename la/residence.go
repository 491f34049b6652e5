package la

import (
	"runtime"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
)

// residence is the copies of a factorization's tiles on an engine's devices. They stay there from call to call, so that
// solutions need not copy them again, until end is called or the collector finds the factorization unused. A nil
// residence has none.
//
// In the meantime the host writes the tiles by tasks only. So a factorization ends its residence before it gives its
// tiles away, or uses their memory for something else.
type residence struct {
	discard func() // nil after the end
	cleanup runtime.Cleanup
}

// reside lets tiles of matrices in this process, and others, stay on the devices of e from the next job on.
func reside[T Element](e *Engine, others []*blocked.Tile[T], matrices ...*blocked.Matrix[T]) *residence {
	if e == nil {
		return nil
	}
	rt, ok := e.Runtime().(exec.Retainer)
	onDevice := func(w exec.Worker) bool { return w.Accelerator != "" }
	if !ok || !slices.ContainsFunc(rt.Workers(), onDevice) {
		return nil
	}
	var values []any
	for _, t := range others {
		values = append(values, t)
	}
	for _, a := range matrices {
		for i, j := range a.StoredTiles() {
			values = append(values, a.Tile(i, j))
		}
	}
	r := &residence{discard: rt.Retain(values)}
	r.cleanup = runtime.AddCleanup(r, func(discard func()) { discard() }, r.discard)
	return r
}

// end drops the devices' copies.
func (r *residence) end() {
	if r != nil && r.discard != nil {
		r.cleanup.Stop()
		r.discard()
		r.discard = nil
	}
}
