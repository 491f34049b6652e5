package csr

import (
	"cmp"
	"context"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// tile is a dense operand of a product.
type tile = kernels.Tile[float64]

// column returns x as a tile of one column.
func column(x []float64) *tile { return &tile{Rows: len(x), Cols: 1, Stride: 1, Data: x} }

// datum returns a tile as a datum: x is matrix 2 of a product, y 3.
func datum(name string, matrix uint32, i int, owner int32, t *tile) *graph.Datum {
	return &graph.Datum{Name: name, Key: graph.Key{Matrix: matrix, I: int32(i)}, Owner: owner, Value: t, Bytes: t.Bytes()}
}

// MulVecTo computes
//
//	dst = A·x, or dst = Aᵀ·x if trans is set,
//
// by a task for each block, where the block is. The vectors are in the program's memory: x goes
// to each node once, and each node sends the elements of dst that its rows make. The bits of A·x
// are those of [Matrix.MulVecTo]. For Aᵀ·x each block makes a vector of n elements, and these are
// added up in a tree of blocks that follow one another. So its bits depend on how the rows are
// cut, but not on the nodes, nor on which of them is lost.
//
// The error is an *[la.ShapeError], or the job's, after which dst is undefined. It panics with
// [ErrOverlap] if dst and x begin at the same element.
func (a *Distributed) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	if m, n := (&Matrix{rows: a.rows, cols: a.cols}).op(trans); len(dst) != m || len(x) != n {
		return &la.ShapeError{Op: "MulVecTo", Detail: fmt.Sprintf("op(A) is %d×%d, x has %d elements and dst %d", m, n, len(x), len(dst))}
	}
	if len(dst) > 0 && unsafe.SliceData(dst) == unsafe.SliceData(x) {
		panic(ErrOverlap)
	}
	if trans {
		return a.mulTransposed(ctx, dst, x)
	}
	return a.mul(ctx, ops().mv, column(x), column(dst))
}

// MulTo computes
//
//	dst = A·B,
//
// as [Distributed.MulVecTo] a product with a vector. The bits are those of [Matrix.MulTo], which
// says what dst and B may be.
func (a *Distributed) MulTo(ctx context.Context, dst *mat.Dense, b mat.Matrix) error {
	x, y, err := wide(a.rows, a.cols, dst, b)
	if err != nil || a.rows == 0 || x.Cols == 0 {
		return err
	}
	return a.mul(ctx, ops().mm, &tile{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data}, &tile{Rows: y.Rows, Cols: y.Cols, Stride: y.Stride, Data: y.Data})
}

// mul computes y = A·x by an op.
func (a *Distributed) mul(ctx context.Context, op *versions.Op, x, y *tile) error {
	return a.run(ctx, func(job exec.Job, blocks []graph.Datum) error {
		t, from := tasks{job: job}, datum("x", 2, 0, 0, x)
		for b := range blocks {
			lo, hi := a.Rows(b)
			if lo == hi {
				continue
			}
			to := &tile{Rows: hi - lo, Cols: y.Cols, Stride: y.Stride, Data: y.Data[lo*y.Stride:][:(hi-lo-1)*y.Stride+y.Cols]}
			t.submit(op, nil, in(&blocks[b]), in(from), out(datum("y", 3, b, blocks[b].Owner, to)))
		}
		return t.err
	})
}

// mulTransposed computes y = Aᵀ·x. The product of the first block, and then the sum, is in y;
// the others stay on the nodes.
func (a *Distributed) mulTransposed(ctx context.Context, y, x []float64) error {
	var full []int // blocks that have rows
	for b := range a.blocks {
		if a.blocks[b].rows > 0 {
			full = append(full, b)
		}
	}
	if len(full) == 0 || len(y) == 0 {
		clear(y)
		return nil
	}
	sums, others := []*tile{column(y)}, []versions.Shaped(nil)
	for range len(full) - 1 {
		t := &tile{Rows: len(y), Cols: 1, Stride: 1}
		if a.kept == nil {
			t.Data = make([]float64, len(y))
		}
		sums, others = append(sums, t), append(others, t)
	}
	if k, ok := a.rt.(exec.Keeper); ok {
		kept, err := k.Keep(others)
		if err != nil {
			return err
		}
		defer kept.Release()
	}
	return a.run(ctx, func(job exec.Job, blocks []graph.Datum) error {
		var to, from, parts []*graph.Datum
		for k, b := range full {
			lo, hi := a.Rows(b)
			from = append(from, &blocks[b])
			parts = append(parts, datum("x", 2, b, blocks[b].Owner, column(x[lo:hi])))
			to = append(to, datum("y", 3, b, blocks[b].Owner, sums[k]))
		}
		t := tasks{job: job}
		t.transposed(to, from, parts)
		return t.err
	})
}

// tasks submits those of a job, up to the first error.
type tasks struct {
	job exec.Job
	err error
}

func (t *tasks) submit(op *versions.Op, params any, operands ...graph.Operand) {
	if t.err == nil {
		_, t.err = t.job.Submit(&graph.Spec{Op: op, Params: params, Operands: operands})
	}
}

// wait waits for all of them.
func (t *tasks) wait() error {
	t.err = cmp.Or(t.job.Wait(), t.err) // the job's is the reason, as a rule
	return t.err
}

// transposed computes the products of transposed blocks with parts of a vector, and adds them up
// in the first one.
func (t *tasks) transposed(sums, blocks, x []*graph.Datum) {
	for k := range sums {
		t.submit(ops().tmv, nil, in(blocks[k]), in(x[k]), out(sums[k]))
	}
	for step := 1; step < len(sums); step *= 2 {
		for k := 0; k+step < len(sums); k += 2 * step {
			t.submit(ops().add, &addParams{1, 1}, in(sums[k+step]), graph.Operand{Datum: sums[k], Mode: graph.InOut})
		}
	}
}

func in(d *graph.Datum) graph.Operand  { return graph.Operand{Datum: d, Mode: graph.In} }
func out(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.Out} }
