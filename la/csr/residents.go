package csr

import (
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// division says how vectors of one length are divided into parts.
type division struct {
	parts []part
	sums  []*graph.Datum // for each part: its sums of a dot product, in the memory of this process
}

// resident is a vector on the nodes.
type resident struct {
	*division
	data []*graph.Datum // for each part
	from []*graph.Datum // for each part: that of the slice given to Load; nil if New made the vector
}

// residents implements krylov.Vectors: the vectors of an iteration, which are on the nodes. All tasks of the
// iteration are one job. So if a node is lost, its data are computed again from b and x, or from versions
// that other nodes have.
type residents struct {
	a          *Distributed
	tasks      tasks
	blocks     []graph.Datum
	spans      []*graph.Datum
	rows, cols *division
	all        []*resident
	slices     []*graph.Datum // for each slice of the halo: its copy; nil if blocks read the whole part
	whole      []*graph.Datum // products of transposed blocks, which are then added up
	kept       []exec.Kept    // released by Close
	matrices   uint32         // number of matrices of the job beside A
	close      func()         // ends the watch over the context
}

// matrix returns the number of a new matrix of the job.
func (v *residents) matrix() uint32 {
	v.matrices++
	return v.matrices + 1
}

// make returns data that stay on the nodes: tile k has one column and rows[k] rows, and owner(k) owns it.
func (v *residents) make(rows []int, owner func(k int) int32) (data []*graph.Datum) {
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

// of returns the division of vectors of n elements: as the rows of A, or else as its columns.
func (v *residents) of(n int) *division {
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
