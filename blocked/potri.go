package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Potri submits the inverse of a symmetric positive definite matrix from its
// Cholesky factor L, or U = Lᵀ if a stores the upper half, as [Program.Potrf]
// leaves it:
//
//	W = L⁻¹,  C = Wᵀ·W = A⁻¹.
//
// W is n×n, TriLower, and overwritten; C is n×n, SymLower or SymUpper, and
// overwritten in its half. All have the tile size of a. In the diagonal tiles
// of a and C only the stored triangle is read or written.
//
// If tasks of the Program already use W, Potri waits for the job first: it
// writes W itself before it submits.
//
// It panics with ErrShape if the shapes or tile sizes do not fit, and with
// ErrKind if the kinds are others.
//
// Reference: LAPACK xPOTRI, xTRTRI, xLAUUM.
func (p *Program[T]) Potri(a, w, c *Matrix[T]) error {
	if w.kind != TriLower || (c.kind != SymLower && c.kind != SymUpper) {
		panic(ErrKind)
	}
	if a.cols != a.rows || w.rows != a.rows || c.rows != a.rows || w.nb != a.nb || c.nb != a.nb {
		panic(ErrShape)
	}
	if p.data[w] != nil { // earlier tasks may still use it
		if err := p.job.Wait(); err != nil {
			return err
		}
	}
	w.setIdentity()
	if err := p.invertLower(p.operand(a), p.operand(w)); err != nil {
		return err
	}
	return p.lowerGram(p.operand(w), p.operand(c))
}

// setIdentity makes w the identity, the whole of its diagonal tiles included.
func (w *Matrix[T]) setIdentity() {
	for i := range w.mt {
		for j := range i + 1 {
			t := w.Tile(i, j)
			for r := range t.Rows {
				clear(t.Row(r))
				if i == j {
					t.Set(r, r, 1)
				}
			}
		}
	}
}

// invertLower submits the solution of L·W = I for the lower half of W.
func (p *Program[T]) invertLower(l, w *operand[T]) error {
	uplo, trans := blas.Lower, blas.NoTrans
	if l.kind.Uplo() == blas.Upper {
		uplo, trans = blas.Upper, blas.Trans
	}
	trsm := &kernels.Trsm{Side: blas.Left, Uplo: uplo, Trans: trans, Diag: blas.NonUnit, Alpha: 1}
	gemm := &kernels.Gemm{TransA: trans, TransB: blas.NoTrans, Alpha: -1, Beta: 1}
	for k := range l.mt {
		for j := range k + 1 {
			if err := p.submit(p.ops.Trsm, trsm, int64(2*l.mt-k), in(l.tile(k, k)), inout(w.tile(k, j))); err != nil {
				return err
			}
		}
		for i := k + 1; i < l.mt; i++ {
			for j := range k + 1 {
				if err := p.submit(p.ops.Gemm, gemm, int64(2*l.mt-i), in(at(l, trans, i, k)), in(w.tile(k, j)), inout(w.tile(i, j))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lowerGram submits C = Wᵀ·W for a lower triangular W.
func (p *Program[T]) lowerGram(w, c *operand[T]) error {
	for i := range c.mt {
		for j := range i + 1 {
			var out *graph.Datum
			left, right := i, j
			if c.kind == SymLower {
				out = c.tile(i, j)
			} else {
				out, left, right = c.tile(j, i), j, i
			}
			first, rest := c.syrkParams(i == j, blas.Trans, blas.NoTrans, 1, 0)
			params := first
			for k := i; k < w.mt; k++ {
				var err error
				if i == j {
					err = p.submit(p.ops.Syrk, params, 0, in(w.tile(k, i)), inout(out))
				} else {
					err = p.submit(p.ops.Gemm, params, 0, in(w.tile(k, left)), in(w.tile(k, right)), inout(out))
				}
				if err != nil {
					return err
				}
				params = rest
			}
		}
	}
	return nil
}
