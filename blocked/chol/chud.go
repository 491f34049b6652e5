package chol

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Chud submits the change of a Cholesky factor, upper triangular and n×n with a positive diagonal,
//
//	Vᵀ·V = Uᵀ·U + Xᵀ·X, or Uᵀ·U − Xᵀ·X if down.
//
// U is not changed. V and U store the upper half and may be the same matrix. X, k×n and Full, is
// overwritten. If Uᵀ·U − Xᵀ·X is not positive definite, the job fails with a
// *kernels.NotPositiveDefiniteError, and V and X are undefined. The change takes 3·k·n² operations, and one pass
// over U for each nb rows of X. If X has no rows, V stays as it is.
//
// It panics with ErrKind if one of the matrices is of another kind, and with ErrShape if the shapes or tile sizes do
// not fit.
//
// Reference: LINPACK xCHUD and xCHDD; see [op.Chud].
func Chud[T kernels.Element](p *blocked.Program[T], down bool, u, x, v *blocked.Matrix[T]) error {
	switch {
	case u.Kind().Uplo() != blas.Upper || v.Kind().Uplo() != blas.Upper || x.Kind() != blocked.Full:
		panic(blocked.ErrKind)
	case u.Dim() != x.Cols() || v.Dim() != x.Cols() || u.NB() != x.NB() || v.NB() != x.NB():
		panic(blocked.ErrShape)
	}
	tasks := submit.Of(p)
	from, factor, rows, nt := tasks.Reads(u), tasks.Operand(v), tasks.Operand(x), u.NT()
	copied, rotate := &op.Lacpy{Uplo: blas.All}, &op.Chudm{Down: down}
	cos, sin := blocked.New[T](blocked.Full, x.Rows(), x.Cols(), x.NB()), blocked.New[T](blocked.Full, x.Rows(), x.Cols(), x.NB())
	c, s := tasks.Operand(cos), tasks.Operand(sin)
	for l := range x.MT() {
		for i := range nt {
			for j := i; j < nt && l == 0 && u != v; j++ {
				tasks.Submit(tasks.Op("lacpy"), copied, 2*int64(nt-i), submit.In(from.Tile(i, j)), submit.Out(factor.Tile(i, j)))
			}
			tasks.Submit(tasks.Op("chud"), &op.Chud{Down: down, Offset: i * u.NB()}, 2*int64(nt-i), submit.InOut(factor.Tile(i, i)),
				submit.InOut(rows.Tile(l, i)), submit.Out(c.Tile(l, i)), submit.Out(s.Tile(l, i)))
			for j := i + 1; j < nt; j++ {
				tasks.Submit(tasks.Op("chudm"), rotate, 2*int64(nt-i)-int64(min(j-i, 2)), submit.In(c.Tile(l, i)),
					submit.In(s.Tile(l, i)), submit.InOut(factor.Tile(i, j)), submit.InOut(rows.Tile(l, j)))
			}
		}
	}
	return tasks.Err
}
