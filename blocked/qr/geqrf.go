package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Geqrf submits the QR factorization of the m×n matrix A by block Givens
// rotations,
//
//	A = Q·R,
//
// where Q is orthogonal of order m, and R is m×n and upper triangular, or
// trapezoidal if m < n. R overwrites the upper triangle of a: that of each diagonal
// tile, and the tiles above. The other elements of a and q hold the rotations, and q
// also holds their order. a must be Full, and q made for its shape and tile size by
// [NewRotations].
//
// In tile column k, op "geqrt" makes a tile a triangle. Ops "tsqrt" and "ttqrt"
// annihilate a tile against the triangle of another tile: a Givens rotation whose
// sines and cosines are matrices. Each of these is applied to the columns on the
// right. The priority of a task is the work on the longest path from it to the end.
//
// No other tasks of the same Program may write a before the job's Wait, since tasks
// may still read the rotations. [Ormqr] and [Orgqr] with the same q may follow.
//
// Geqrf panics with ErrKind if a is not Full, and with ErrShape if q does not
// fit.
//
// Reference: LAPACK xGEQRF; LAWN 191 (Buttari et al., 2009); J. Dongarra,
// M. Faverge, T. Herault, M. Jacquelin, J. Langou and Y. Robert, Hierarchical QR
// factorization algorithms for multi-core cluster systems, Parallel Computing 39
// (2013).
func Geqrf[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], q *Rotations[T]) error {
	return GeqrfSteps(p, a, q, 0, len(q.plan.columns))
}

// GeqrfSteps submits the steps from, …, to-1 of [Geqrf]. There is one step for each diagonal
// tile: step k makes the rotations of tile column k and applies them to the columns on the
// right. The tiles of a after step k-1, and the T of the first k columns (see
// [Rotations.Factors]), are all that step k needs to continue the factorization in another
// job.
//
// It panics as Geqrf does, and with ErrIndex if there are no such steps.
func GeqrfSteps[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], q *Rotations[T], from, to int) error {
	if from < 0 || to < from || to > len(q.plan.columns) {
		panic(blocked.ErrIndex)
	}
	tasks := submit.Of(p)
	r := rotationData(tasks, tasks.Operand(a), q)
	apply := newApplication(blas.Left, blas.Trans, q.ib)
	// For millions of tasks this takes seconds, so it stops when the job has failed.
	priority, task := q.plan.priorities(func() bool { return tasks.Job.Err() != nil }), 0
	if priority == nil && tasks.Err == nil {
		tasks.Err = tasks.Job.Err()
	}
	for k, steps := range q.plan.columns {
		if tasks.Err != nil || k == to {
			break
		}
		if k < from {
			task += len(steps) * (a.NT() - k)
			continue
		}
		for _, s := range steps {
			pivot, row := int(s.pivot), int(s.row)
			annihilate(tasks, r, s, k, int64(priority[task]))
			v := r.a.Tile(row, k)
			if s.kind == qrTriangle && k+1 < a.NT() {
				v = copyBelow(tasks, r, row, k, int64(priority[task]))
			}
			task++
			apply := packFactor(tasks, apply, a.NT()-k-1, a)
			for j := k + 1; j < a.NT(); j++ {
				rotate(tasks, r, apply, s, k, v, r.a.Tile(pivot, j), r.a.Tile(row, j), int64(priority[task]))
				task++
			}
		}
	}
	return tasks.Err
}

// rotation holds a matrix and its Rotations as data.
type rotation[T blocked.Element] struct {
	q      *Rotations[T]
	a      *submit.Operand[T]
	t1, t2 []graph.Datum // mt×kt, the T of op "geqrt", and of "tsqrt" and "ttqrt"
	v      []graph.Datum // mt×columnsOfV, copies; nil before the first
}

// rotationData returns q as data, with the V that are in a.
func rotationData[T blocked.Element](p *submit.Tasks[T], a *submit.Operand[T], q *Rotations[T]) *rotation[T] {
	switch {
	case a.Kind() != blocked.Full:
		panic(blocked.ErrKind)
	case a.Rows() != q.rows || a.Cols() != q.cols || a.NB() != q.nb:
		panic(blocked.ErrShape)
	}
	factors := func(name string, t []blocked.Tile[T]) []graph.Datum {
		return p.Data(q, name, a.MT(), len(q.plan.columns), func(i, k int) (versions.Value, int) {
			if t[q.at(i, k)].Rows == 0 {
				return nil, 0
			}
			return &t[q.at(i, k)], a.NearestOwner(i, k)
		})
	}
	return &rotation[T]{q: q, a: a, t1: factors("T1", q.t1), t2: factors("T2", q.t2)}
}

// GenerateFactors submits a task of an op of the program for each T of the first tile columns of
// q, which was made for a. The task writes T, its only operand. Its parameter is params(n) for the
// n-th T in the order of [Rotations.Factors].
func GenerateFactors[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], q *Rotations[T], columns int, op *versions.Op, params func(n int) any) error {
	tasks := submit.Of(p)
	return eachFactor(tasks, a, q, columns, func(n int, t *graph.Datum) { tasks.Submit(op, params(n), 0, submit.Out(t)) })
}

