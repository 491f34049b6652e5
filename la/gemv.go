package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"
)

// MulVec computes dst = a·x on the default engine. It is [Gemv] with alpha 1 and beta 0: dst
// may be x, and an empty *mat.VecDense takes the length of the product.
func MulVec[T Element](dst VectorSink[T], a Source[T], x VectorSource[T]) error {
	if mulVecDirect(dst, a, x) {
		return nil
	}
	if m, n := a.Dims(); n != x.Len() {
		return &ShapeError{"MulVec", fmt.Sprintf("a is %d×%d and x has %d elements", m, n, x.Len())}
	}
	return gemvFor(context.Background(), nil, callNames{"MulVec", "dst"}, blas.NoTrans, 1, a, x, 0, dst)
}

// Gemv computes
//
//	y = alpha·op(A)·x + beta·y,  op(A) = A or Aᵀ,
//
// where op(A) is m×n, x has n elements and y m. With alpha = 0 it reads neither A nor x; with
// beta = 0 it does not read y, and an empty *mat.VecDense takes the length. y may share memory
// with A or x, at the cost of a copy. Memory bandwidth bounds it: the calling goroutine
// multiplies an A of up to 4 MiB, and tasks a larger one. Of a symmetric A in memory it reads
// only the stored half and the tiles on the diagonal.
//
// NaN and infinities propagate as in BLAS, and the errors are those of [Gemm]. To multiply by
// several vectors, put them into a matrix and call Gemm, which reads A once.
//
// Reference: BLAS xGEMV, xSYMV.
func Gemv[T Element](ctx context.Context, e *Engine, trans blas.Transpose, alpha T, a Source[T], x VectorSource[T],
	beta T, y VectorSink[T]) error {
	return gemvFor(ctx, e, callNames{"Gemv", "y"}, trans, alpha, a, x, beta, y)
}

// gemvFor is Gemv with the names of the called function.
func gemvFor[T Element](ctx context.Context, e *Engine, by callNames, trans blas.Transpose, alpha T, a Source[T],
	x VectorSource[T], beta T, y VectorSink[T]) error {
	if gemvDirect(ctx, e, trans, alpha, a, x, beta, y) {
		return nil
	}
	if err := checkTrans(by.op, trans); err != nil {
		return err
	}
	m, n := dims(a, trans)
	if x.Len() != n {
		return &ShapeError{by.op, fmt.Sprintf("op(A) is %d×%d and x has %d elements", m, n, x.Len())}
	}
	if err := e.Ready(ctx); err != nil {
		return err
	}
	if to := (columnSink[T]{column[T]{y}, y}); beta == 0 {
		shape[T](to, m, 1)
	}
	if y.Len() != m {
		return &ShapeError{by.op, fmt.Sprintf("the product has %d elements and %s %d", m, by.dst, y.Len())}
	}
	gx, _ := vectorMemory(x)
	gy, inPlace := vectorMemory[T](y)
	err := gemv(ctx, e, trans, alpha, a, gx, beta, gy)
	if err == nil && !inPlace {
		for i := range m {
			y.SetVec(i, gy.At(i, 0))
		}
	}
	return err
}

// gemv is Gemv on columns in memory.
func gemv[T Element](ctx context.Context, e *Engine, trans blas.Transpose, alpha T, a Source[T], x General[T],
	beta T, y General[T]) error {
	n, _ := a.Dims()
	if _, ok := a.(SymmetricSource[T]); ok && alpha != 0 && n > 0 && distributedNB[T](a) == 0 {
		nb, one := engine.VectorTile[T](e, n, tiles.Count(n, 4)) // tasks also copy, and gain from 2048 on
		if one {
			nb = n
		}
		if v, _, ok := tiles.ViewOf(a, nb); ok && sameFamily(v.Kind(), blocked.SymLower) {
			return symv(ctx, e, one, alpha, v, x, beta, y)
		}
	}
	return Gemm[T](ctx, e, trans, blas.NoTrans, alpha, a, x, beta, y)
}

// symv computes y = alpha·A·x + beta·y for a symmetric A that stores one half: by one call if one
// is set, else by tasks.
func symv[T Element](ctx context.Context, e *Engine, one bool, alpha T, a *blocked.Matrix[T], x General[T], beta T,
	y General[T]) error {
	workers := e.Options().Workers
	vy := blocked.View(y, a.NB())
	vx, _ := readable[T](x, blas.NoTrans, a.NB(), vy, workers)
	if overlap(a, vy) {
		a, _ = blocked.From[T](a, a.Kind(), a.NB(), copying(e))
	}
	if one {
		callSymv(alpha, a.Kind().Uplo(), a.Tile(0, 0), vx.Tile(0, 0), beta, vy.Tile(0, 0))
		return nil
	}
	diag := blocked.NewDiagonal(a, workers)
	return engine.Run(ctx, e, func(p *blocked.Program[T]) error { return p.Symm(alpha, a, diag, vx, beta, vy) })
}

// callSymv is xSYMV on tiles.
func callSymv[T Element](alpha T, uplo blas.Uplo, a, x *blocked.Tile[T], beta T, y *blocked.Tile[T]) {
	if x.Stride == 1 && y.Stride == 1 {
		op.HostVectors[T]().Symv(uplo, a.Rows, alpha, a.Data, a.Stride, x.Data, beta, y.Data)
		return
	}
	var r gonum.Implementation
	symv := scalar.Pick[T, any](r.Ssymv, r.Dsymv).(func(blas.Uplo, int, T, []T, int, []T, int, T, []T, int))
	symv(uplo, a.Rows, alpha, a.Data, a.Stride, x.Data, x.Stride, beta, y.Data, y.Stride)
}

// vectorMemory returns the elements of v as a column. inPlace says that the column is v's own
// memory; otherwise it is a copy.
func vectorMemory[T Element](v VectorSource[T]) (g General[T], inPlace bool) {
	switch v := any(v).(type) {
	case Vector[T]:
		return General[T]{Rows: len(v), Cols: 1, Stride: 1, Data: v}, true
	case *mat.VecDense:
		if v.IsEmpty() {
			return General[T]{Cols: 1, Stride: 1}, true
		}
		r := v.RawVector()
		if data, ok := any(&r.Data).(*[]T); ok {
			return General[T]{Rows: r.N, Cols: 1, Stride: r.Inc, Data: *data}, true
		}
	}
	g = General[T]{Rows: v.Len(), Cols: 1, Stride: 1, Data: make([]T, v.Len())}
	for i := range g.Data {
		g.Data[i] = v.AtVec(i)
	}
	return g, false
}
