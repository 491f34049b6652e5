package blocked

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
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
	return p.GeqrfSteps(a, q, 0, len(q.plan.columns))
}

// GeqrfSteps submits steps from to to-1 of [Program.Geqrf], of as many as there are tiles on
// the diagonal: step k is the rotations of tile column k and all that they are applied to.
// After step k-1 the tiles of a, and the T of the first k columns (see [Rotations.Factors]), are
// the state from which the factorization goes on with step k, in another job.
//
// It panics as Geqrf does, and with ErrIndex if there are no such steps.
func (p *Program[T]) GeqrfSteps(a *Matrix[T], q *Rotations[T], from, to int) error {
	if from < 0 || to < from || to > len(q.plan.columns) {
		panic(ErrIndex)
	}
	r := p.rotation(p.operand(a), q)
	apply := newApplication(blas.Left, blas.Trans, q.ib)
	// Of millions of tasks they take seconds.
	priority, task := q.plan.priorities(func() bool { return p.job.Err() != nil }), 0
	if priority == nil && p.err == nil {
		p.err = p.job.Err()
	}
	for k, steps := range q.plan.columns {
		if p.err != nil || k == to {
			break
		}
		if k < from {
			task += len(steps) * (a.NT() - k)
			continue
		}
		for _, s := range steps {
			pivot, row := int(s.pivot), int(s.row)
			p.annihilate(r, s, k, int64(priority[task]))
			v := r.a.tile(row, k)
			if s.kind == qrTriangle && k+1 < a.NT() {
				v = p.copyBelow(r, row, k, int64(priority[task]))
			}
			task++
			apply := p.packFactor(apply, a.NT()-k-1, a)
			for j := k + 1; j < a.NT(); j++ {
				p.rotate(r, apply, s, k, v, r.a.tile(pivot, j), r.a.tile(row, j), int64(priority[task]))
				task++
			}
		}
	}
	return p.err
}

// rotation is the rotations that are in a matrix and a Rotations, as data.
type rotation[T Element] struct {
	q      *Rotations[T]
	a      *operand[T]
	t1, t2 []graph.Datum // mt×kt, of op "geqrt" and of the two others
	v      []graph.Datum // mt×columnsOfV, copies; nil before the first
}

// rotation returns q as data, with the V that are in a.
func (p *Program[T]) rotation(a *operand[T], q *Rotations[T]) *rotation[T] {
	switch {
	case a.Kind() != Full:
		panic(ErrKind)
	case a.Rows() != q.rows || a.Cols() != q.cols || a.NB() != q.nb:
		panic(ErrShape)
	}
	factors := func(name string, t []Tile[T]) []graph.Datum {
		return p.data(part{q, name}, a.MT(), len(q.plan.columns), func(i, k int) (versions.Value, int) {
			if t[q.at(i, k)].Rows == 0 {
				return nil, 0
			}
			return &t[q.at(i, k)], a.NearestOwner(i, k)
		})
	}
	return &rotation[T]{q: q, a: a, t1: factors("T1", q.t1), t2: factors("T2", q.t2)}
}

// GenerateFactors submits a task for each T of the first so many tile columns of q, made for
// a, of an op of the program's own that writes it, its only operand: see [Rotations.Factors],
// whose order params is told.
func (p *Program[T]) GenerateFactors(a *Matrix[T], q *Rotations[T], columns int, op *versions.Op, params func(n int) any) error {
	return p.eachFactor(a, q, columns, func(n int, t *graph.Datum) { p.submit(op, params(n), 0, out(t)) })
}

// InspectFactors is [Program.GenerateFactors] for an op that reads.
func (p *Program[T]) InspectFactors(a *Matrix[T], q *Rotations[T], columns int, op *versions.Op, params func(n int) any) error {
	return p.eachFactor(a, q, columns, func(n int, t *graph.Datum) { p.submit(op, params(n), 0, in(t)) })
}

func (p *Program[T]) eachFactor(a *Matrix[T], q *Rotations[T], columns int, submit func(n int, t *graph.Datum)) error {
	r, n := p.rotation(p.reads(a), q), 0
	q.eachFactor(columns, func(first bool, at int) {
		if first {
			submit(n, &r.t1[at])
		} else {
			submit(n, &r.t2[at])
		}
		n++
	})
	return p.err
}

