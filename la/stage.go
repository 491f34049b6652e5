package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// stage is where steps of a computation go: to a program of tasks, or, without
// one, to kernels on the calling goroutine, for matrices of one tile row. The first
// error stays, and steps after it do nothing.
type stage[T Element] struct {
	ctx context.Context
	e   *Engine
	p   *blocked.Program[T]
	err error
}

// perform calls steps with a stage: a program of tasks, or kernels called directly.
func perform[T Element](ctx context.Context, e *Engine, direct bool, steps func(s *stage[T])) error {
	s := &stage[T]{ctx: ctx, e: e}
	if direct {
		steps(s)
		return s.err
	}
	return run(ctx, e, func(p *blocked.Program[T]) error {
		s.p = p
		steps(s)
		return s.err
	})
}

// ops returns the operations of the engine.
func (s *stage[T]) ops() kernels.Ops[T] { return kernels.For[T](s.e.ops()) }

// call calls a kernel.
func (s *stage[T]) call(op *versions.Op, params any, args ...any) {
	if s.err == nil {
		s.err = direct(s.ctx, s.e, op, params, args...)
	}
}

// trsm overwrites x with op(A)⁻¹·x for a triangle of a.
func (s *stage[T]) trsm(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a, x *blocked.Matrix[T]) {
	switch {
	case s.err != nil:
	case s.p != nil:
		s.err = s.p.Trsm(blas.Left, uplo, trans, diag, 1, a, x)
	default:
		params := &op.Trsm{Side: blas.Left, Uplo: uplo, Trans: trans, Diag: diag, Alpha: 1}
		_, nt := x.Tiles()
		for j := range nt {
			s.call(s.ops().Op("trsm"), params, a.Tile(0, 0), x.Tile(0, j))
		}
	}
}

// laswp makes the interchanges v in the rows of x.
func (s *stage[T]) laswp(v *blocked.Pivots, inverse bool, x *blocked.Matrix[T]) {
	switch {
	case s.err != nil:
	case s.p != nil:
		s.err = s.p.Laswp(v, inverse, x)
	default:
		_, nt := x.Tiles()
		for j := range nt {
			s.call(s.ops().Op("laswp"), &op.Laswp{Inverse: inverse}, v.Panel(0), x.Tile(0, j))
		}
	}
}

// wait waits until x is as the steps so far leave it.
func (s *stage[T]) wait(x *blocked.Matrix[T]) {
	for i, j := range x.StoredTiles() {
		if s.p != nil && s.err == nil {
			s.err = s.p.Wait(x, i, j)
		}
	}
}

// resize waits for x, and returns its first rows, or x with rows of zeros added.
func (s *stage[T]) resize(x *blocked.Matrix[T], rows int) *blocked.Matrix[T] {
	s.wait(x)
	m, n := x.Dims()
	switch {
	case s.err != nil || rows == m:
		return x
	case rows < m:
		return x.Leading(rows, n)
	}
	y := blocked.New[T](blocked.Full, rows, n, x.NB())
	y.Leading(m, n).CopyFrom(x, s.e.copying(false))
	return y
}
