package csr

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/vector"
	"github.com/tessera-la/tessera/la/krylov"
)

// Vectors implements krylov.Keeper. The vectors of an iteration are on the nodes of the blocks:
//
//	            node 1                 node 2
//	A           block 0    block 1     block 2    block 3
//	m elements  part 0     part 1      part 2     part 3       each on the node of its block
//	n elements  the same if m = n, or else one part on some node
//
// For a product, a node needs the elements of each part between the first and the last column that its
// blocks have there. It fetches them from the node that has the part: see halo. This process handles only b
// and x, at the beginning and at the end, and some dozen numbers per block for each dot product.
func (a *Distributed) Vectors(ctx context.Context, operator krylov.Operator) (krylov.Vectors, error) {
	if operator != krylov.Operator(a) {
		return nil, nil
	}
	a.used()
	v := &residents{a: a, rows: &division{}}
	v.cols = v.rows
	for b := range a.blocks {
		if lo, hi := a.Rows(b); lo < hi {
			v.rows.parts = append(v.rows.parts, part{lo, hi, b})
		}
	}
	if a.rows != a.cols {
		v.cols = &division{parts: []part{{0, a.cols, -1}}}
	} else if err := a.span(ctx, v.rows.parts); err != nil {
		return nil, err
	}
	// The iteration itself checks for the end of ctx between two steps. The context of the job ends later.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(finishing):
			cancel(context.Cause(ctx))
		case <-inner.Done():
		}
	})
	v.close = func() {
		stop()
		cancel(nil)
	}
	v.tasks, v.blocks = tasks{job: a.rt.NewJob(inner)}, a.Data(1)
	if a.halo != nil {
		v.receive()
	}
	return v, nil
}

// finishing is how long tasks may run after the end of the context. Meanwhile the current iteration can
// finish, and x comes back to this process.
const finishing = 5 * time.Second

// New implements krylov.Vectors.
func (v *residents) New(n int) krylov.Vector {
	r := &resident{division: v.of(n)}
	var rows []int
	for _, p := range r.parts {
		rows = append(rows, p.hi-p.lo)
	}
	r.data = v.make(rows, func(k int) int32 { return v.owner(r.parts[k]) })
	v.all = append(v.all, r)
	return krylov.Vector(len(v.all) - 1)
}

// Load implements krylov.Vectors. Each of its tasks has a block of A as an operand, so that it runs on the
// node of the block.
func (v *residents) Load(x []float64) krylov.Vector {
	number := v.New(len(x))
	r, matrix := v.all[number], v.matrix()
	for k, p := range r.parts {
		from := datum("x", matrix, k, v.owner(p), column(x[p.lo:p.hi]))
		r.from = append(r.from, from)
		if p.block < 0 {
			v.tasks.submit(ops().slice, &sliceParams{}, in(from), out(r.data[k]))
		} else {
			v.tasks.submit(ops().slice, &sliceParams{}, in(&v.blocks[p.block]), in(from), out(r.data[k]))
		}
	}
	return number
}

// MulVecTo implements krylov.Vectors.
func (v *residents) MulVecTo(dst krylov.Vector, trans bool, x krylov.Vector) error {
	from, to := v.all[x], v.all[dst]
	switch {
	case trans:
		v.mulTransposed(to, from)
	case len(from.data) == 1:
		for k, p := range to.parts {
			v.tasks.submit(ops().mv, nil, in(&v.blocks[p.block]), in(from.data[0]), out(to.data[k]))
		}
	default:
		x := v.send(from)
		for k, p := range to.parts {
			operands := []graph.Operand{in(&v.blocks[p.block]), in(v.spans[k])}
			for _, s := range v.a.halo.needs[k] {
				operands = append(operands, in(x[s]))
			}
			v.tasks.submit(ops().mvs, nil, append(operands, out(to.data[k]))...)
		}
	}
	return v.tasks.err
}

// mulTransposed computes to = Aᵀ·from. If to has one part, the sum is computed in it. Otherwise the sum is
// computed in v.whole[0], and tasks cut the parts from there.
func (v *residents) mulTransposed(to, from *resident) {
	var sums, blocks []*graph.Datum
	if len(to.parts) == 1 {
		sums = to.data[:min(1, len(from.parts))]
	}
	if rest := from.parts[len(sums):]; len(v.whole) < len(rest) {
		rows := make([]int, len(rest))
		for k := range rows {
			rows[k] = v.a.cols
		}
		v.whole = v.make(rows, func(k int) int32 { return v.owner(rest[k]) })
	}
	sums = slices.Concat(sums, v.whole)
	for _, p := range from.parts {
		blocks = append(blocks, &v.blocks[p.block])
	}
	v.tasks.transposed(sums, blocks, from.data)
	if len(to.parts) > 1 {
		for k, p := range to.parts {
			v.tasks.submit(ops().slice, &sliceParams{Row: p.lo}, in(sums[0]), out(to.data[k]))
		}
	}
}

// Axpby implements krylov.Vectors.
func (v *residents) Axpby(alpha float64, x krylov.Vector, beta float64, y krylov.Vector) {
	from, to := v.all[x], v.all[y]
	p, mode := &addParams{alpha, beta}, graph.InOut
	switch {
	case x == y:
		p = &addParams{alpha + beta, 0}
	case beta == 0:
		mode = graph.Out
	}
	for k := range to.parts {
		operands := []graph.Operand{in(from.data[k]), {Datum: to.data[k], Mode: mode}}
		if x == y {
			operands = operands[1:]
		}
		v.tasks.submit(ops().add, p, operands...)
	}
}

// Dot implements krylov.Vectors.
func (v *residents) Dot(x, y krylov.Vector, scale float64) (float64, error) {
	a, b := v.all[x], v.all[y]
	if a.sums == nil {
		matrix := v.matrix()
		for k, p := range a.parts {
			a.sums = append(a.sums, datum("sums", matrix, k, v.owner(p), column(make([]float64, vector.Len(p.lo, p.hi-p.lo)))))
		}
	}
	// Ask for the sums when all tasks are submitted, so that they come at the same time.
	there := make(chan error, len(a.parts))
	for k, p := range a.parts {
		operands := []graph.Operand{in(a.data[k]), in(b.data[k]), out(a.sums[k])}
		if x == y {
			operands = operands[1:]
		}
		v.tasks.submit(ops().dot, &dotParams{p.lo, scale}, operands...)
	}
	if v.tasks.err != nil {
		return 0, v.tasks.err
	}
	for k := range a.parts {
		v.tasks.job.Notify(a.sums[k], func(err error) { there <- err })
	}
	for range a.parts {
		if err := <-there; err != nil {
			v.tasks.err = cmp.Or(v.tasks.err, v.tasks.job.Err(), err)
		}
	}
	var sum vector.Sum
	for k, p := range a.parts {
		sum.Add(p.hi-p.lo, a.sums[k].Value.(*tile).Data)
	}
	return sum.Total(), v.tasks.err
}

// Close implements krylov.Vectors.
func (v *residents) Close(x krylov.Vector) error {
	r := v.all[x]
	for k := range r.parts {
		v.tasks.submit(ops().slice, &sliceParams{}, in(r.data[k]), out(r.from[k]))
	}
	err := v.tasks.wait()
	v.close()
	for _, k := range v.kept {
		k.Release()
	}
	return err
}
