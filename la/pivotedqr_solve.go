package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// SolveTo computes, for each column of B, of all x that minimize ‖b − A·x‖₂ the one of least ‖x‖₂, dst = X. A counts as a
// matrix of the given rank, as Rank returns one: the rows of R after it count as zero. B is m×nrhs and X n×nrhs; an empty
// *mat.Dense takes the shape of X.
//
// The first solution of a rank less than n factors the first rows of R, by a complete orthogonal decomposition.
//
// The error is a *ShapeError, an *OverflowError if B is finite and the solution is not, an *exec.TaskError that names the
// version that failed, or exec.ErrClosed; dst is then unchanged but for its shape. SolveTo panics with ErrRank if rank is
// negative or greater than the number of diagonal elements of R up to the last that is not zero. The option is
// [WithContext].
//
// Reference: LAPACK xGELSY.
func (f *PivotedQR[T]) SolveTo(dst Destination[T], b Source[T], rank int, opts ...CallOption) error {
	f.check()
	ctx, err := contextOf("PivotedQR.SolveTo", opts)
	if err != nil {
		return err
	}
	f.checkRank(rank)
	to, err := checkSystem("SolveTo", f.m, f.n, dst, b)
	if err != nil {
		return err
	}
	if _, nrhs := b.Dims(); f.n == 0 || nrhs == 0 {
		return nil
	}
	x, err := f.solve(ctx, b, rank)
	if err == nil {
		err = inRange(ctx, f.engine, x, b)
	}
	if err == nil {
		x.CopyTo(to, f.engine.Options().Workers)
	}
	return err
}

// checkRank panics with ErrRank if R has no such rank.
func (f *PivotedQR[T]) checkRank(rank int) {
	if rank < 0 || rank > f.Rank(0) {
		panic(ErrRank)
	}
}

// solve returns the solution for b, n×nrhs.
func (f *PivotedQR[T]) solve(ctx context.Context, b Source[T], rank int) (*blocked.Matrix[T], error) {
	_, nrhs := b.Dims()
	nb, _ := engine.TileSize[T](f.engine, engine.OpTrsm, max(f.n, 1), max(f.n, 1))
	z := blocked.New[T](blocked.Full, f.n, nrhs, max(nb, 1))
	if rank == 0 || nrhs == 0 {
		return z, f.engine.Ready(ctx)
	}
	if f.tall != nil {
		y := General[T]{Rows: f.m, Cols: nrhs, Stride: nrhs, Data: make([]T, f.m*nrhs)}
		if err := f.tall.ApplyQTo(y, blas.Left, true, b, WithContext(ctx)); err != nil {
			return nil, err
		}
		b = General[T]{Rows: f.n, Cols: nrhs, Stride: nrhs, Data: y.Data[:f.n*nrhs]}
	}
	m, _ := b.Dims()
	in, _ := blocked.From(b, blocked.Full, max(m, nrhs), copying(f.engine))
	x := blocked.New[T](blocked.Full, nrhs, m, max(m, nrhs))
	back := scaleColumns(in, f.exp, f.engine.Options().Workers)
	transpose.Copy(x.Tile(0, 0).Data, x.Tile(0, 0).Stride, in.Tile(0, 0).Data, in.Tile(0, 0).Stride, nrhs, m)
	if err := f.multiply(ctx, false, x.Tile(0, 0)); err != nil {
		return nil, err
	}
	c := blocked.New[T](blocked.Full, rank, nrhs, max(nb, 1))
	for j := range nrhs {
		for i, v := range x.Tile(0, 0).Row(j)[:rank] {
			c.Set(i, j, v)
		}
	}
	y, err := f.expand(ctx, c)
	if err != nil {
		return nil, err
	}
	for i, p := range f.pivots.Rows {
		for j := range nrhs {
			z.Set(p, j, y.At(i, j))
		}
	}
	if back != nil {
		shiftColumns(z, z, back, f.engine.Options().Workers)
	}
	return z, nil
}

