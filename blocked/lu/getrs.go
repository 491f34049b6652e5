package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Getrs submits the solution of
//
//	A·X = B (trans = NoTrans),  Aᵀ·X = B (otherwise)
//
// with the LU factorization of the n×n matrix A that [Getrf] has left in a and v. B
// is n×nrhs and Full, and has the tile size of a. X overwrites B. A zero on the
// diagonal of U gives infinities and NaN.
//
// It panics with ErrKind if a or b is not Full, and with ErrShape if a is not
// square or the shapes or tile sizes do not fit.
//
// Reference: LAPACK xGETRS.
func Getrs[T kernels.Element](p *blocked.Program[T], trans blas.Transpose, a *blocked.Matrix[T], v *Pivots, b *blocked.Matrix[T]) error {
	switch {
	case a.Kind() != blocked.Full || b.Kind() != blocked.Full:
		panic(blocked.ErrKind)
	case a.Rows() != a.Cols() || b.Rows() != a.Rows() || b.NB() != a.NB() || v.m != a.Rows() || v.n != a.Cols() || v.nb != a.NB():
		panic(blocked.ErrShape)
	}
	if trans == blas.NoTrans {
		Laswp(p, v, false, b)
		p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 1, a, b)
		return p.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, a, b)
	}
	p.Trsm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, 1, a, b)
	p.Trsm(blas.Left, blas.Lower, blas.Trans, blas.Unit, 1, a, b)
	return Laswp(p, v, true, b)
}

// Laswp submits the interchanges of v in the rows of B,
//
//	B = Pᵀ·B, or B = P·B if inverse,
//
// for the P of A = P·L·U. B is Full, and has as many rows and the same tile size as
// A. Laswp panics with ErrKind or ErrShape otherwise.
//
// Reference: LAPACK xLASWP.
func Laswp[T kernels.Element](p *blocked.Program[T], v *Pivots, inverse bool, b *blocked.Matrix[T]) error {
	if b.Kind() != blocked.Full {
		panic(blocked.ErrKind)
	}
	if b.Rows() != v.m || b.NB() != v.nb {
		panic(blocked.ErrShape)
	}
	params := &op.Laswp{Inverse: inverse}
	tasks := submit.Of(p)
	pivots, o := pivotData(tasks, v, b), tasks.Operand(b)
	for step := range pivots {
		k := step
		if inverse {
			k = len(pivots) - 1 - step
		}
		for j := range b.NT() {
			// The priority is high because all later tasks wait for the exchanged rows.
			swapRows(tasks, params, &pivots[k], o, k, b.MT(), j, int64(2*b.MT()-step))
		}
	}
	return tasks.Err
}
