package blocked

import (
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Getrs submits the solution of
//
//	A·X = B (trans = NoTrans),  Aᵀ·X = B (otherwise)
//
// with the LU factorization of the n×n matrix A in a and v, as [Program.Getrf]
// leaves it. B is n×nrhs, Full, of the tile size of a, and overwritten by X. A
// zero on the diagonal of U gives infinities and NaN.
//
// It panics with ErrKind if a or b is not Full, and with ErrShape if a is not
// square or the shapes or tile sizes do not fit.
//
// Reference: LAPACK xGETRS.
func (p *Program[T]) Getrs(trans blas.Transpose, a *Matrix[T], v *Pivots, b *Matrix[T]) error {
	switch {
	case a.Kind() != Full || b.Kind() != Full:
		panic(ErrKind)
	case a.Rows() != a.Cols() || b.Rows() != a.Rows() || b.NB() != a.NB() || v.m != a.Rows() || v.n != a.Cols() || v.nb != a.NB():
		panic(ErrShape)
	}
	if trans == blas.NoTrans {
		p.Laswp(v, false, b)
		p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 1, a, b)
		return p.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, a, b)
	}
	p.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, 1, a, b)
	p.Trsm(blas.Left, blas.Lower, blas.Trans, blas.Unit, 1, a, b)
	return p.Laswp(v, true, b)
}

// Laswp submits the interchanges of v in the rows of B,
//
//	B = Pᵀ·B, or B = P·B if inverse,
//
// for the P of A = P·L·U. B is Full and has as many rows as A, and its tile
// size. It panics with ErrKind or ErrShape otherwise.
//
// Reference: LAPACK xLASWP.
func (p *Program[T]) Laswp(v *Pivots, inverse bool, b *Matrix[T]) error {
	if b.Kind() != Full {
		panic(ErrKind)
	}
	if b.Rows() != v.m || b.NB() != v.nb {
		panic(ErrShape)
	}
	params := &op.Laswp{Inverse: inverse}
	pivots, o := p.pivotData(v, b), p.operand(b)
	for step := range pivots {
		k := step
		if inverse {
			k = len(pivots) - 1 - step
		}
		for j := range b.NT() {
			// Before all else: everything waits for the exchanged rows.
			p.swapRows(params, &pivots[k], o, k, b.MT(), j, int64(2*b.MT()-step))
		}
	}
	return p.err
}
