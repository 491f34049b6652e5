package op

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Account is what the caller of "syevd", "sygvd", "gesdd" or "geev" learns about a call, if it sets Call.Local to an
// *Account. A call overwrites Stages and Choice.
type Account struct {
	Stages Stages
	Choice ReductionChoice
	// If Rates is not nil, a call chooses between one stage and two by rates that it measures, once for matrices of about
	// its order. Otherwise it chooses by ReferenceRates.
	Rates *MeasuredRates
}

// Stages is stages in their order.
type Stages []Stage

// Stage is one stage: its name, how long it took, and its floating point operations. Flops counts all operations, as
// if nothing were deflated. It is 0 if they are not counted.
type Stage struct {
	Name  string
	Time  time.Duration
	Flops float64
}

// stopwatch measures the stages of a call, and asks between them and within them whether the call is to end.
type stopwatch struct {
	ctx     context.Context
	account *Account // nil if nobody wants it
	began   time.Time
}

// startStages begins the first stage.
func startStages(call *versions.Call) *stopwatch {
	w := &stopwatch{ctx: call.Ctx}
	if w.account, _ = call.Local.(*Account); w.account != nil {
		w.account.Stages, w.account.Choice, w.began = w.account.Stages[:0], ReductionChoice{}, time.Now()
	}
	return w
}

// end ends a stage, and begins the next one. The error is the cause of the end of the call's context.
func (w *stopwatch) end(name string, flops float64) error {
	if w.account != nil {
		now := time.Now()
		w.account.Stages = append(w.account.Stages, Stage{name, now.Sub(w.began), flops})
		w.began = now
	}
	return w.stop()
}

// run runs a call that is a part of this one, and takes over its stages.
func (w *stopwatch) run(f func(*versions.Call) error, part *versions.Call) error {
	if w.account == nil {
		return f(part)
	}
	inner := Account{Rates: w.account.Rates}
	part.Local = &inner
	if err := f(part); err != nil {
		return err
	}
	w.account.Stages, w.account.Choice, w.began = append(w.account.Stages, inner.Stages...), inner.Choice, time.Now()
	return nil
}

// stop returns the cause of the end of the call's context, or nil.
func (w *stopwatch) stop() error {
	if w.ctx == nil {
		return nil
	}
	return context.Cause(w.ctx)
}

// loopRotate is the length up to which rotations of rows are faster in a loop.
const loopRotate = 6

// Conquering returns what divide and conquer computes with, products by r.
func Conquering[T kernels.Element](r cpu.Routines[T]) tridiag.Tools[T] {
	tools := tridiag.Tools[T]{
		Mul: func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T) {
			r.Gemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc, work)
		},
		Work: r.Work,
	}
	if s := cpu.SecularBy(r); s != nil {
		tools.Secular = s
	}
	if rotate := cpu.LasrBy(r); rotate != nil {
		tools.Rotate = func(q tridiag.Matrix[T], first, step int, cs []T) {
			if q.Cols < loopRotate {
				tridiag.Rotations[T](nil).Apply(q, first, step, cs)
				return
			}
			rotate(q.Cols, q.Data, first*q.Stride, step*q.Stride, cs)
		}
	}
	return tools
}
