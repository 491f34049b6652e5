package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels/op"
)

// MulVec overwrites x with Qᵀ·x, or Q·x if not transposed, for the factor Q of an m×n matrix, which [Geqrf] has left in a
// and q. It needs no tasks: it reads each tile once, and goes at the speed of memory. x has m elements, and w at least IB
// elements of scratch. Before each tile column MulVec returns the error of ready if there is one; x is then undefined. a is not
// distributed.
//
// Reference: LAPACK xORMQR, and xGEMQRT and xTPMQRT for a tile.
func (q *Rotations[T]) MulVec(v op.Vectors[T], transposed bool, a *blocked.Matrix[T], x, w []T, ready func() error) error {
	last := len(q.plan.columns) - 1
	for n := range q.plan.columns {
		if err := ready(); err != nil {
			return err
		}
		k := n
		if !transposed {
			k = last - n
		}
		steps := q.plan.columns[k]
		for i := range steps {
			s := steps[i]
			if !transposed {
				s = steps[len(steps)-1-i]
			}
			tile, at := a.Tile(int(s.row), k), q.at(int(s.row), k)
			if s.kind == qrTriangle {
				v.Unmqr(transposed, q.ib, tile, &q.t1[at], q.part(x, s.row), w)
			} else {
				v.Tpmqrt(transposed, s.kind != qrSquare, q.ib, tile, &q.t2[at], q.part(x, s.pivot), q.part(x, s.row), w)
			}
		}
	}
	return nil
}

// part returns the elements of x in a row of tiles.
func (q *Rotations[T]) part(x []T, row int32) []T {
	return x[int(row)*q.nb : min((int(row)+1)*q.nb, q.rows)]
}
