package bench

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// Rehearsal is a runtime that executes tasks without computing anything, such as the runtimes of package sim.
// Reset makes it forget the tasks that it has executed.
type Rehearsal interface {
	exec.Runtime
	Reset()
}

// Rehearsed is a problem that a [Rehearsal] has run.
type Rehearsed struct {
	Problem       // with its defaults and the tile size
	Rows    int   // of the grid of nodes; 0 on one node
	Bytes   int64 // of all matrices
	Flops   float64
}

// Rehearse runs p on rt. On one node the matrices are in its memory, without elements, and an additional first run
// fills the caches. On nodes, whose speeds are given, p.Op must be gemm, cholesky, lu, qr or eigen. The matrices are then
// distributed over the nodes, in a grid with the given number of rows; 0 means the default of a run. rt is Reset
// before the run that counts.
func Rehearse(ctx context.Context, p Problem, rt Rehearsal, speeds []float64, rows int) (Rehearsed, error) {
	s := Spec{Problem: p, Remote: Remote{Runtime: rt, Distributed: speeds != nil}}
	if err := s.Validate(); err != nil {
		return Rehearsed{}, err
	}
	if s = s.WithDefaults(); s.Type == "f32" {
		return rehearse[float32](ctx, s, rt, speeds, rows)
	}
	return rehearse[float64](ctx, s, rt, speeds, rows)
}

// rehearsed returns the problem of d, and what it has in common with others.
func rehearsed[T la.Element](d distributed[T]) (problem, *distributed[T]) {
	if d.s.Op == "eigen" {
		p := &distributedEigen[T]{distributed: d}
		return p, &p.distributed
	}
	return &d, &d
}

func rehearse[T la.Element](ctx context.Context, s Spec, rt Rehearsal, speeds []float64, rows int) (x Rehearsed, err error) {
	opt := s.options()
	opt.Direct = -1 // there are no kernels to call directly
	e, err := la.NewEngine(opt)
	if err != nil {
		return x, err
	}
	defer e.Close()
	p, d := rehearsed(distributed[T]{ctx: ctx, s: s, speeds: speeds, gridRows: rows})
	if !s.Distributed {
		if err = fitsAddresses(s); err != nil {
			return x, err
		}
		f := &maker[T]{base: base[T]{s.Seed, len(rt.Workers())}, ctx: ctx, spec: s, blank: true}
		if p = makers[T]()[s.Op](f); f.err != nil {
			return x, f.err
		}
	}
	defer p.close()
	op, n, longest := p.order()
	x = Rehearsed{Problem: s.Problem, Flops: p.flops(), Bytes: int64(find(s.Op).elements(s)) * int64(scalar.Size[T]())}
	x.NB, _ = engine.TileSize[T](e, op, n, longest)
	if !s.Distributed {
		if err := fitsBooks(s.books(x.NB)); err != nil {
			return x, err
		}
	}
	once, err := p.on(e)
	if err != nil {
		return x, err
	}
	if s.Distributed {
		if d.reset(); d.err != nil {
			return x, d.err
		}
		x.Rows = d.rows()
	} else if err := once(ctx); err != nil {
		return x, err
	}
	rt.Reset()
	return x, once(ctx)
}
