package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Orgqr submits the computation of the first k columns of the orthogonal factor Q
// of an m×n matrix, which [Geqrf] has left in a and q:
//
//	C = Q·[I 0]ᵀ,
//
// for an m×k matrix C, k ≤ m, which is overwritten. For k = m, C is all of Q. For
// k = n, it is an orthonormal basis of the columns of A if they are independent. C
// is Full, has the tile size of a, and shares no memory with a.
//
// It panics with ErrKind if C or a is not Full, and with ErrShape if the shapes
// or tile sizes do not fit.
//
// Reference: LAPACK xORGQR.
func Orgqr[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], q *Rotations[T], c *blocked.Matrix[T]) error {
	if c.Kind() != blocked.Full {
		panic(blocked.ErrKind)
	}
	if c.Rows() != a.Rows() || c.Cols() > c.Rows() || c.NB() != a.NB() {
		panic(blocked.ErrShape)
	}
	tasks := submit.Of(p)
	r := rotationData(tasks, tasks.Reads(a), q)
	o := tasks.Operand(c)
	p.Laset(0, 1, c)
	apply := newApplication(blas.Left, blas.NoTrans, q.ib)
	for k := len(q.plan.columns) - 1; k >= 0; k-- {
		steps := q.plan.columns[k]
		for i := len(steps) - 1; i >= 0; i-- {
			s := steps[i]
			// The tile columns before k still are those of the identity. They are
			// zero in the rows that the rotations of column k change.
			apply := packFactor(tasks, apply, c.NT()-k, a)
			for j := k; j < c.NT(); j++ {
				rotate(tasks, r, apply, s, k, r.a.Tile(int(s.row), k), o.Tile(int(s.pivot), j), o.Tile(int(s.row), j), int64(k))
			}
		}
	}
	return tasks.Err
}
