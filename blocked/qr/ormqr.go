package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Ormqr submits the product of the orthogonal factor Q of an m×n matrix, which
// [Geqrf] has left in a and q, with another matrix:
//
//	C = op(Q)·C (side = Left,  C m×k),
//	C = C·op(Q) (side = Right, C k×m),
//
// op(Q) = Q or Qᵀ. C is Full, has the tile size of a, and shares no memory with
// it.
//
// It panics with ErrKind if C or a is not Full, and with ErrShape if the shapes
// or tile sizes do not fit.
//
// Reference: LAPACK xORMQR.
func Ormqr[T kernels.Element](p *blocked.Program[T], side blas.Side, trans blas.Transpose, a *blocked.Matrix[T], q *Rotations[T], c *blocked.Matrix[T]) error {
	order, lines := c.Rows(), c.NT()
	if side == blas.Right {
		order, lines = c.Cols(), c.MT()
	}
	if c.Kind() != blocked.Full {
		panic(blocked.ErrKind)
	}
	if order != a.Rows() || c.NB() != a.NB() {
		panic(blocked.ErrShape)
	}
	tasks := submit.Of(p)
	o, r := tasks.Operand(c), rotationData(tasks, tasks.Reads(a), q)
	apply := newApplication(side, trans, q.ib)
	// Q is the product of the rotations in the order of the factorization. So Qᵀ from
	// the left and Q from the right begin with the first rotation.
	forward := (side == blas.Left) == (trans != blas.NoTrans)
	columns := len(q.plan.columns)
	for n := range columns {
		k := n
		if !forward {
			k = columns - 1 - n
		}
		steps := q.plan.columns[k]
		for i := range steps {
			s := steps[i]
			if !forward {
				s = steps[len(steps)-1-i]
			}
			apply := packFactor(tasks, apply, lines, a)
			for line := range lines {
				rotate(tasks, r, apply, s, k, r.a.Tile(int(s.row), k), o.Block(side, int(s.pivot), line), o.Block(side, int(s.row), line), int64(columns-n))
			}
		}
	}
	return tasks.Err
}
