package csr

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// MulVecTo computes
//
//	dst = A·x, or dst = Aᵀ·x if trans is set,
//
// by one task for each block, on the node of the block. For op(A) of m×n, dst has m elements and x has n.
// Both are in the program's memory: x goes to each node once, and each node sends back the elements of dst
// for its rows. The bits of A·x are those of [Matrix.MulVecTo]. For Aᵀ·x each block makes a vector as long
// as dst, and a tree over consecutive blocks adds these vectors. So its bits depend on the division into
// blocks, but neither on the nodes nor on lost nodes.
//
// The error is an *[la.ShapeError], or that of the job; dst is then undefined. MulVecTo panics with
// [ErrOverlap] if dst and x begin at the same element, and with blocked.ErrReleased after Close.
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
//	dst = A·B
//
// by one task for each block, as [Distributed.MulVecTo]. dst and b are as for [Matrix.MulTo], and so are
// the bits and the panics. The error is an *[la.ShapeError], or that of the job; dst is then undefined.
func (a *Distributed) MulTo(ctx context.Context, dst *mat.Dense, b mat.Matrix) error {
	x, y, err := productOperands(a.rows, a.cols, dst, b)
	if err != nil || a.rows == 0 || x.Cols == 0 {
		return err
	}
	return a.mul(ctx, ops().mm, &tile{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data}, &tile{Rows: y.Rows, Cols: y.Cols, Stride: y.Stride, Data: y.Data})
}

// mul computes y = A·x by op, in one task for each block that has rows.
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

// mulTransposed computes y = Aᵀ·x. The product of the first block is in y, where the sum comes, too. The
// products of the other blocks stay on the nodes.
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
