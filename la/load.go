package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
)

// reading is a matrix on its way into tiles. Tasks of the computation read a matrix that is not
// small, so the computation begins with the first tiles while others are still read. One task
// reads a matrix that is not in memory, through At.
//
//	newReading ─► submit (tasks read) ─► finish: statistics, or why the matrix cannot be used
//	           └► filled at once, if small
type reading[T Element] struct {
	a *blocked.Matrix[T]

	src       Source[T] // nil if a is filled
	byColumns bool
	priority  func(line int) int64 // of the tasks; nil: see blocked.LoadOptions
	loaded    *tiles.Filling[T]
	stats     blocked.Stats
}

// readingOptions says what reads a matrix.
type readingOptions struct {
	alone     bool // no tasks will follow
	byColumns bool // whole columns of tiles first, for a computation that begins with these
}

// loadByTasksFrom is the size in bytes, of as many float64, from which tasks read a matrix: a
// smaller one stays in the caches between being read and being used.
const loadByTasksFrom = 1 << 20

// newReading begins to read src into a, which has its shape, or if a is nil into a new matrix of
// the given kind and tile size.
func newReading[T Element](e *Engine, a *blocked.Matrix[T], src Source[T], kind blocked.Kind, nb int, opt readingOptions) *reading[T] {
	m, n := src.Dims()
	if opt.alone || int64(m)*int64(n)*8 < loadByTasksFrom {
		r := &reading[T]{a: a}
		if a != nil {
			r.stats = a.CopyFrom(src, measuring(e))
		} else {
			r.a, r.stats = blocked.From(src, kind, nb, measuring(e))
		}
		return r
	}
	if a == nil {
		a = tiles.Unfilled[T](kind, m, n, nb)
	}
	return &reading[T]{a: a, src: src, byColumns: opt.byColumns}
}

// op returns the name of the operation that reads.
func (r *reading[T]) op() string {
	return "load/" + scalar.Of[T]().String()
}

// nonFinite returns a *NonFiniteError if the matrix is filled and not finite.
func (r *reading[T]) nonFinite() error {
	if r.src == nil && r.stats.NonFinite {
		return &NonFiniteError{Row: r.stats.Row, Col: r.stats.Col}
	}
	return nil
}

// submit submits the tasks that read; it must precede all others.
func (r *reading[T]) submit(p *blocked.Program[T]) (err error) {
	if r.src == nil || r.loaded != nil {
		return nil
	}
	r.loaded, err = p.LoadStats(r.a, r.src, blocked.LoadOptions{ByColumns: r.byColumns, Priority: r.priority})
	return err
}

// finish returns the error of a computation that ended with err. A *NonFiniteError of the matrix
// comes first. A panic of the source's At becomes one of the caller; if At has ended its
// goroutine, finish returns an error.
func (r *reading[T]) finish(err error) error {
	var failed *exec.TaskError
	var panicked *exec.PanicError
	if r.src != nil && errors.As(err, &failed) && failed.Op == r.op() && errors.As(failed.Err, &panicked) &&
		panicked.Value != nil {
		panic(panicked.Value)
	}
	if r.loaded != nil {
		var all bool
		if r.stats, all = r.loaded.Stats(); !all {
			return err // the matrix was not read to its end
		}
		r.src = nil
	}
	if bad := r.nonFinite(); bad != nil {
		return bad
	}
	return err
}

// measured returns a as a filled reading, with statistics that tasks compute, or a
// *NonFiniteError.
func measured[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (*reading[T], error) {
	s, err := sums(ctx, e, a)
	if err != nil {
		return nil, err
	}
	r := &reading[T]{a: a, stats: s.Stats()}
	return r, r.nonFinite()
}

// withUpper returns a, or a copy of a lower triangle that has an upper one. The error is blocked.ErrAway.
func withUpper[T Element](e *Engine, a SymmetricSource[T]) (SymmetricSource[T], error) {
	m, isMatrix := any(a).(*blocked.Matrix[T])
	if isMatrix && m.IsDistributed() {
		return nil, blocked.ErrAway
	}
	if isMatrix && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, m.NB(), copying(e))
	}
	return a, nil
}