// rows returns the first rows of R, transposed, in tiles of nb×nb.
func (f *PivotedQR[T]) rows(rank, nb int) *blocked.Matrix[T] {
	w := blocked.New[T](blocked.Full, f.n, rank, nb)
	b := f.b.Tile(0, 0)
	for i := range f.n {
		for j := 0; j < min(i+1, rank); j += nb {
			copy(w.Tile(i/nb, j/nb).Row(i%nb), b.Row(i)[j:min(i+1, rank)])
		}
	}
	return w
}

// completed returns the factorization of the transpose of the first rows of R.
func (f *PivotedQR[T]) completed(ctx context.Context, rank int) (*QR[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.complete == nil || f.rank != rank {
		q := NewQR[T](f.engine)
		nb, _ := engine.QRTileSize[T](f.engine, q.opt.TileSize, f.n, rank)
		if err := q.factorize(ctx, f.rows(rank, max(nb, 1))); err != nil {
			return nil, err
		}
		f.complete, f.rank = q, rank
	}
	return f.complete, nil
}

// expand returns the y of least norm with W·y = c, for the first rows W of R, as many as c has.
func (f *PivotedQR[T]) expand(ctx context.Context, c *blocked.Matrix[T]) (*blocked.Matrix[T], error) {
	rank, nrhs := c.Dims()
	if rank == f.n {
		w := f.rows(rank, c.NB())
		mt, _ := c.Tiles()
		return c, execute(ctx, f.engine, engine.SolvesDirect[T](f.engine, mt, rank, nrhs), func(s *executor[T]) {
			s.trsm(blas.Lower, blas.Trans, blas.NonUnit, w, c)
		})
	}
	q, err := f.completed(ctx, rank)
	if err != nil {
		return nil, err
	}
	y, err := q.solve(ctx, true, c)
	if _, ok := err.(mat.Condition); ok && y != nil {
		err = nil // the caller has chosen the rank
	}
	return y, err
}

// NullSpaceTo computes an orthonormal basis of the null space of A in the columns of dst, n×(n−rank), where A counts as a
// matrix of the given rank, as in SolveTo. An empty *mat.Dense takes the shape. If rank is n there is nothing to compute.
//
// The errors and the option are those of [PivotedQR.QThinTo]. It panics with ErrRank as SolveTo does.
func (f *PivotedQR[T]) NullSpaceTo(dst Sink[T], rank int, opts ...CallOption) error {
	f.check()
	ctx, err := contextOf("PivotedQR.NullSpaceTo", opts)
	if err != nil {
		return err
	}
	f.checkRank(rank)
	k := f.n - rank
	if k == 0 {
		if r, c := dst.Dims(); r*c != 0 {
			return &ShapeError{"NullSpaceTo", fmt.Sprintf("the basis is %d×0 and dst %d×%d", f.n, r, c)}
		}
		return nil
	}
	if err := shapeResult[T]("NullSpaceTo", "basis", dst, f.n, k); err != nil {
		return err
	}
	x := General[T]{Rows: f.n, Cols: k, Stride: k, Data: make([]T, f.n*k)}
	for i := range k {
		x.Data[(rank+i)*k+i] = 1
	}
	if rank > 0 {
		q, err := f.completed(ctx, rank)
		if err == nil {
			err = q.ApplyQTo(x, blas.Left, false, x, WithContext(ctx))
		}
		if err != nil {
			return err
		}
	}
	for i, p := range f.pivots.Rows {
		for j, v := range x.Data[i*k:][:k] {
			dst.Set(p, j, v)
		}
	}
	return nil
}

// solveLeastNorm returns the least-squares solution of least norm for the rank that opt finds, and stores the rank.
func solveLeastNorm[T Element](ctx context.Context, e *Engine, a, b Source[T], opt *LeastNorm) (*blocked.Matrix[T], error) {
	f := NewPivotedQR[T](e)
	if err := f.factorize(ctx, a); err != nil {
		return nil, err
	}
	rcond := opt.RCond
	if rcond == 0 {
		rcond = float64(max(f.m, f.n)) * 2 * scalar.Eps[T]()
	}
	rank := f.Rank(rcond)
	if opt.Rank != nil {
		*opt.Rank = rank
	}
	return f.solve(ctx, b, rank)
}
