package csr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Distributed is an m×n sparse matrix in blocks of rows. Each block lies on the node where its task ran, if
// the runtime has several nodes (an exec.Keeper, such as a cluster.Driver). So no node needs memory for all
// blocks. They stay until [Distributed.Close]. On a runtime of one machine all blocks are in its memory.
//
//	a, err := csr.Generate(ctx, d, n, sizes, op, params) // or csr.ReadParts, csr.Scatter
//	defer a.Close()
//	result, err := krylov.CG(ctx, a, x, b, krylov.CGOptions{})
//
// Nodes list [Ops], [Values] and [Errors] in their cluster.Options, as labench agent does. If a node is
// lost, the tasks that made its blocks make them again. A matrix of [Scatter] is the exception, since its
// source may have changed: products then fail with a *cluster.NodeLostError.
//
// A Distributed is an operator for package la/krylov, with vectors on the nodes, and a parts.Collection of
// its rows. Its methods must not be called concurrently.
type Distributed struct {
	rt         exec.Runtime
	rows, cols int
	starts     []int     // the first row of each block, and the end
	blocks     []Block   // shapes without memory if the blocks are on nodes
	kept       exec.Kept // the blocks on nodes; nil if they are in memory
	owners     int       // number of nodes, for policies that use owners
	halo       *halo     // nil until vectors are on the nodes
	closed     atomic.Bool
}

// Size is the number of rows and of entries of a block.
type Size struct{ Rows, Entries int }

// Generate makes a matrix with n columns from blocks of the given sizes, from top to bottom. One task per
// block makes the block by op, an op of the program. params returns the parameter of the task for a block's
// number. The only operand of the task is the block, which op must overwrite:
//
//	func(call *versions.Call) error {
//		p, b := call.Params.(*grid), call.Args[0].(*csr.Block)
//		return b.Fill(func(i int, add func(col int, v float64)) { … }) // row p.First+i
//	}
//
// The error is a *[StructureError], or that of the runtime or the job.
func Generate(ctx context.Context, rt exec.Runtime, n int, sizes []Size, op *versions.Op, params func(block int) any) (*Distributed, error) {
	return build(ctx, rt, n, sizes, func(_ exec.Job, b int) (graph.Spec, error) { return graph.Spec{Op: op, Params: params(b)}, nil })
}

// Scatter copies a to the nodes of rt, in the given number of blocks of rows with about equally many
// entries; 0 means one block for each worker of exec.Working. If a has few rows, or very long ones, there
// may be fewer blocks. The program must not write the elements of a meanwhile. The error is a
// *[StructureError] if blocks is negative or a has more than 2³¹−1 columns, or one as of [Generate].
func Scatter(ctx context.Context, rt exec.Runtime, a *Matrix, blocks int) (*Distributed, error) {
	switch {
	case blocks < 0:
		return nil, &StructureError{-1, fmt.Sprintf("%d blocks of rows", blocks)}
	case !a.narrowed():
		return nil, &StructureError{-1, fmt.Sprintf("%d columns, and those of blocks have 32 bits", a.cols)}
	case blocks == 0:
		blocks = len(exec.Working(rt))
	}
	blocks = min(blocks, len(a.ja)+a.rows) // with so many, each row is a block
	starts := []int{0}
	for c := 1; c <= blocks; c++ {
		if r := reach(a.ia, share(c, blocks, len(a.ja)+a.rows)); r > starts[len(starts)-1] {
			starts = append(starts, r)
		}
	}
	sizes, from := make([]Size, len(starts)-1), make([]Block, len(starts)-1)
	for b := range sizes {
		from[b] = blockOf(a, starts[b], starts[b+1])
		sizes[b] = Size{from[b].rows, from[b].entries}
	}
	return build(ctx, rt, a.cols, sizes, func(_ exec.Job, b int) (graph.Spec, error) {
		return graph.Spec{Op: ops().copy, Operands: []graph.Operand{{Datum: &graph.Datum{
			Name: "rows", Key: graph.Key{Matrix: 2, I: int32(b)}, Value: &from[b], Bytes: from[b].Bytes(),
		}, Mode: graph.In}}}, nil
	})
}

// ReadParts reads a matrix from Matrix Market files, plain or compressed with gzip. Each file has the rows
// of a block, from top to bottom, and all columns. Its header must say general, not symmetric. A node reads
// each file; if that node is lost, another node reads it again. So all nodes must find the files under the
// same paths, as on a shared file system. This process reads only the headers, for the sizes.
//
// A block has the entries of its file: an index may occur twice, and zeros are stored. The columns of a row
// are ascending.
//
// The error is a *file.FormatError for a bad file; a *file.AccessError if a node cannot read its file or
// finds a file of another size; or one as of [Generate]. Files must not change before Close.
func ReadParts(ctx context.Context, rt exec.Runtime, paths []string) (*Distributed, error) {
	sizes, n := make([]Size, len(paths)), 0
	for b, path := range paths {
		s, err := partShape(path)
		switch {
		case err != nil:
			return nil, err
		case b > 0 && s.cols != n:
			return nil, &file.FormatError{File: path, Reason: fmt.Sprintf("%d columns, and %s has %d", s.cols, paths[0], n)}
		}
		sizes[b], n = Size{s.rows, s.entries}, s.cols
	}
	return build(ctx, rt, n, sizes, func(_ exec.Job, b int) (graph.Spec, error) {
		return graph.Spec{Op: ops().read, Params: &readParams{paths[b]}}, nil
	})
}

