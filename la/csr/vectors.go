package csr

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/vector"
	"github.com/tessera-la/tessera/la/krylov"
	"github.com/tessera-la/tessera/versions"
)

// Vectors implements krylov.Keeper: the vectors of an iteration are on the nodes as the blocks are.
//
//	            node 1                 node 2
//	A           block 0    block 1     block 2    block 3
//	m elements  part 0     part 1      part 2     part 3       each where its block is
//	n elements  as those if m = n, or else one part on some node
//
// A product needs, of each part, the elements from the first to the last column that the blocks of
// a node have there. It fetches them from the node that has the part: see halo. Through this process
// go b and x, in the beginning and at the end, and of each dot product some dozen numbers for each
// block.
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
	// The iteration sees the context's end itself, between two steps. The job is told later.
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

// finishing is how long tasks may go on after the end of the context, so that the iteration at hand
// comes to its end, and x can be brought back.
const finishing = 5 * time.Second

// part is elements lo to hi−1 of a vector, with the block of A that has these rows; −1: none.
type part struct{ lo, hi, block int }

// division is how vectors are cut.
type division struct {
	parts []part
	sums  []*graph.Datum // of a dot product, in this process's memory
}

// resident is a vector on the nodes.
type resident struct {
	*division
	data []*graph.Datum // of its parts
	from []*graph.Datum // of those of the slice that it was made from; nil: none
}

// residents is the vectors of an iteration, whose tasks are one job. So what is lost with a node
// is made again from b and x, if no node has a later version.
type residents struct {
	a          *Distributed
	tasks      tasks
	blocks     []graph.Datum
	spans      []*graph.Datum
	rows, cols *division
	all        []*resident
	slices     []*graph.Datum // of x, as the halo has them; nil: the part itself
	whole      []*graph.Datum // products of the blocks of Aᵀ, and their sum, but for what is in the result
	kept       []exec.Kept
	matrices   uint32 // of the job, beside A
	close      func()
}

// matrix returns the number of a new matrix of the job.
func (v *residents) matrix() uint32 {
	v.matrices++
	return v.matrices + 1
}

// make returns data for tiles of one column that stay on the nodes, of so many rows each.
func (v *residents) make(rows []int, owner func(k int) int32) (data []*graph.Datum) {
	matrix := v.matrix()
	values := make([]versions.Shaped, len(rows)) // which have no memory here, unless all is here
	for k, n := range rows {
		t := &tile{Rows: n, Cols: 1, Stride: 1}
		if v.a.kept == nil {
			t.Data = make([]float64, n)
		}
		values[k] = t
		data = append(data, datum("v", matrix, k, owner(k), t))
	}
	if k, ok := v.a.rt.(exec.Keeper); ok && v.tasks.err == nil {
		kept, err := k.Keep(values)
		if v.tasks.err = err; err == nil {
			v.kept = append(v.kept, kept)
		}
	}
	return data
}

// of returns how vectors of n elements are cut.
func (v *residents) of(n int) *division {
	if n == v.a.rows {
		return v.rows
	}
	return v.cols
}

// owner returns that of a part.
func (v *residents) owner(p part) int32 {
	if p.block < 0 {
		return 0
	}
	return v.blocks[p.block].Owner
}

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

// Load implements krylov.Vectors. Tasks have the block as an operand, so that they run where it is.
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

// mulTransposed computes to = Aᵀ·from: in the memory of to, if that is one part, and otherwise in
// that of the first sum, which it then cuts.
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
	// Each part is asked for when its task is known, so that all come at once.
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
	var s vector.Sum
	for k, p := range a.parts {
		s.Add(p.hi-p.lo, a.sums[k].Value.(*tile).Data)
	}
	return s.Total(), v.tasks.err
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
