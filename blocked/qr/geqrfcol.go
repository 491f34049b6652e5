package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// GeqrfColumns submits the QR factorization of the m×n matrix A with LAPACK's
// elementary reflectors, each of which annihilates a whole column below the
// diagonal,
//
//	A = Q·R,  Q = H(0)·H(1)·…
//
// R overwrites the upper triangle (trapezoid) of A, and the vectors of the
// reflectors overwrite the elements below the diagonal. a is in slices of columns.
// The triangular factors go to t, whose [Reflectors.Tau] is LAPACK's.
//
//	┌────┬────┬────┐
//	│ R  │ R  │ R  │
//	│╲   ├────┼────┤   k   geqrt: slice k from row k·nb down
//	│ ╲V │    │    │       unmqr: the reflectors of slice k, applied to each
//	│  ╲ │    │    │              slice j > k
//	└────┴────┴────┘
//
// Slice k+1 can be factored as soon as it has been updated, while other slices are
// still being updated. The tile algorithm of [Geqrf] has more parallelism, but its
// reflectors have another form than LAPACK's.
//
// It panics with ErrShape if t was not made for a.
//
// Reference: LAPACK xGEQRF.
func GeqrfColumns[T kernels.Element](p *blocked.Program[T], a *Slices[T], t *Reflectors[T]) error {
	t.fits(a)
	tasks := submit.Of(p)
	data, factors := sliceData(tasks, a, true), factors(tasks, t)
	nt := len(data)
	for k := range factors {
		row := k * a.nb
		geqrt := &op.Geqrt{IB: t.ib, Row: row}
		tasks.Submit(tasks.Op("geqrt"), geqrt, int64(2*(nt-k)), submit.InOut(&data[k]), submit.Out(&factors[k]))
		unmqr := &op.Unmqr{Side: blas.Left, Trans: blas.Trans, IB: t.ib, Row: row}
		for j := k + 1; j < nt; j++ {
			// The priority counts the remaining updates of slice j, and a panel
			// and an update for each slice from j on.
			tasks.Submit(tasks.Op("unmqr"), unmqr, int64(2*nt-j-k), submit.In(&data[k]), submit.In(&factors[k]), submit.InOut(&data[j]))
		}
	}
	return tasks.Err
}

// OrmqrColumns submits the product with the orthogonal matrix Q of a QR
// factorization by [GeqrfColumns],
//
//	C = op(Q)·C (side = Left,  C m×n, in slices of columns),
//	C = C·op(Q) (side = Right, C n×m, in slices of rows),
//
// where v and t hold the reflectors of an m×k matrix.
//
// It panics with ErrShape if t was not made for v, or the shape or slices of C
// do not fit.
//
// Reference: LAPACK xORMQR.
func OrmqrColumns[T kernels.Element](p *blocked.Program[T], side blas.Side, trans blas.Transpose, v *Slices[T], t *Reflectors[T], c *Slices[T]) error {
	t.fits(v)
	order := c.rows
	if side == blas.Right {
		order = c.cols
	}
	if order != v.rows || c.byRows != (side == blas.Right) {
		panic(blocked.ErrShape)
	}
	// Q = H(0)·H(1)·…: the last factor is next to C in Q·C, the first in the
	// transpose and in C·Q.
	forward := (side == blas.Left) == (trans != blas.NoTrans)
	tasks := submit.Of(p)
	for step := range t.tiles {
		k := step
		if !forward {
			k = len(t.tiles) - 1 - step
		}
		reflect(tasks, side, trans, v, t, k, c, 0)
	}
	return tasks.Err
}

// reflect submits the application of the reflectors of slice k to the slices of C
// from first on.
func reflect[T blocked.Element](p *submit.Tasks[T], side blas.Side, trans blas.Transpose, v *Slices[T], t *Reflectors[T], k int, c *Slices[T], first int) {
	factors, panels, data := factors(p, t), sliceData(p, v, false), sliceData(p, c, true)
	unmqr := &op.Unmqr{Side: side, Trans: trans, IB: t.ib, Row: k * t.nb}
	for j := first; j < len(data); j++ {
		p.Submit(p.Op("unmqr"), unmqr, 0, submit.In(&panels[k]), submit.In(&factors[k]), submit.InOut(&data[j]))
	}
}

// OrgqrColumns submits the first n columns of the orthogonal matrix Q of a QR
// factorization by [GeqrfColumns], with reflectors of an m×k matrix,
// n ≥ k, in v and t. Q is m×n, in slices of columns of v's width, and must be
// the identity. It must not share memory with v.
//
// It panics with ErrShape if t was not made for v, or the shape or slices of Q
// do not fit.
//
// Reference: LAPACK xORGQR.
func OrgqrColumns[T kernels.Element](p *blocked.Program[T], v *Slices[T], t *Reflectors[T], q *Slices[T]) error {
	t.fits(v)
	if q.byRows || q.rows != v.rows || q.cols < t.Len() || q.nb != v.nb {
		panic(blocked.ErrShape)
	}
	tasks := submit.Of(p)
	for k := len(t.tiles) - 1; k >= 0; k-- {
		// Columns to the left of slice k still are those of the identity. They
		// are zero in the rows that these reflectors change.
		reflect(tasks, blas.Left, blas.NoTrans, v, t, k, q, k)
	}
	return tasks.Err
}

// sliceData returns s as data, which tasks may write if written is true.
func sliceData[T blocked.Element](p *submit.Tasks[T], s *Slices[T], written bool) []graph.Datum {
	if s.rows > 0 && s.cols > 0 {
		p.Alone(s, &s.tiles[0], s.rows, s.cols, written)
	}
	return p.Data(s, "slices", len(s.tiles), 1, func(k, _ int) (versions.Value, int) { return &s.tiles[k], 0 })
}
