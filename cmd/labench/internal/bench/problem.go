package bench

import (
	"context"

	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// problem is one operation with its matrices. Most operations embed [base], whose methods do nothing.
type problem interface {
	// order returns what la's tile size depends on: see engine.TileSize.
	order() (op engine.Operation, n, longest int)
	// flops returns the floating point operations of a run as LAPACK counts
	// them (LAPACK Working Note 41).
	flops() float64
	// reset restores the state before the first run.
	reset()
	// on returns a function that does what a user's call on e does, including the conversion to tiles. Calls of
	// that function are timed. Each function has its own copy of the memory that la keeps between calls.
	on(e *la.Engine) (once func(context.Context) error, err error)
	// verify checks the result of the last run, with the engine that was made last. It may overwrite the
	// operands, so it can be called only once.
	verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error)
	// describe stores in r the results that only this operation has.
	describe(r *Result)
	// count returns the counts of one run with the layout of the matrices: see package plan. known is false if
	// the matrices are not distributed.
	count(ctx context.Context, opt plan.Options) (c plan.Counts, known bool, err error)
	// save writes the result to the output file, if there is one.
	save() error
	// close releases matrices on other nodes.
	close()
}

// verdict is the result of a verification.
type verdict struct {
	residual Number
	checks   []Check // instead of residual, if there are several
	failure  string  // other errors, in words
	growth   float64 // of elements, if growth may be the reason
}

// base is the common part of all problems.
type base[T la.Element] struct {
	seed    uint64
	workers int
}

// reset does nothing: the operands do not change.
func (p *base[T]) reset() {}

func (p *base[T]) describe(*Result) {}

func (p *base[T]) count(context.Context, plan.Options) (c plan.Counts, known bool, err error) {
	return c, false, nil
}

func (p *base[T]) save() error { return nil }

func (p *base[T]) close() {}
