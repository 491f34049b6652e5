package csr

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// GramTo computes
//
//	dst = AᵀA,
//
// where A is m×n and dst is n×n; an empty dst takes that shape. The result is dense with n² elements, so n
// should be some thousands at most. GramTo also makes the transpose of A: see [Matrix.T]. The bits are the same on
// any number of workers.
//
// The error is an *[la.ShapeError], or that of [loop.For]; dst is then undefined.
func (a *Matrix) GramTo(ctx context.Context, dst *mat.SymDense) error {
	if a.cols == 0 {
		return nil
	}
	if dst.IsEmpty() {
		dst.ReuseAsSym(a.cols)
	} else if n := dst.SymmetricDim(); n != a.cols {
		return &la.ShapeError{Op: "GramTo", Detail: fmt.Sprintf("the product is of order %d and dst of %d", a.cols, n)}
	}
	t, y := a.T(), dst.RawSymmetric()
	return loop.For(ctx, a.rt, t.Blocks(), loop.Options{Site: &a.grams}, func(c loop.Chunk) error {
		for i := t.starts[c.Lo]; i < t.starts[c.Hi]; i++ {
			row := y.Data[i*y.Stride : i*y.Stride+a.cols]
			clear(row[i:])
			// Row i of AᵀA is the sum of the rows r of A, each times element (i, r) of Aᵀ.
			for k := t.ia[i]; k < t.ia[i+1]; k++ {
				d, r := t.data[k], t.ja[k]
				for q := a.ia[r]; q < a.ia[r+1]; q++ {
					if j := a.ja[q]; j >= i { // the upper triangle
						row[j] += d * a.data[q]
					}
				}
			}
		}
		return nil
	})
}
