package supernodal

import "context"

// The end of the context is noticed before a front of that many operations, and once in so many fronts.
const (
	contextWork  = 1e7
	contextEvery = 64
)

// Subtree computes the fronts of supernodes first to last, which are a subtree or several. m is the matrix, whose
// elements are multiplied by scale. The error is an *IndefiniteError, or the cause of the context's end.
func (f *Factor[T]) Subtree(ctx context.Context, w *Worker[T], m *Matrix, scale float64, first, last int32) error {
	for s := first; s <= last; s++ {
		if s%contextEvery == 0 || f.Work[s] > contextWork {
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		if err := f.compute(w, m, scale, s); err != nil {
			return err
		}
	}
	return nil
}
