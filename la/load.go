package la

import (
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
)

// reading is a matrix on its way into tiles: unless it is small it is read by
// tasks of the computation that it is for, which so begins with the first tiles
// while others are still read. One that is not in memory is read by one task,
// through At.
type reading[T Element] struct {
	a *blocked.Matrix[T]

	src       Source[T] // nil if a is filled
	byColumns bool
	priority  func(line int) int64 // of the tasks; nil: see blocked.LoadOptions
	loaded    *tiles.Filling[T]
	stats     blocked.Stats
}

// laterFrom is the number of bytes, of as many float64, from which on a matrix is
// read by tasks: less stays in the caches between being read and being used.
const laterFrom = 1 << 20

// read begins to read src into a, which has its shape, or if a is nil into a
// matrix of the given kind and tile size. One says that no tasks will follow. A
// computation that begins with whole columns of tiles has them read byColumns.
func read[T Element](e *Engine, a *blocked.Matrix[T], src Source[T], kind blocked.Kind, nb int, one, byColumns bool) *reading[T] {
	m, n := src.Dims()
	if one || int64(m)*int64(n)*8 < laterFrom {
		r := &reading[T]{a: a}
		opt := blocked.CopyOptions{Workers: e.options().Workers, Stats: true}
		if a != nil {
			r.stats = a.CopyFrom(src, opt)
		} else {
			r.a, r.stats = blocked.From(src, kind, nb, opt)
		}
		return r
	}
	if a == nil {
		a = tiles.Unfilled[T](kind, m, n, nb)
	}
	return &reading[T]{a: a, src: src, byColumns: byColumns}
}

// op returns the name of the op that reads.
func (r *reading[T]) op() string {
	return "load/" + scalar.Of[T]().String()
}

// refused returns a *NonFiniteError if that is known already.
func (r *reading[T]) refused() error {
	if r.src == nil && r.stats.NonFinite {
		return &NonFiniteError{Row: r.stats.Row, Col: r.stats.Col}
	}
	return nil
}

// submit submits the tasks that read, before any others.
func (r *reading[T]) submit(p *blocked.Program[T]) (err error) {
	if r.src == nil || r.loaded != nil {
		return nil
	}
	r.loaded, err = p.LoadStats(r.a, r.src, blocked.LoadOptions{ByColumns: r.byColumns, Priority: r.priority})
	return err
}

// end returns the error of a computation that has had err: that the matrix is not
// finite, if it is not, whatever became of it. A panic of the source's At becomes
// that of the caller; if At has ended the goroutine, that is an error.
func (r *reading[T]) end(err error) error {
	var failed *exec.TaskError
	var panicked *exec.PanicError
	if r.src != nil && errors.As(err, &failed) && failed.Op == r.op() && errors.As(failed.Err, &panicked) && panicked.Value != nil {
		panic(panicked.Value)
	}
	if r.loaded != nil {
		var all bool
		if r.stats, all = r.loaded.Stats(); !all {
			return err // the matrix was not read to its end
		}
		r.src = nil
	}
	if bad := r.refused(); bad != nil {
		return bad
	}
	return err
}
