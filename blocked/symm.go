package blocked

import (
	"errors"

	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Diagonal holds copies of the diagonal tiles of a symmetric matrix, with both
// halves of each.
type Diagonal[T Element] struct {
	nb, order int
	tiles     []*Matrix[T] // of one tile each
}

// NewDiagonal returns a copy of the diagonal tiles of a, made by at most the
// given number of goroutines (0 or less: GOMAXPROCS). It panics with ErrKind if
// a is neither SymLower nor SymUpper.
func NewDiagonal[T Element](a *Matrix[T], workers int) *Diagonal[T] {
	if !a.Kind().Symmetric() {
		panic(ErrKind)
	}
	d := &Diagonal[T]{nb: a.NB(), order: a.Rows(), tiles: make([]*Matrix[T], a.MT())}
	a.EachTile(workers, func(k, j int) {
		if k != j {
			return
		}
		t := a.Read(k, k)
		s := Symmetric[T]{Uplo: a.Kind().Uplo(), N: t.Rows, Data: t.Data, Stride: t.Stride}
		d.tiles[k], _ = From[T](s, Full, max(1, t.Rows), CopyOptions{Workers: 1})
	})
	return d
}

// DistributedDiagonal is [NewDiagonal] for a distributed symmetric matrix A. It submits tasks that copy
// each diagonal tile on the node where the tile is. The caller must Close the result. The error is the
// runtime's, or that of a submission; the result then is nil. It panics with ErrKind if a is neither
// SymLower nor SymUpper.
func (p *Program[T]) DistributedDiagonal(rt exec.Runtime, a *Matrix[T]) (_ *Diagonal[T], err error) {
	if !a.Kind().Symmetric() {
		panic(ErrKind)
	}
	from := p.tasks.Reads(a)
	d := &Diagonal[T]{nb: a.NB(), order: a.Rows(), tiles: make([]*Matrix[T], a.MT())}
	for k := range d.tiles {
		r, _ := a.TileDims(k, k)
		if d.tiles[k], err = Distributed[T](rt, Full, r, r, r); err != nil {
			break
		}
		owner := a.NearestOwner(k, k)
		_ = d.tiles[k].SetLayout(LayoutFunc(func(int, int) int { return owner }), owner+1) // which it fits
		to := p.tasks.Operand(d.tiles[k])
		p.tasks.Submit(p.tasks.Op("lasym"), &op.Lasym{Uplo: a.Kind().Uplo()}, 0, submit.In(from.Tile(k, k)), submit.Out(to.Tile(0, 0)))
	}
	if err = errors.Join(err, p.tasks.Err); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close makes the nodes release the tiles if d is distributed.
func (d *Diagonal[T]) Close() {
	for _, t := range d.tiles {
		if t != nil {
			t.Close()
		}
	}
}

// Tile returns the diagonal tile k, a Full matrix of one tile.
func (d *Diagonal[T]) Tile(k int) *Matrix[T] { return d.tiles[k] }

// Symm submits
//
//	C = alpha·A·B + beta·C
//
// for a symmetric n×n matrix A, which stores one half, and Full n×nrhs matrices B
// and C, all with the same tile size. diag is A's diagonal, made by [NewDiagonal]
// or [Program.DistributedDiagonal]. With alpha = 0, A and B are not read; with
// beta = 0, C is not. C must not share memory with A or B.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if A is not symmetric, or B or C not Full.
//
// Reference: BLAS xSYMM.
func (p *Program[T]) Symm(alpha T, a *Matrix[T], diag *Diagonal[T], b *Matrix[T], beta T, c *Matrix[T]) error {
	switch {
	case !a.Kind().Symmetric() || b.Kind() != Full || c.Kind() != Full:
		panic(ErrKind)
	case b.Rows() != a.Rows() || c.Rows() != a.Rows() || b.Cols() != c.Cols() || b.NB() != a.NB() || c.NB() != a.NB(),
		diag.order != a.Rows() || diag.nb != a.NB():
		panic(ErrShape)
	}
	if alpha == 0 {
		return p.scale(beta, c)
	}
	oa, ob, oc := p.tasks.Reads(a), p.tasks.Reads(b), p.tasks.Operand(c)
	first := &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: alpha, Beta: beta}
	plain := &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: alpha, Beta: 1}
	mirror := &op.Gemm[T]{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: alpha, Beta: 1}
	// C(i, j) += A(i, k)·B(k, j)
	add := func(params *op.Gemm[T], tile *graph.Datum, i, k, j int) {
		p.tasks.Submit(p.tasks.Op("gemm"), params, 0, submit.In(tile), submit.In(ob.Tile(k, j)), submit.InOut(oc.Tile(i, j)))
	}
	diagonal := p.tasks.Data(diag, "diagonal", len(diag.tiles), 1, func(k, _ int) (versions.Value, int) {
		return diag.tiles[k].Tile(0, 0), a.NearestOwner(k, k)
	})
	for k := range diagonal {
		if p.tasks.Err != nil {
			return p.tasks.Err
		}
		tile := &diagonal[k]
		if diag.tiles[k].IsDistributed() { // made by a task, maybe of this job
			tile = p.tasks.Reads(diag.tiles[k]).Tile(0, 0)
		}
		for j := range c.NT() {
			add(first, tile, k, k, j)
		}
	}
	for i := range a.MT() {
		for k := range i {
			if p.tasks.Err != nil {
				return p.tasks.Err // there may be billions of tasks
			}
			// The two products with one stored tile follow each other, while
			// it is in cache.
			var tile *graph.Datum
			lower, upper := plain, mirror
			if a.Kind() == SymLower {
				tile = oa.Tile(i, k)
			} else {
				tile, lower, upper = oa.Tile(k, i), mirror, plain
			}
			for j := range c.NT() {
				add(lower, tile, i, k, j)
				add(upper, tile, k, i, j)
			}
		}
	}
	return p.tasks.Err
}
