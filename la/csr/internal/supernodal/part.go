package supernodal

import (
	"context"

	"github.com/tessera-la/tessera/kernels/cpu"
)

// The end of the context is noticed before a front of that many operations, and once in so many fronts.
const (
	contextWork  = 1e7
	contextEvery = 64
)

// Compute computes the fronts of a part, when all that it reads are computed. Different goroutines, each with a Workspace of
// its own, may compute different parts at once. crew is up to so many cores that share large fronts with the goroutine;
// nil for none. The error is the cause of the context's end.
func (f *Factor[T]) Compute(ctx context.Context, w *Workspace[T], part, units int, crew cpu.Crew[T]) error {
	w.top, w.crew, w.r = 0, crew, f.r
	if crew != nil {
		w.r = f.r.shared(units, crew)
	}
	for k, s := range f.Parts[part].Supernodes {
		if k%contextEvery == 0 || f.Work[s] > contextWork {
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		if f.isAfterFailure(s) {
			break // no later front is needed, here or above
		}
		f.compute(w, s)
	}
	return nil
}
