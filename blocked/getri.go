package blocked

import (
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Getri submits the inverse of an n×n matrix from its LU factorization in a and
// v, as [Program.Getrf] leaves it:
//
//	U·W = I,  X·L = W,  C = X·Pᵀ = A⁻¹.
//
// C is n×n, Full, of the tile size of a, and overwritten. A zero on the diagonal
// of U gives infinities and NaN.
//
// It panics with ErrKind if a or c is not Full, and with ErrShape if a is not
// square or the shapes or tile sizes do not fit.
//
// Reference: LAPACK xGETRI.
func (p *Program[T]) Getri(a *Matrix[T], v *Pivots, c *Matrix[T]) error {
	switch {
	case a.Kind() != Full || c.Kind() != Full:
		panic(ErrKind)
	case a.Rows() != a.Cols() || c.Rows() != a.Rows() || c.Cols() != a.Cols() || c.NB() != a.NB() || v.m != a.Rows() || v.n != a.Cols() || v.nb != a.NB():
		panic(ErrShape)
	}
	p.Laset(0, 1, c)
	p.trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, a, c, blas.Upper)
	p.trsm(blas.Right, blas.Lower, blas.NoTrans, blas.Unit, 1, a, c, blas.All)
	p.lapmt(v, c)
	return p.err
}

// lapmt submits C = C·Pᵀ.
func (p *Program[T]) lapmt(v *Pivots, c *Matrix[T]) {
	params := &op.Lapmt{Inverse: true}
	pivots, o := p.pivotData(v, c), p.operand(c)
	for k := len(pivots) - 1; k >= 0; k-- {
		for i := range o.MT() {
			p.column = append(p.column[:0], in(&pivots[k]))
			for j := k; j < o.NT(); j++ {
				p.column = append(p.column, inout(o.tile(i, j)))
			}
			p.submit(p.ops.lapmt, params, 0, p.column...)
		}
	}
}
