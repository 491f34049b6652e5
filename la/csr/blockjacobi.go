package csr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/lapack/gonum"
)

// BlockJacobiOptions configures [NewBlockJacobi]. The zero value means blocks of 16 rows.
type BlockJacobiOptions struct {
	// Size is the number of rows of a block; the last one may have fewer. 0 means 16.
	Size int
	// Blocks, if not 0, is the number of blocks instead, with about equally many entries each. For one block per
	// worker, it is the number of workers; the result then depends on it.
	Blocks int
	// Solver makes the preconditioner of a block, by [NewIC] or [NewILU]. Workers call it for several blocks at once;
	// it must not wait for other work of the workers. nil means the dense inverse.
	Solver func(block *Matrix) (krylov.Preconditioner, error)
}

// BlockJacobi is a preconditioner of diagonal blocks of a matrix. It implements krylov.Preconditioner.
type BlockJacobi struct {
	a       *Matrix // its workers
	starts  []int   // the first row of each block, and the end
	solvers []krylov.Preconditioner
	site    loop.Site
}

// widest is the largest number of rows of a block whose inverse is dense.
const widest = 1 << 11

// NewBlockJacobi returns the diagonal blocks of a square A as a preconditioner:
//
//	M = ⎛A₀₀        ⎞
//	    ⎜   A₁₁     ⎟
//	    ⎝        …  ⎠
//
// The blocks are of consecutive rows. Workers solve with several blocks at once; the bits are the same on any
// number of workers, if opt is.
//
// The error is a *[la.OptionsError], also if a block without a Solver has more than 2,048 rows, a *[la.ShapeError],
// a *[la.NonFiniteError], a *[PivotError] if a block is singular, or that of the Solver for the first block that
// has one.
func NewBlockJacobi(a *Matrix, opt BlockJacobiOptions) (*BlockJacobi, error) {
	var bad problems.List
	bad.Check(opt.Size >= 0, "Size is %d, want at least 0", opt.Size)
	bad.Check(opt.Blocks >= 0, "Blocks is %d, want at least 0", opt.Blocks)
	bad.Check(opt.Size == 0 || opt.Blocks == 0, "Size and Blocks are both set")
	if bad != nil {
		return nil, &la.OptionsError{Problems: bad}
	}
	if err := a.square("NewBlockJacobi"); err != nil {
		return nil, err
	}
	m := &BlockJacobi{a: a, starts: []int{0}}
	add := func(end int) {
		if begin := m.starts[len(m.starts)-1]; end > begin {
			bad.Check(opt.Solver != nil || end-begin <= widest, "a block of %d rows has no dense inverse, set Solver", end-begin)
			m.starts = append(m.starts, end)
		}
	}
	if opt.Blocks > 0 {
		for c, blocks := 1, min(opt.Blocks, a.rows); c <= blocks; c++ {
			add(reach(a.ia, share(c, blocks, len(a.ja)+a.rows)))
		}
	} else {
		size := opt.Size
		if size == 0 {
			size = 16
		}
		for end := 0; end < a.rows; {
			end = min(a.rows, end+min(size, a.rows))
			add(end)
		}
	}
	if bad != nil {
		return nil, &la.OptionsError{Problems: bad[:1]}
	}
	if opt.Solver == nil {
		opt.Solver = func(block *Matrix) (krylov.Preconditioner, error) { return newInverse(block) }
	}
	m.solvers = make([]krylov.Preconditioner, len(m.starts)-1)
	err := m.each(context.Background(), func(_ context.Context, b int) (err error) {
		if m.solvers[b], err = opt.Solver(a.block(m.starts[b], m.starts[b+1])); err != nil {
			if e, ok := err.(*PivotError); ok {
				e.Row += m.starts[b]
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// block returns the diagonal block of rows lo to hi−1.
func (a *Matrix) block(lo, hi int) *Matrix {
	ia := make([]int, 1, hi-lo+1)
	var ja []int
	var data []float64
	for i := lo; i < hi; i++ {
		for e := a.ia[i]; e < a.ia[i+1]; e++ {
			if j := a.ja[e]; j >= lo && j < hi {
				ja, data = append(ja, j-lo), append(data, a.data[e])
			}
		}
		ia = append(ia, len(ja))
	}
	return &Matrix{rows: hi - lo, cols: hi - lo, ia: ia, ja: ja, data: data, starts: balance(ia, blockWork), rt: a.rt}
}

// each calls do for all blocks, and returns the error of the first one that has one.
func (m *BlockJacobi) each(ctx context.Context, do func(ctx context.Context, block int) error) error {
	run := func(ctx context.Context, lo, hi int) error {
		for b := lo; b < hi; b++ {
			if err := do(ctx, b); err != nil {
				return err
			}
		}
		return nil
	}
	if m.a.rows <= grain {
		return cmp.Or(run(ctx, 0, len(m.solvers)), context.Cause(ctx))
	}
	err := loop.For(ctx, m.a.rt, len(m.solvers), loop.Options{Site: &m.site}, func(c loop.Chunk) error { return run(c.Context(), c.Lo, c.Hi) })
	if e, ok := errors.AsType[*loop.ChunkError](err); ok {
		return e.Err
	}
	return err
}

// Dims returns the order of M, twice.
func (m *BlockJacobi) Dims() (rows, cols int) { return m.a.rows, m.a.rows }

// Blocks returns the number of blocks.
func (m *BlockJacobi) Blocks() int { return len(m.solvers) }

// SolveVecTo computes dst = M⁻¹·r. The error is a *[la.ShapeError], that of [loop.For], or that of the Solver of a
// block. SolveVecTo panics with [ErrOverlap] if dst and r begin at the same element.
func (m *BlockJacobi) SolveVecTo(ctx context.Context, dst, r []float64) error {
	if err := checkSolve(m.a.rows, dst, r); err != nil {
		return err
	}
	return m.each(ctx, func(ctx context.Context, b int) error {
		lo, hi := m.starts[b], m.starts[b+1]
		return m.solvers[b].SolveVecTo(ctx, dst[lo:hi:hi], r[lo:hi:hi])
	})
}

// inverse is the dense inverse of a small matrix, as a preconditioner.
type inverse struct {
	n int
	v []float64 // by rows; of 2^−exp·A
	s float64   // 2^−exp
}

// newInverse inverts a by its LU factorization. The inverse of a symmetric matrix is
// symmetric.
func newInverse(a *Matrix) (*inverse, error) {
	n := a.rows
	_, exp := a.diagonal()
	m := &inverse{n, make([]float64, n*n), math.Ldexp(1, -exp)}
	row := func(i int) []float64 { return m.v[i*n : (i+1)*n] }
	for i := range n {
		for e := a.ia[i]; e < a.ia[i+1]; e++ {
			row(i)[a.ja[e]] += a.data[e] * m.s
		}
	}
	symmetric := true
	for i := range n {
		for j := range i {
			symmetric = symmetric && m.v[i*n+j] == m.v[j*n+i]
		}
	}
	pivots, work := make([]int, n), make([]float64, n)
	impl := gonum.Implementation{}
	impl.Dgetrf(n, n, m.v, max(n, 1), pivots)
	for k := range n {
		if size := math.Abs(m.v[k*n+k]); !(size > 0) || math.IsInf(1/size, 0) {
			return nil, &PivotError{"NewBlockJacobi", k, size / m.s, fmt.Sprintf("a block of %d rows that is singular", n)}
		}
	}
	impl.Dgetri(n, m.v, max(n, 1), pivots, work, len(work))
	if symmetric {
		for i := range n {
			for j := range i {
				v := m.v[i*n+j]/2 + m.v[j*n+i]/2
				m.v[i*n+j], m.v[j*n+i] = v, v
			}
		}
	}
	return m, nil
}

// Dims returns the order, twice.
func (m *inverse) Dims() (rows, cols int) { return m.n, m.n }

// SolveVecTo computes dst = A⁻¹·r.
func (m *inverse) SolveVecTo(_ context.Context, dst, r []float64) error {
	for i := range dst {
		sum := 0.0
		for j, v := range m.v[i*m.n : (i+1)*m.n] {
			sum += v * r[j]
		}
		dst[i] = sum * m.s
	}
	return nil
}
