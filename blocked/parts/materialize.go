package parts

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Materialize submits tasks that copy each partition of A into one block, as [RowBlocks.Materialize]
// does, and returns these blocks. If A is on nodes, each block stays on the node where its task has
// run. A scheduling policy that considers where operands are runs the task where the partition's
// blocks are; then no rows are sent between nodes or through this process.
//
// If A is in memory, p must not write that memory, except through the matrix that A was made from. The
// caller must not use the result before the job's Wait, and must Close it afterwards.
//
// The error is the runtime's or the job's. Also after an error the caller must Close the result after
// Wait, since tasks that were submitted before may still write its blocks.
func Materialize[T blocked.Element](p *blocked.Program[T], a *RowBlocks[T], ps *Partitions) (*RowBlocks[T], error) {
	tasks := submit.Of(p)
	from := rowData(tasks, a)
	to := &RowBlocks[T]{rows: ps.Len(), cols: a.cols, blocks: make([]*blocked.Tile[T], len(ps.list)), owners: make([]int, len(ps.list))}
	for k := range ps.list {
		part := &ps.list[k]
		to.owners[k] = int(from[part.blocks[0]].Owner)
		t := tiles.OutlineTile[T](part.Len(), a.cols)
		if a.away == nil {
			t = tiles.NewTile[T](part.Len(), a.cols)
		}
		to.blocks[k] = &t
	}
	if a.away != nil {
		var err error
		if to.away, err = a.away.Keep(to.blocks); err != nil {
			return to, err
		}
	}
	data := rowData(tasks, to)
	whole := &op.Recut{Across: 1, Uplo: blas.All}
	for k := range ps.list {
		tasks.Operands = append(tasks.Operands[:0], submit.Out(&data[k]))
		for _, b := range ps.list[k].blocks {
			tasks.Operands = append(tasks.Operands, submit.In(&from[b]))
		}
		tasks.Submit(tasks.Op("recut"), whole, 0, tasks.Operands...)
	}
	return to, tasks.Err
}

// rowData returns the blocks of a as data. If they are tiles of a matrix, it returns the data of that
// matrix.
func rowData[T blocked.Element](p *submit.Tasks[T], a *RowBlocks[T]) []graph.Datum {
	if a.of != nil {
		return p.Reads(a.of).Data
	}
	a.away.Use()
	return p.Data(a, "rows", len(a.blocks), 1, func(k, _ int) (versions.Value, int) { return a.blocks[k], a.owner(k) })
}
