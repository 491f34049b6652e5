package csr

import (
	"cmp"
	"context"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr/internal/supernodal"
	"github.com/tessera-la/tessera/versions"
)

// frontsOp is the op of tasks that compute a part of a factorization. Operands: the parts that
// it reads (in), the part (out). They stand for contributions, which the factor has.
var frontsOp = sync.OnceValue(func() *versions.Op { return partOp("csrfronts") })

// partOp returns an op whose parameter is a partTask.
func partOp(name string) *versions.Op {
	return &versions.Op{Name: name, Bound: true, Work: func(c *versions.Call) float64 { return c.Params.(partTask).work() },
		Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error { return c.Params.(partTask).compute(c) },
			Help: func(c *versions.Call) (units int, stay bool) { return c.Params.(partTask).units(), false }}}}
}

// partTask is a *frontsTask or a *solutionTask of any element type.
type partTask interface {
	work() float64
	units() int
	compute(*versions.Call) error
}

// frontsTask is the parameter of op "csrfronts".
type frontsTask[T la.Element] struct {
	f      *fronts[T]
	number int
}

func (p *frontsTask[T]) of() *supernodal.Part { return &p.f.Parts[p.number] }

// work returns the number of operations.
func (p *frontsTask[T]) work() float64 { return p.of().Work }

// units returns how many cores can compute the part together.
func (p *frontsTask[T]) units() int {
	const each = 50e6 // operations
	return 1 + int(min(p.of().Shared/each, 1<<10))
}

// compute computes the part.
func (p *frontsTask[T]) compute(call *versions.Call) error {
	w := p.f.borrow()
	defer p.f.giveBack(w)
	if call.Gang == nil {
		return p.f.Compute(call.Ctx, w, p.number, 1, nil)
	}
	return p.f.Compute(call.Ctx, w, p.number, call.Gang.Units(), cpu.Crew[T](func(parts, work int, f func(part, parts int, work []T)) {
		call.Parallel(parts, func(i int, w *versions.Workspace) { f(i, parts, versions.Scratch[T](w, work)) })
	}))
}

// fronts is a factor that is computed by several goroutines.
type fronts[T la.Element] struct {
	*supernodal.Factor[T]
	split
	kept[*supernodal.Workspace[T]]
}

// kept is memory for goroutines: what no goroutine uses now.
type kept[W any] struct {
	make func() W
	mu   sync.Mutex
	free []W
}

// borrow returns memory for a goroutine.
func (k *kept[W]) borrow() W {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.free); n > 0 {
		w := k.free[n-1]
		k.free = k.free[:n-1]
		return w
	}
	return k.make()
}

// giveBack takes back memory that a goroutine has borrowed.
func (k *kept[W]) giveBack(w W) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free = append(k.free, w)
}

// split is a division of a factorization for a runtime.
type split struct {
	of         *supernodal.Division
	cores      int // of the runtime
	goroutines int // that may compute at once
}

// divide divides factorizations from now on by s.
func (f *fronts[T]) divide(s split) {
	f.split, f.free = s, nil
	f.Divide(s.of)
}

// alone is the number of operations up to which a factorization stays with the caller: some milliseconds.
const alone = 1e7

// permutation implements choleskyFactor.
func (f *fronts[T]) permutation() (order, inverse []int32) { return f.Order, f.Inverse }

// stats implements choleskyFactor.
func (f *fronts[T]) stats() CholeskyStats {
	return CholeskyStats{Entries: f.Entries, Stored: f.Stored(), Supernodes: f.Supernodes(), Flops: f.Flops}
}

// factorize implements choleskyFactor.
func (f *fronts[T]) factorize(ctx context.Context, rt exec.Runtime, m *supernodal.Matrix, scale float64) error {
	f.Begin(m, scale)
	err := f.compute(ctx, rt)
	return cmp.Or(err, f.End())
}

// compute computes all fronts, by tasks of rt if that pays.
func (f *fronts[T]) compute(ctx context.Context, rt exec.Runtime) error {
	if f.goroutines == 1 || f.Flops < alone {
		w := f.borrow()
		defer f.giveBack(w)
		for p := range f.Parts {
			if err := f.Compute(ctx, w, p, 1, nil); err != nil {
				return err
			}
		}
		return nil
	}
	t := tasks{job: rt.NewJob(ctx)}
	parts := f.Parts
	data, params := make([]graph.Datum, len(parts)), make([]frontsTask[T], len(parts))
	for p := range parts {
		params[p] = frontsTask[T]{f, p}
		data[p].Value = &params[p]
		s := graph.Spec{Op: frontsOp(), Params: &params[p], Priority: int64(parts[p].Ahead / f.Flops * 1e6)}
		for _, c := range parts[p].Reads {
			s.Operands = append(s.Operands, in(&data[c]))
		}
		s.Operands = append(s.Operands, out(&data[p]))
		if t.err == nil {
			_, t.err = t.job.Submit(&s)
		}
	}
	return t.wait()
}

// each calls do(0) to do(n−1) on the workers of rt.
func each(ctx context.Context, rt exec.Runtime, n int, do func(int)) error {
	if n == 1 {
		do(0)
		return context.Cause(ctx)
	}
	return loop.For(ctx, rt, n, loop.Options{Plan: loop.Plan{Scheme: loop.SS}}, func(c loop.Chunk) error {
		for k := c.Lo; k < c.Hi; k++ {
			do(k)
		}
		return nil
	})
}

// cores returns how many workers rt has on cores of this process.
func cores(rt exec.Runtime) (n int) {
	for _, w := range rt.Workers() {
		if w.Accelerator == "" && w.Host == "" {
			n++
		}
	}
	return max(n, 1)
}