// partShape reads the header of a Matrix Market file, which must be a general one.
func partShape(path string) (s shape, err error) {
	enough := errors.New("that is all")
	err = file.ReadEntries(path, nil, func(rows, cols int, entries int64, general bool) error {
		if !general {
			return &file.FormatError{File: path, Line: 1, Reason: "a part has all entries of its rows, and a file with a symmetry does not: general files only"}
		}
		s = shape{rows, cols, int(min(entries, math.MaxInt32+1))}
		return cmp.Or(s.check(), enough)
	}, func(int, int, float64) {})
	if err == enough {
		return s, nil
	}
	return s, err
}

// build makes a matrix by a task for each block, with the block as its last operand. It is matrix
// 1 of the job.
func build(ctx context.Context, rt exec.Runtime, n int, sizes []Size, task func(job exec.Job, b int) (graph.Spec, error)) (*Distributed, error) {
	a := &Distributed{rt: rt, cols: n, starts: []int{0}, blocks: make([]Block, len(sizes)), owners: nodesOf(exec.Working(rt))}
	values := make([]versions.Shaped, len(sizes))
	for b, s := range sizes {
		a.blocks[b].shape = shape{s.Rows, n, s.Entries}
		if err := a.blocks[b].check(); err != nil {
			return nil, err
		}
		a.rows += s.Rows
		a.starts = append(a.starts, a.rows)
		values[b] = &a.blocks[b]
	}
	if n < 0 || a.rows < 0 {
		return nil, &StructureError{-1, fmt.Sprintf("%d×%d matrix", a.rows, n)}
	}
	if k, ok := rt.(exec.Keeper); ok {
		var err error
		if a.kept, err = k.Keep(values); err != nil {
			return nil, err
		}
	}
	err := a.run(ctx, func(job exec.Job, blocks []graph.Datum) error {
		for b := range blocks {
			s, err := task(job, b)
			if err != nil {
				return err
			}
			s.Operands = append(s.Operands, graph.Operand{Datum: &blocks[b], Mode: graph.Out})
			if _, err := job.Submit(&s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, cmp.Or(err, a.Close())
	}
	return a, nil
}

// nodesOf returns the number of nodes that have workers, and at least 1.
func nodesOf(workers []exec.Worker) int {
	hosts := map[string]bool{}
	for _, w := range workers {
		hosts[w.Host] = true
	}
	return max(1, len(hosts))
}

// run calls submit with a job and the blocks, and waits for the tasks. The job's error comes
// first, as it is usually the cause.
func (a *Distributed) run(ctx context.Context, submit func(job exec.Job, blocks []graph.Datum) error) error {
	job := a.rt.NewJob(ctx)
	err := submit(job, a.Data(1))
	return cmp.Or(job.Wait(), err)
}

// Close releases the blocks on the nodes. After it, methods that use the blocks panic with
// blocked.ErrReleased. Close may be called several times, but not while a job uses the matrix. It returns
// nil.
func (a *Distributed) Close() error {
	if !a.closed.Swap(true) && a.kept != nil {
		a.kept.Release()
	}
	return nil
}

// Dims returns the number of rows and columns.
func (a *Distributed) Dims() (m, n int) { return a.rows, a.cols }

// Rows returns the rows of a block: lo to hi−1.
func (a *Distributed) Rows(block int) (lo, hi int) { return a.starts[block], a.starts[block+1] }

// Blocks implements parts.Collection, whose items are the rows.
func (a *Distributed) Blocks() int { return len(a.blocks) }

// Items implements parts.Collection.
func (a *Distributed) Items(block int) int { return a.blocks[block].rows }

// Bytes implements parts.Collection.
func (a *Distributed) Bytes(block int) int64 { return a.blocks[block].Bytes() }

// Locate implements parts.Collection. It asks the runtime where the blocks are; on one machine it looks up
// the page of the element in the middle of each block. It panics with blocked.ErrReleased after Close.
func (a *Distributed) Locate(rt exec.Runtime) []int {
	a.used()
	if a.kept == nil {
		at := make([]unsafe.Pointer, len(a.blocks))
		for b := range at {
			if data := a.blocks[b].data; len(data) > 0 {
				at[b] = unsafe.Pointer(&data[len(data)/2])
			}
		}
		return parts.Near(rt, at)
	}
	values := make([]versions.Shaped, len(a.blocks))
	for b := range values {
		values[b] = &a.blocks[b]
	}
	return a.kept.Locate(values)
}

// OverNodes implements parts.Spread.
func (a *Distributed) OverNodes() bool { return a.kept != nil }

// Data returns the blocks as data for tasks of the program. The value of each is a *[Block], which the tasks
// must only read. matrix is the number of the matrix in the keys of the data, from 1; no other data of the
// job may have it. The owners divide the blocks into runs of consecutive blocks, for policies that use
// owners. Data panics with blocked.ErrReleased after Close.
func (a *Distributed) Data(matrix uint32) []graph.Datum {
	a.used()
	data := make([]graph.Datum, len(a.blocks))
	for b := range data {
		data[b] = graph.Datum{Name: "A", Key: graph.Key{Matrix: matrix, I: int32(b)}, Value: &a.blocks[b],
			Bytes: a.blocks[b].Bytes(), Owner: int32(b * a.owners / len(a.blocks))}
	}
	return data
}

// used panics if the matrix was closed.
func (a *Distributed) used() {
	if a.closed.Load() {
		panic(blocked.ErrReleased)
	}
}
