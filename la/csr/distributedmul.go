package csr

import (
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
		from := graph.Operand{Datum: datum("x", 2, 0, 0, x), Mode: graph.In}
		for b := range blocks {
			lo, hi := a.Rows(b)
			if lo == hi {
				continue
			}
			to := &tile{Rows: hi - lo, Cols: y.Cols, Stride: y.Stride, Data: y.Data[lo*y.Stride:][:(hi-lo-1)*y.Stride+y.Cols]}
			s := graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &blocks[b], Mode: graph.In}, from,
				{Datum: datum("y", 3, b, blocks[b].Owner, to), Mode: graph.Out}}}
			if _, err := job.Submit(&s); err != nil {
				return err
			}
		}
		return nil
	})
}

// mulTransposed computes y = Aᵀ·x. The product of the first block, and then the sum, is in y;
// the others stay on the nodes.
func (a *Distributed) mulTransposed(ctx context.Context, y, x []float64) error {
	if len(a.blocks) == 0 || len(y) == 0 {
		clear(y)
		return nil
	}
	sums, others := []*tile{column(y)}, []versions.Shaped(nil)
	for range len(a.blocks) - 1 {
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
		to := make([]*graph.Datum, len(sums))
		for b := range to {
			lo, hi := a.Rows(b)
			to[b] = datum("y", 3, b, blocks[b].Owner, sums[b])
			s := graph.Spec{Op: ops().tmv, Operands: []graph.Operand{{Datum: &blocks[b], Mode: graph.In},
				{Datum: datum("x", 2, b, blocks[b].Owner, column(x[lo:hi])), Mode: graph.In}, {Datum: to[b], Mode: graph.Out}}}
			if _, err := job.Submit(&s); err != nil {
				return err
			}
		}
		for step := 1; step < len(to); step *= 2 {
			for b := 0; b+step < len(to); b += 2 * step {
				s := graph.Spec{Op: ops().add, Operands: []graph.Operand{{Datum: to[b+step], Mode: graph.In}, {Datum: to[b], Mode: graph.InOut}}}
				if _, err := job.Submit(&s); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
