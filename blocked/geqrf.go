package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Geqrf submits the QR factorization of the m×n matrix A by block Givens
// rotations,
//
//	A = Q·R,
//
// Q orthogonal of order m, R m×n upper triangular, or trapezoidal if m < n. R
// overwrites the upper triangle of a, that of the tile (k, k) for every k and
// the tiles above; what is below holds the rotations, together with q, which
// says in what order they come. a must be Full, and q made for its shape and
// tile size by [NewRotations].
//
// In the column k of tiles, op "geqrt" makes a tile a triangle, and ops "tsqrt"
// and "ttqrt" annihilate a tile against the triangle of another: a Givens
// rotation whose sines and cosines are matrices. Each of them is applied to the
// columns on the right. The priority of a task is the work on the longest path
// from it to the end.
//
// Other tasks of the same Program that write a must not follow without a Wait
// for the job: the rotations may still be read. [Program.Ormqr] and
// [Program.Orgqr] with the same q may follow.
//
// Geqrf panics with ErrKind if a is not Full, and with ErrShape if q does not
// fit.
//
// Reference: LAPACK xGEQRF; LAWN 191 (Buttari et al., 2009); J. Dongarra,
// M. Faverge, T. Herault, M. Jacquelin, J. Langou and Y. Robert, Hierarchical QR
// factorization algorithms for multi-core cluster systems, Parallel Computing 39
// (2013).
func (p *Program[T]) Geqrf(a *Matrix[T], q *Rotations[T]) error {
	o, r := p.operand(a), p.rotation(a, q)
	apply := newApplication(blas.Left, blas.Trans, q.ib)
	priority, task := q.plan.priorities(), 0
	for k, steps := range q.plan.columns {
		if p.err != nil {
			break
		}
		for _, s := range steps {
			pivot, row := int(s.pivot), int(s.row)
			p.annihilate(r, s, k, o.tile(pivot, k), o.tile(row, k), int64(priority[task]))
			task++
			apply := p.packFactor(apply, a.nt-k-1, a)
			for j := k + 1; j < a.nt; j++ {
				p.rotate(r, apply, s, k, o.tile(pivot, j), o.tile(row, j), int64(priority[task]))
				task++
			}
		}
	}
	return p.err
}

// rotation is the data of a Rotations in a Program.
//
// A tile may hold three things: R, or a part of it on the way there, in the
// upper triangle; the V of op "geqrt" below; and, once it is annihilated, the V
// of op "tsqrt" or "ttqrt" instead of R. They are read and written at different
// times, and to make one datum of them would have the rotations of a column wait
// for the applications of the ones before: the next tsqrt writes the triangle
// above the V that is still being applied. So V is a datum of its own for those
// who apply it, behind which is the same memory. It is no one's result: the
// order comes by the T that is made with it, which they read as well.
type rotation[T Element] struct {
	q              *Rotations[T]
	a              *Matrix[T]    // where the V are
	v1, v2, t1, t2 []graph.Datum // mt×kt, of op "geqrt" and of the two others
}

// rotation returns q as data, with the V that are in a.
func (p *Program[T]) rotation(a *Matrix[T], q *Rotations[T]) *rotation[T] {
	switch {
	case a.kind != Full:
		panic(ErrKind)
	case a.rows != q.rows || a.cols != q.cols || a.nb != q.nb:
		panic(ErrShape)
	}
	r, size := p.rotations[q], a.mt*min(a.mt, a.nt)
	if r == nil {
		r = &rotation[T]{q: q, t1: make([]graph.Datum, size), t2: make([]graph.Datum, size)}
		for i := range size {
			row, k := i/len(q.plan.columns), i%len(q.plan.columns)
			setDatum(&r.t1[i], "T1", row, k, &q.t1[i])
			setDatum(&r.t2[i], "T2", row, k, &q.t2[i])
		}
		if p.rotations == nil {
			p.rotations = make(map[*Rotations[T]]*rotation[T])
		}
		p.rotations[q] = r
	}
	if r.a == a {
		return r
	}
	// Those that apply the V of another matrix may still read what stood for them.
	r.a, r.v1, r.v2 = a, make([]graph.Datum, size), make([]graph.Datum, size)
	for i := range size {
		row, k := i/len(q.plan.columns), i%len(q.plan.columns)
		below, all := *a.Tile(row, k), *a.Tile(row, k)
		below.Cols = min(below.Rows, below.Cols)
		setDatum(&r.v1[i], "V", row, k, &below)
		setDatum(&r.v2[i], "V", row, k, &all)
	}
	return r
}

// annihilate submits the rotation s in column k: of the tiles pivot and row, the
// same one if row only becomes a triangle.
func (p *Program[T]) annihilate(r *rotation[T], s qrStep, k int, pivot, row *graph.Datum, priority int64) {
	q, at := r.q, r.q.at(int(s.row), k)
	switch s.kind {
	case qrTriangle:
		p.submit(p.ops.Geqrt, &q.geqrt, priority, inout(row), out(&r.t1[at]))
	case qrSquare:
		p.submit(p.ops.Tsqrt, &q.tsqrt, priority, inout(pivot), inout(row), out(&r.t2[at]))
	default:
		p.submit(p.ops.Ttqrt, &q.ttqrt, priority, inout(pivot), inout(row), out(&r.t2[at]))
	}
}

// application is the parameters of the ops that apply rotations.
type application struct {
	unmqr *kernels.Unmqr
	tsmqr *kernels.Tsmqr
	ttmqr *kernels.Ttmqr
	local any // what the tasks share: *kernels.Packings, or nil
}

func newApplication(side blas.Side, trans blas.Transpose, ib int) *application {
	return &application{
		unmqr: &kernels.Unmqr{Side: side, Trans: trans, IB: ib},
		tsmqr: &kernels.Tsmqr{Side: side, Trans: trans, IB: ib},
		ttmqr: &kernels.Ttmqr{Side: side, Trans: trans, IB: ib},
	}
}

// rotate submits the application of the rotation s of column k to the tiles c1
// and c2 of another matrix, which lie as its pivot and row do: above one
// another, or side by side.
func (p *Program[T]) rotate(r *rotation[T], x *application, s qrStep, k int, c1, c2 *graph.Datum, priority int64) {
	at := r.q.at(int(s.row), k)
	switch s.kind {
	case qrTriangle:
		p.submitLocal(x.local, p.ops.Unmqr, x.unmqr, priority, in(&r.v1[at]), in(&r.t1[at]), inout(c2))
	case qrSquare:
		p.submitLocal(x.local, p.ops.Tsmqr, x.tsmqr, priority, in(&r.v2[at]), in(&r.t2[at]), inout(c1), inout(c2))
	default:
		p.submitLocal(x.local, p.ops.Ttmqr, x.ttmqr, priority, in(&r.v2[at]), in(&r.t2[at]), inout(c1), inout(c2))
	}
}
