package csr

import (
	"cmp"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/vector"
	"github.com/tessera-la/tessera/la/krylov"
	"github.com/tessera-la/tessera/versions"
)

// layout says how vectors of one length are divided into parts.
type layout struct {
	parts []part
	sums  []*graph.Datum // for each part: its sums of a dot product, in the memory of this process
}

// resident is a vector on the nodes.
type resident struct {
	*layout
	data []*graph.Datum // for each part
	from []*graph.Datum // for each part: that of the slice given to Load; nil if New made the vector
}

// residents implements krylov.Vectors: the vectors of an iteration, which are on the nodes. All tasks of the
// iteration are one job. So if a node is lost, its data are computed again from b and x, or from versions
// that other nodes have.
type residents struct {
	a          *Distributed
	tasks      tasks
	blocks     []graph.Datum  // the blocks of A: matrix 1 of the job
	spans      []*graph.Datum // for each block with rows: its span of the halo; nil if there is no halo
	rows, cols *layout        // of vectors of as many elements as A has rows, or columns
	vectors    []*resident    // by krylov.Vector
	slices     []*graph.Datum // for each slice of the halo: its copy; nil if blocks read the whole part
	whole      []*graph.Datum // products of transposed blocks, which are then added up
	kept       []exec.Kept    // released by Close
	matrices   uint32         // number of matrices of the job beside A
	close      func()         // ends the watch over the context
}

// matrix returns the number of a new matrix of the job. A is matrix 1, so the first new one is matrix 2.
func (v *residents) matrix() uint32 {
	v.matrices++
	return v.matrices + 1
}

// New implements krylov.Vectors.
func (v *residents) New(n int) krylov.Vector {
	r := &resident{layout: v.layout(n)}
	var rows []int
	for _, p := range r.parts {
		rows = append(rows, p.hi-p.lo)
	}
	r.data = v.allocate(rows, func(k int) int32 { return v.owner(r.parts[k]) })
	v.vectors = append(v.vectors, r)
	return krylov.Vector(len(v.vectors) - 1)
}

// Load implements krylov.Vectors. Each of its tasks has a block of A as an operand, so that it runs on the
// node of the block.
func (v *residents) Load(x []float64) krylov.Vector {
	number := v.New(len(x))
	r, matrix := v.vectors[number], v.matrix()
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
	from, to := v.vectors[x], v.vectors[dst]
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
		v.whole = v.allocate(rows, func(k int) int32 { return v.owner(rest[k]) })
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
	from, to := v.vectors[x], v.vectors[y]
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
	a, b := v.vectors[x], v.vectors[y]
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
	r := v.vectors[x]
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

// receive makes the data for the slices of x, and the data of the spans.
func (v *residents) receive() {
	matrix := v.matrix()
	for k, s := range v.a.halo.spans {
		v.spans = append(v.spans, datum("columns", matrix, k, v.owner(v.rows.parts[k]), s))
	}
	all := v.a.halo.slices
	v.slices = make([]*graph.Datum, len(all))
	var rows, at []int
	for n := range all {
		if s := &all[n]; !s.whole {
			rows, at = append(rows, s.hi-s.lo), append(at, n)
		}
	}
	// The node of the part makes the slice, so only the slice goes to another node.
	made := v.allocate(rows, func(k int) int32 { return v.owner(v.rows.parts[all[at[k]].part]) })
	for k, n := range at {
		v.slices[n] = made[k]
	}
}

// send submits tasks that make the slices of x. It returns, for each slice of the halo, the datum that
// blocks read: the slice, or the whole part.
func (v *residents) send(x *resident) []*graph.Datum {
	read := make([]*graph.Datum, len(v.slices))
	for n, d := range v.slices {
		s := &v.a.halo.slices[n]
		if read[n] = d; d == nil {
			read[n] = x.data[s.part]
			continue
		}
		v.tasks.submit(ops().slice, &sliceParams{Row: s.lo}, in(x.data[s.part]), out(d))
	}
	return read
}

// allocate returns data that stay on the nodes: tile k has one column and rows[k] rows, and owner(k) owns it.
func (v *residents) allocate(rows []int, owner func(k int) int32) (data []*graph.Datum) {
	matrix := v.matrix()
	values := make([]versions.Shaped, len(rows)) // without memory here, unless the blocks are here, too
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

// layout returns the layout of vectors of n elements: that of the rows of A, or else that of its columns.
func (v *residents) layout(n int) *layout {
	if n == v.a.rows {
		return v.rows
	}
	return v.cols
}

// owner returns the owner of a part: that of its block, or the driver.
func (v *residents) owner(p part) int32 {
	if p.block < 0 {
		return 0
	}
	return v.blocks[p.block].Owner
}
