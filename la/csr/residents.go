package csr

import (
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// division is how vectors of one length are divided into parts.
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

// residents are the vectors of an iteration, whose tasks are one job. So data of a lost node is
// computed again from b and x, unless a node has a later version.
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

// make returns data for tiles of one column, of rows[k] rows each, that stay on the nodes.
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

// of returns the division of vectors of n elements.
func (v *residents) of(n int) *division {
	if n == v.a.rows {
		return v.rows
	}
	return v.cols
}

// owner returns the owner of a part.
func (v *residents) owner(p part) int32 {
	if p.block < 0 {
		return 0
	}
	return v.blocks[p.block].Owner
}
