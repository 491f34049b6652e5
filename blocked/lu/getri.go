package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Getri submits the inverse of an n×n matrix from its LU factorization, which
// [Getrf] has left in a and v:
//
//	U·W = I,  X·L = W,  C = X·Pᵀ = A⁻¹.
//
// C is n×n and Full, has the tile size of a, and is overwritten. A zero on the
// diagonal of U gives infinities and NaN.
//
// It panics with ErrKind if a or c is not Full, and with ErrShape if a is not
// square or the shapes or tile sizes do not fit.
//
// Reference: LAPACK xGETRI.
func Getri[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots, c *blocked.Matrix[T]) error {
	switch {
	case a.Kind() != blocked.Full || c.Kind() != blocked.Full:
		panic(blocked.ErrKind)
	case a.Rows() != a.Cols() || c.Rows() != a.Rows() || c.Cols() != a.Cols() || c.NB() != a.NB() || v.m != a.Rows() || v.n != a.Cols() || v.nb != a.NB():
		panic(blocked.ErrShape)
	}
	p.Laset(0, 1, c)
	tasks := submit.Of(p)
	tasks.Trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 1, a, c, blas.Upper)
	tasks.Trsm(blas.Right, blas.Lower, blas.NoTrans, blas.Unit, 1, a, c, blas.All)
	lapmt(tasks, v, c)
	return tasks.Err
}

// lapmt submits C = C·Pᵀ.
func lapmt[T blocked.Element](p *submit.Tasks[T], v *Pivots, c *blocked.Matrix[T]) {
	params := &op.Lapmt{Inverse: true}
	pivots, o := pivotData(p, v, c), p.Operand(c)
	for k := len(pivots) - 1; k >= 0; k-- {
		for i := range o.MT() {
			p.Operands = append(p.Operands[:0], submit.In(&pivots[k]))
			for j := k; j < o.NT(); j++ {
				p.Operands = append(p.Operands, submit.InOut(o.Tile(i, j)))
			}
			p.Submit(p.Op("lapmt"), params, 0, p.Operands...)
		}
	}
}
