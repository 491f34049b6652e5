package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// executor carries out the steps of a computation. With a program it submits each as tasks;
// without one it calls kernels on the calling goroutine, for matrices of one tile row. After the
// first error it does nothing.
type executor[T Element] struct {
	ctx context.Context
	e   *Engine
	p   *blocked.Program[T]
	err error
}

// execute calls steps with an executor: of kernel calls if direct, else of tasks, for which it
// waits.
func execute[T Element](ctx context.Context, e *Engine, direct bool, steps func(s *executor[T])) error {
	s := &executor[T]{ctx: ctx, e: e}
	if direct {
		steps(s)
		return s.err
	}
	return engine.Run(ctx, e, func(p *blocked.Program[T]) error {
		s.p = p
		steps(s)
		return s.err
	})
}

// ops returns the operations of the engine.
func (s *executor[T]) ops() kernels.Ops[T] { return engine.Ops[T](s.e) }

// call calls a kernel. An executor with a program must not call it.
func (s *executor[T]) call(op *versions.Op, params any, args ...any) {
	if s.err == nil {
		s.err = engine.Call(s.ctx, s.e, op, params, args...)
	}
}

// trsm overwrites x with op(A)⁻¹·x for a triangle of a.
func (s *executor[T]) trsm(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a, x *blocked.Matrix[T]) {
	switch {
	case s.err != nil:
	case s.p != nil:
		s.err = s.p.Trsm(blas.Left, uplo, trans, diag, 1, a, x)
	default:
		params := &op.Trsm[T]{Side: blas.Left, Uplo: uplo, Trans: trans, Diag: diag, Alpha: 1}
		_, nt := x.Tiles()
		for j := range nt {
			s.call(s.ops().Op("trsm"), params, a.Tile(0, 0), x.Tile(0, j))
		}
	}
}

// laswp applies the row interchanges v, or their inverse, to x.
func (s *executor[T]) laswp(v *lu.Pivots, inverse bool, x *blocked.Matrix[T]) {
	switch {
	case s.err != nil:
	case s.p != nil:
		s.err = lu.Laswp(s.p, v, inverse, x)
	default:
		_, nt := x.Tiles()
		for j := range nt {
			s.call(s.ops().Op("laswp"), &op.Laswp{Inverse: inverse}, v.Panel(0), x.Tile(0, j))
		}
	}
}

// wait waits until the tasks submitted so far have written x.
func (s *executor[T]) wait(x *blocked.Matrix[T]) {
	for i, j := range x.StoredTiles() {
		if s.p != nil && s.err == nil {
			s.err = s.p.Wait(x, i, j)
		}
	}
}

// resize waits for x, and returns its first rows or a copy with zero rows appended.
func (s *executor[T]) resize(x *blocked.Matrix[T], rows int) *blocked.Matrix[T] {
	s.wait(x)
	m, n := x.Dims()
	switch {
	case s.err != nil || rows == m:
		return x
	case rows < m:
		return x.Leading(rows, n)
	}
	y := blocked.New[T](blocked.Full, rows, n, x.NB())
	y.Leading(m, n).CopyFrom(x, copying(s.e))
	return y
}

// callWhole is engine.CallTeam for the named decomposition. An iteration that does not converge is a *ConvergenceError.
func callWhole(ctx context.Context, e *Engine, alone bool, name string, o *versions.Op, params any, args ...any) error {
	return invokeWhole(e, alone, name, o, &versions.Call{Ctx: ctx, Params: params, Args: args})
}

// invokeWhole is callWhole for a complete call.
func invokeWhole(e *Engine, alone bool, name string, o *versions.Op, call *versions.Call) error {
	err := engine.InvokeTeam(e, alone, o, call)
	if cause := context.Cause(call.Ctx); err != nil && cause != nil {
		return cause
	}
	return convergence(name, err)
}

// convergence returns a *ConvergenceError of the named decomposition if err is one of its kernel, else err.
func convergence(name string, err error) error {
	if failed, ok := errors.AsType[*tridiag.ConvergenceError](err); ok {
		return &ConvergenceError{Op: name, Found: failed.Found}
	}
	return err
}