// columnsOfV is how many columns of tiles have copies of V at once. Those of a further
// column wait until the first of these are no longer needed.
const columnsOfV = 4

// copyBelow submits a copy of the V of op "geqrt" in row i of column k, and returns it.
//
// A tile holds V below its diagonal and, above, a part of R that the next tsqrt or
// ttqrt changes. With a copy the rotations of a column do not wait for all who apply
// V. The V of the two others is a whole tile that nobody writes any more, and so is
// the V of geqrt when the factorization has ended: ttqrt leaves alone what is below
// the diagonal.
func (p *Program[T]) copyBelow(r *rotation[T], i, k int, priority int64) *graph.Datum {
	if r.v == nil {
		r.v = p.data(part{r.q, "V"}, r.a.MT(), columnsOfV, func(int, int) (versions.Value, int) { return nil, 0 })
		p.matrices++
	}
	from, q := r.a.tile(i, k), r.q
	at := i*columnsOfV + k%columnsOfV
	v := &r.v[at]
	if v.Value == nil {
		if q.v == nil {
			q.v = make([]Tile[T], r.a.MT()*columnsOfV)
		}
		if t := &q.v[at]; t.Rows == 0 {
			rows, cols := r.a.TileDims(i, k)
			*t = tiles.NewTile[T](rows, min(rows, cols))
		}
		setDatum(v, "V", p.matrices, i, k%columnsOfV, r.a.NearestOwner(i, k), &q.v[at])
	}
	p.submit(p.ops.lacpy, &op.Lacpy{Uplo: blas.Lower}, priority, in(from), out(v))
	return v
}

// annihilate submits the rotation s in column k: of the tiles pivot and row, the
// same one if row only becomes a triangle.
func (p *Program[T]) annihilate(r *rotation[T], s qrStep, k int, priority int64) {
	q, at := r.q, r.q.at(int(s.row), k)
	pivot, row := r.a.tile(int(s.pivot), k), r.a.tile(int(s.row), k)
	switch s.kind {
	case qrTriangle:
		p.submit(p.ops.geqrt, &q.geqrt, priority, inout(row), out(&r.t1[at]))
	case qrSquare:
		p.submit(p.ops.tsqrt, &q.tsqrt, priority, inout(pivot), inout(row), out(&r.t2[at]))
	default:
		p.submit(p.ops.ttqrt, &q.ttqrt, priority, inout(pivot), inout(row), out(&r.t2[at]))
	}
}

// application is the parameters of the ops that apply rotations.
type application struct {
	unmqr *op.Unmqr
	tsmqr *op.Tsmqr
	ttmqr *op.Ttmqr
	local any // what the tasks share: *kernels.Packings, or nil
}

func newApplication(side blas.Side, trans blas.Transpose, ib int) *application {
	return &application{
		unmqr: &op.Unmqr{Side: side, Trans: trans, IB: ib},
		tsmqr: &op.Tsmqr{Side: side, Trans: trans, IB: ib},
		ttmqr: &op.Ttmqr{Side: side, Trans: trans, IB: ib},
	}
}

// rotate submits the application of the rotation s of column k, whose V is in v, to
// the tiles c1 and c2 of another matrix, which lie as its pivot and row do: above
// one another, or side by side.
func (p *Program[T]) rotate(r *rotation[T], x *application, s qrStep, k int, v, c1, c2 *graph.Datum, priority int64) {
	at := r.q.at(int(s.row), k)
	switch s.kind {
	case qrTriangle:
		p.submitLocal(x.local, p.ops.unmqr, x.unmqr, priority, in(v), in(&r.t1[at]), inout(c2))
	case qrSquare:
		p.submitLocal(x.local, p.ops.tsmqr, x.tsmqr, priority, in(v), in(&r.t2[at]), inout(c1), inout(c2))
	default:
		p.submitLocal(x.local, p.ops.ttmqr, x.ttmqr, priority, in(v), in(&r.t2[at]), inout(c1), inout(c2))
	}
}
