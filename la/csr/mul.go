package csr

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// MulTo computes
//
//	dst = A·B,
//
// where A is m×k, B is k×n, and dst is m×n; an empty dst takes that shape. If B is not a *mat.Dense, MulTo first
// copies it into one. The bits are the same on any number of workers.
//
// The error is an *[la.ShapeError], or that of [loop.For]; dst is then undefined. MulTo panics with
// [ErrOverlap] if dst and B begin at the same element.
func (a *Matrix) MulTo(ctx context.Context, dst *mat.Dense, b mat.Matrix) error {
	x, y, err := productOperands(a.rows, a.cols, dst, b)
	if err != nil || a.rows == 0 || x.Cols == 0 {
		return err
	}
	return loop.For(ctx, a.rt, a.Blocks(), loop.Options{Site: &a.wide}, func(c loop.Chunk) error {
		for i := a.starts[c.Lo]; i < a.starts[c.Hi]; i++ {
			lo, hi := a.ia[i], a.ia[i+1]
			combine(y.Data[i*y.Stride:i*y.Stride+y.Cols], a.ja[lo:hi], a.data[lo:hi], x)
		}
		return nil
	})
}

// productOperands returns the storage x of b and y of dst for the product of an m×k matrix with b. An empty dst takes
// the shape of the product. If the product has no elements, x and y are zero: gonum has no such matrices.
func productOperands(m, k int, dst *mat.Dense, b mat.Matrix) (x, y blas64.General, err error) {
	rows, n := b.Dims()
	if rows != k {
		return x, y, &la.ShapeError{Op: "MulTo", Detail: fmt.Sprintf("a is %d×%d and b %d×%d", m, k, rows, n)}
	}
	if m == 0 || n == 0 {
		return x, y, nil
	}
	if dst.IsEmpty() {
		dst.ReuseAs(m, n)
	} else if r, c := dst.Dims(); r != m || c != n {
		return x, y, &la.ShapeError{Op: "MulTo", Detail: fmt.Sprintf("the product is %d×%d and dst %d×%d", m, n, r, c)}
	}
	from, ok := b.(*mat.Dense)
	if !ok {
		from = mat.DenseCopyOf(b)
	}
	x, y = from.RawMatrix(), dst.RawMatrix()
	if len(x.Data) > 0 && &x.Data[0] == &y.Data[0] {
		panic(ErrOverlap)
	}
	return x, y, nil
}

// combine computes y = a·x for a row a of A, which has elements data in the columns ja.
func combine[J int | int32](y []float64, ja []J, data []float64, x blas64.General) {
	clear(y)
	data = data[:len(ja)]
	k := 0
	// Add two rows of x at a time, so that y is read and written half as often.
	for ; k+2 <= len(ja); k += 2 {
		d0, d1 := data[k], data[k+1]
		x0 := x.Data[int(ja[k])*x.Stride:][:len(y)]
		x1 := x.Data[int(ja[k+1])*x.Stride:][:len(y)]
		for j := range y {
			y[j] += d0*x0[j] + d1*x1[j]
		}
	}
	if k < len(ja) {
		d0, x0 := data[k], x.Data[int(ja[k])*x.Stride:][:len(y)]
		for j := range y {
			y[j] += d0 * x0[j]
		}
	}
}