// InspectFactors is [GenerateFactors] for an op that reads T.
func InspectFactors[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], q *Rotations[T], columns int, op *versions.Op, params func(n int) any) error {
	tasks := submit.Of(p)
	return eachFactor(tasks, a, q, columns, func(n int, t *graph.Datum) { tasks.Submit(op, params(n), 0, submit.In(t)) })
}

func eachFactor[T blocked.Element](p *submit.Tasks[T], a *blocked.Matrix[T], q *Rotations[T], columns int, submit func(n int, t *graph.Datum)) error {
	r, n := rotationData(p, p.Reads(a), q), 0
	q.eachFactor(columns, func(first bool, at int) {
		if first {
			submit(n, &r.t1[at])
		} else {
			submit(n, &r.t2[at])
		}
		n++
	})
	return p.Err
}

// copyBelow submits a copy of the V of op "geqrt" in row i of column k, and returns it.
//
// A tile holds V below its diagonal and, above, a part of R that the next tsqrt or ttqrt
// changes. Because of the copy, the next rotation of the column need not wait for the
// tasks that apply V. The V of tsqrt and ttqrt needs no copy, since no later task writes
// it. Nor does that of geqrt after the factorization, since ttqrt does not change the
// elements below the diagonal.
func copyBelow[T blocked.Element](p *submit.Tasks[T], r *rotation[T], i, k int, priority int64) *graph.Datum {
	if r.v == nil {
		r.v = p.Data(r.q, "V", r.a.MT(), columnsOfV, func(int, int) (versions.Value, int) { return nil, 0 })
	}
	from, q := r.a.Tile(i, k), r.q
	at := i*columnsOfV + k%columnsOfV
	v := &r.v[at]
	if v.Value == nil {
		if q.v == nil {
			q.v = make([]blocked.Tile[T], r.a.MT()*columnsOfV)
		}
		if t := &q.v[at]; t.Rows == 0 {
			rows, cols := r.a.TileDims(i, k)
			*t = tiles.NewTile[T](rows, min(rows, cols))
		}
		submit.SetValue(v, &q.v[at], r.a.NearestOwner(i, k))
	}
	p.Submit(p.Op("lacpy"), &op.Lacpy{Uplo: blas.Lower}, priority, submit.In(from), submit.Out(v))
	return v
}

// annihilate submits rotation s of the tiles pivot and row in column k. They are the same
// tile if s makes it a triangle.
func annihilate[T blocked.Element](p *submit.Tasks[T], r *rotation[T], s qrStep, k int, priority int64) {
	q, at := r.q, r.q.at(int(s.row), k)
	pivot, row := r.a.Tile(int(s.pivot), k), r.a.Tile(int(s.row), k)
	switch s.kind {
	case qrTriangle:
		p.Submit(p.Op("geqrt"), &q.geqrt, priority, submit.InOut(row), submit.Out(&r.t1[at]))
	case qrSquare:
		p.Submit(p.Op("tsqrt"), &q.tsqrt, priority, submit.InOut(pivot), submit.InOut(row), submit.Out(&r.t2[at]))
	default:
		p.Submit(p.Op("ttqrt"), &q.ttqrt, priority, submit.InOut(pivot), submit.InOut(row), submit.Out(&r.t2[at]))
	}
}

// application holds the parameters of the ops that apply rotations.
type application struct {
	unmqr *op.Unmqr
	tsmqr *op.Tsmqr
	ttmqr *op.Ttmqr
	local any // packed operands that the tasks share: *kernels.Packings, or nil
}

func newApplication(side blas.Side, trans blas.Transpose, ib int) *application {
	return &application{
		unmqr: &op.Unmqr{Side: side, Trans: trans, IB: ib},
		tsmqr: &op.Tsmqr{Side: side, Trans: trans, IB: ib},
		ttmqr: &op.Ttmqr{Side: side, Trans: trans, IB: ib},
	}
}

// rotate submits the application of rotation s of column k to the tiles c1 and c2. They
// are at the places of pivot and row in a column or a row of tiles. v holds the V of s.
func rotate[T blocked.Element](p *submit.Tasks[T], r *rotation[T], x *application, s qrStep, k int, v, c1, c2 *graph.Datum, priority int64) {
	at := r.q.at(int(s.row), k)
	switch s.kind {
	case qrTriangle:
		p.SubmitLocal(x.local, p.Op("unmqr"), x.unmqr, priority, submit.In(v), submit.In(&r.t1[at]), submit.InOut(c2))
	case qrSquare:
		p.SubmitLocal(x.local, p.Op("tsmqr"), x.tsmqr, priority, submit.In(v), submit.In(&r.t2[at]), submit.InOut(c1), submit.InOut(c2))
	default:
		p.SubmitLocal(x.local, p.Op("ttmqr"), x.ttmqr, priority, submit.In(v), submit.In(&r.t2[at]), submit.InOut(c1), submit.InOut(c2))
	}
}

// packFactor returns x for one rotation of a that the given number of tasks apply. They share
// its packed factor if that pays.
func packFactor[T blocked.Element](p *submit.Tasks[T], x *application, tasks int, a *blocked.Matrix[T]) *application {
	local := p.ShareLeft(a, tasks)
	if local == nil {
		return x
	}
	y := *x
	y.local = local
	return &y
}
