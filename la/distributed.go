package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la/engine"
)

// Systems with distributed matrices. What A is copied to, B and X are on the nodes, by the
// layout of A; only what is asked for in memory here comes here.

// distributedOn returns a if it is distributed over the nodes of e, else nil.
func distributedOn[T Element](e *Engine, a Source[T]) *blocked.Matrix[T] {
	m, ok := a.(*blocked.Matrix[T])
	if _, keeps := e.Options().Runtime.(exec.Keeper); !ok || !keeps || !m.IsDistributed() {
		return nil
	}
	return m
}

// copyDistributed returns a copy of a on a's nodes: Full, or SymUpper if a is symmetric. It may
// return a matrix with an error.
func copyDistributed[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T],
	kind blocked.Kind) (*blocked.Matrix[T], error) {
	m, n := a.Dims()
	b, err := tiles.DistributedLike[T](e.Options().Runtime, a, kind, m, n)
	if err != nil {
		return nil, err
	}
	return b, engine.Run(ctx, e, func(p *blocked.Program[T]) error {
		if kind == blocked.Full {
			return p.Whole(a, b)
		}
		return p.Transpose(a, b)
	})
}

// scatter overwrites the distributed x with b.
func scatter[T Element](ctx context.Context, e *Engine, x *blocked.Matrix[T], b Source[T]) error {
	return engine.Run(ctx, e, func(p *blocked.Program[T]) error { return p.Load(x, b, blocked.LoadOptions{}) })
}

// scaleDistributed multiplies a by 2^exp, in steps that are in range.
func scaleDistributed[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], exp int) error {
	return engine.Run(ctx, e, func(p *blocked.Program[T]) error {
		for exp != 0 {
			step := min(max(exp, -100), 100)
			if err := p.Lascl(T(math.Ldexp(1, step)), a); err != nil {
				return err
			}
			exp -= step
		}
		return nil
	})
}

// distributedNB returns the tile size of the first distributed matrix of all, 0 if none is
// distributed. Tasks work on a distributed matrix in its own tiles.
func distributedNB[T Element](all ...Source[T]) int {
	for _, a := range all {
		if m, ok := a.(*blocked.Matrix[T]); ok && m.IsDistributed() {
			return m.NB()
		}
	}
	return 0
}

// closeMatrix closes a, if it is not nil.
func closeMatrix[T Element](a *blocked.Matrix[T]) {
	if a != nil {
		a.Close()
	}
}
