package csr

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/krylov"
)

// DistributedILU is a preconditioner on the nodes of a [Distributed]: block Jacobi, where each block of rows is a
// block of M, with an incomplete factorization L·U without fill of its square part. It implements
// krylov.KeeperPreconditioner, so that an iteration with the matrix leaves all vectors on the nodes.
type DistributedILU struct {
	a *Distributed
	m *Distributed // the factors, in the places of the elements of a
}

// NewDistributedILU factors the diagonal blocks of a square A, one task for each block of rows, on the node of the
// block. It takes as much memory as A. The fewer blocks A has, the more M resembles A. The bits depend on the
// blocks, but neither on the nodes nor on lost nodes. If A is symmetric, M is, but for rounding, and is for
// conjugate gradients, too, as long as its pivots are positive.
//
// The caller must close M.
//
// The error is a *[la.ShapeError], a *[PivotError] if a pivot is smaller than 2⁻⁴⁰ times the largest element of its
// row in the block, or one as of [Generate]. NewDistributedILU panics with blocked.ErrReleased after the Close of a.
func NewDistributedILU(ctx context.Context, a *Distributed) (*DistributedILU, error) {
	if a.rows != a.cols {
		return nil, &la.ShapeError{Op: "NewDistributedILU", Detail: fmt.Sprintf("A is %d×%d, not square", a.rows, a.cols)}
	}
	sizes, from := make([]Size, len(a.blocks)), a.Data(2)
	for b := range sizes {
		sizes[b] = Size{a.blocks[b].rows, a.blocks[b].entries}
	}
	m, err := build(ctx, a.rt, a.cols, sizes, func(_ exec.Job, b int) (graph.Spec, error) {
		return graph.Spec{Op: ops().ilu, Params: &rowsParams{a.starts[b]}, Operands: []graph.Operand{in(&from[b])}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &DistributedILU{a, m}, nil
}

// Close releases the factors on the nodes. After it, solutions panic with blocked.ErrReleased.
func (m *DistributedILU) Close() error { return m.m.Close() }

// Dims returns the order of M, twice.
func (m *DistributedILU) Dims() (rows, cols int) { return m.m.Dims() }

// SolveVecTo computes dst = M⁻¹·r for vectors in the memory of the program. The error is a *[la.ShapeError], or that
// of the job. SolveVecTo panics with [ErrOverlap] if dst and r begin at the same element, and with
// blocked.ErrReleased after Close.
func (m *DistributedILU) SolveVecTo(ctx context.Context, dst, r []float64) error {
	if err := checkSolve(m.m.rows, dst, r); err != nil {
		return err
	}
	return m.m.run(ctx, func(job exec.Job, blocks []graph.Datum) error {
		t := tasks{job: job}
		for b := range blocks {
			if lo, hi := m.m.Rows(b); lo < hi {
				t.submit(ops().solve, &rowsParams{lo}, in(&blocks[b]), in(datum("r", 2, b, blocks[b].Owner, column(r[lo:hi]))),
					out(datum("y", 3, b, blocks[b].Owner, column(dst[lo:hi]))))
			}
		}
		return t.err
	})
}

// On implements krylov.KeeperPreconditioner for the vectors of the matrix that was factored.
func (m *DistributedILU) On(v krylov.Vectors) func(dst, r krylov.Vector) error {
	n, ok := v.(*residents)
	if !ok || n.a != m.a {
		return nil
	}
	blocks := m.m.Data(n.matrix())
	return func(dst, r krylov.Vector) error {
		from, to := n.vectors[r], n.vectors[dst]
		for k, p := range to.parts {
			n.tasks.submit(ops().solve, &rowsParams{p.lo}, in(&blocks[p.block]), in(from.data[k]), out(to.data[k]))
		}
		return n.tasks.err
	}
}
