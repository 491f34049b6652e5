package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// GeqrfExplicit computes the QR factorization of the m×n matrix A with rotations
// that are formed as matrices, and Q as the product of all of them:
//
//	A = Q·R,  Q m×m.
//
// R overwrites the upper triangle of a, stored as by [Geqrf]. The elements below are
// undefined afterwards. rot must be made for a with TreeFlat; afterwards only
// [Rotations.Reflections] may read it. Every rotation of two tiles is a matrix of
// twice the tile size: the factor of op "tsqrt" applied to the identity. Op "gemm"
// multiplies columns of A and Q by it.
//
// If sparse is false, Q begins as a dense identity, and all products are done.
// Otherwise tiles of Q that are zero or the identity are neither stored nor
// multiplied. flops is the total number of floating-point operations. For m = n it
// is 20/3·n³ to leading order, or 16/3·n³ if sparse. Geqrf takes 4/3·n³ for R, and
// [Orgqr] as many again for Q.
//
// Unlike other algorithms, GeqrfExplicit waits for its tasks. It panics as Geqrf
// does, and with ErrShape if rot has another tree.
//
// Reference: R. Amela et al., Executing linear algebra kernels in heterogeneous
// distributed infrastructures with PyCOMPSs, Oil & Gas Science and Technology 73
// (2018), section 3.3, where sparse is called memory-save.
func GeqrfExplicit[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], rot *Rotations[T], sparse bool) (q *blocked.Matrix[T], flops float64, err error) {
	for _, steps := range rot.plan.columns {
		for _, s := range steps {
			if s.kind == qrPair || int(s.pivot) != int(steps[0].row) {
				panic(blocked.ErrShape)
			}
		}
	}
	x := newExplicit(p, a, rot, sparse)
	tasks := submit.Of(p)
	for k := range rot.plan.columns {
		x.triangle(k)
		for i := k + 1; i < a.MT() && tasks.Err == nil; i++ {
			x.rotate(k, i)
		}
	}
	if err := tasks.Job.Wait(); err != nil {
		return nil, 0, err
	}
	x.bringHome()
	return x.collect(), x.flops, nil
}

// explicit is one factorization with explicit rotations. A product cannot be
// computed in place, so every tile of A and Q has a second tile for the result. The
// two change places with every product.
type explicit[T blocked.Element] struct {
	*submit.Tasks[T]
	matrix *blocked.Matrix[T]
	t      *rotation[T]
	a, q   []block // mt×nt and mt×mt
	flops  float64

	times, transposed, timesAdd, transposedAdd *op.Gemm // by a rotation
	form                                       *application
}

// block is a tile of A or Q. now holds its elements, and is nil if they are zero. next
// is the tile for the result of the next product, nil if there is none yet.
type block struct {
	now, next *graph.Datum
	one       bool // the identity, without a tile
}

func newExplicit[T blocked.Element](p *blocked.Program[T], a *blocked.Matrix[T], rot *Rotations[T], sparse bool) *explicit[T] {
	tasks := submit.Of(p)
	x := &explicit[T]{Tasks: tasks, matrix: a, t: rotationData(tasks, tasks.Operand(a), rot),
		a: make([]block, a.MT()*a.NT()), q: make([]block, a.MT()*a.MT()),
		times:         &op.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1},
		transposed:    &op.Gemm{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: 1},
		timesAdd:      &op.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1},
		transposedAdd: &op.Gemm{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: 1, Beta: 1},
		form:          newApplication(blas.Left, blas.NoTrans, rot.ib)}
	o := tasks.Operand(a)
	for i := range a.MT() {
		for j := range a.NT() {
			x.a[i*a.NT()+j].now = o.Tile(i, j)
		}
		for j := range a.MT() {
			b := &x.q[i*a.MT()+j]
			switch {
			case i == j && sparse:
				b.one = true
			case !sparse:
				b.now = x.fresh("Q", i, j, i == j)
			}
		}
	}
	return x
}

// height returns the number of rows of the tiles in tile row i.
func (x *explicit[T]) height(i int) int { return min(x.matrix.NB(), x.matrix.Rows()-i*x.matrix.NB()) }

// fresh returns a new tile with the height of tile row i of A as its rows, and that of
// tile row j as its columns: zeros, with ones on the diagonal if one is true.
func (x *explicit[T]) fresh(name string, i, j int, one bool) *graph.Datum {
	t := tiles.NewTile[T](x.height(i), x.height(j))
	if one {
		for k := range min(t.Rows, t.Cols) {
			t.Set(k, k, 1)
		}
	}
	return x.Datum(name, &t)
}

// triangle submits op "geqrt" for tile (k, k), and the products with its factor.
func (x *explicit[T]) triangle(k int) {
	nt := x.matrix.NT()
	at, own := x.t.q.at(k, k), x.a[k*nt+k].now
	x.Submit(x.Ops.Geqrt, &x.t.q.geqrt, 0, submit.InOut(own), submit.Out(&x.t.t1[at]))
	e := x.fresh("E", k, k, true)
	x.Submit(x.Ops.Unmqr, x.form.unmqr, 0, submit.In(own), submit.In(&x.t.t1[at]), submit.InOut(e))
	m, n := x.t.q.tileDims(k, k)
	f, g := stepFlops(qrTriangle, m, n, m)
	x.flops += f + g
	for j := k + 1; j < nt; j++ {
		b := &x.a[k*nt+j]
		x.product(b, [2]*graph.Datum{e}, [2]*block{b}, true)
		b.swap()
	}
	for i := range x.matrix.MT() {
		b := &x.q[i*x.matrix.MT()+k]
		x.product(b, [2]*graph.Datum{e}, [2]*block{b}, false)
		b.swap()
	}
}

// rotate submits the rotation that annihilates tile (i, k), and the products with it.
func (x *explicit[T]) rotate(k, i int) {
	mt, nt := x.matrix.MT(), x.matrix.NT()
	at, pivot, own := x.t.q.at(i, k), x.a[k*nt+k].now, x.a[i*nt+k].now
	x.Submit(x.Ops.Tsqrt, &x.t.q.tsqrt, 0, submit.InOut(pivot), submit.InOut(own), submit.Out(&x.t.t2[at]))
	// The columns of the rotation are Q·[I 0]ᵀ and Q·[0 I]ᵀ.
	var r [2][2]*graph.Datum
	m, n := x.t.q.tileDims(i, k)
	for c, column := range [2]int{k, i} {
		r[0][c], r[1][c] = x.fresh("S", k, column, c == 0), x.fresh("S", i, column, c == 1)
		x.Submit(x.Ops.Tsmqr, x.form.tsmqr, 0, submit.In(own), submit.In(&x.t.t2[at]), submit.InOut(r[0][c]), submit.InOut(r[1][c]))
		_, apply := stepFlops(qrSquare, m, n, x.height(column))
		x.flops += apply
	}
	factor, _ := stepFlops(qrSquare, m, n, 0)
	x.flops += factor
	pair := func(b1, b2 *block, left bool) {
		both := [2]*block{b1, b2}
		for c, b := range both {
			x.product(b, [2]*graph.Datum{r[0][c], r[1][c]}, both, left)
		}
		b1.swap()
		b2.swap()
	}
	for j := k + 1; j < nt; j++ {
		pair(&x.a[k*nt+j], &x.a[i*nt+j], true)
	}
	for j := range mt {
		pair(&x.q[j*mt+k], &x.q[j*mt+i], false)
	}
}

// product submits b.next = Σ r[c]ᵀ·from[c] if left, Σ from[c]·r[c] otherwise. It leaves
// out sources that are zero; b.next is nil if all are. The identity needs no product:
// its only partner then is a zero, since the rotations of the first column leave no
// tile of Q the identity.
func (x *explicit[T]) product(b *block, r [2]*graph.Datum, from [2]*block, left bool) {
	var live []int
	for c, f := range from {
		if r[c] != nil && (f.now != nil || f.one) {
			live = append(live, c)
		}
	}
	switch {
	case len(live) == 0:
		b.next = nil
		return
	case len(live) == 1 && from[live[0]].one:
		b.next = r[live[0]]
		return
	}
	params := []*op.Gemm{x.times, x.timesAdd}
	if left {
		params = []*op.Gemm{x.transposed, x.transposedAdd}
	}
	for n, c := range live {
		l, o := from[c].now, r[c]
		lt, ot := l.Value.(*blocked.Tile[T]), o.Value.(*blocked.Tile[T])
		rows, cols := lt.Rows, ot.Cols
		if left {
			l, o = o, l
			rows, cols = ot.Cols, lt.Cols
		}
		if b.next == nil {
			t := tiles.NewTile[T](rows, cols)
			b.next = x.Datum("X", &t)
		}
		x.Submit(x.Ops.Gemm, params[n], 0, submit.In(l), submit.In(o), submit.InOut(b.next))
		x.flops += 2 * float64(rows) * float64(cols) * float64(ot.Rows)
	}
}

// swap makes the result of the latest product the current tile.
func (b *block) swap() {
	b.now, b.next = b.next, b.now
	b.one = false
}

// bringHome copies the current tiles of A to the matrix.
func (x *explicit[T]) bringHome() {
	a := x.matrix
	for i, j := range a.StoredTiles() {
		home, now := a.Tile(i, j), x.a[i*a.NT()+j].now.Value.(*blocked.Tile[T])
		if now != home {
			for r := range home.Rows {
				copy(home.Row(r), now.Row(r))
			}
		}
	}
}

// collect returns Q.
func (x *explicit[T]) collect() *blocked.Matrix[T] {
	a := x.matrix
	q := tiles.Outline[T](blocked.Full, a.Rows(), a.Rows(), a.NB())
	for i, j := range q.StoredTiles() {
		b := &x.q[i*a.MT()+j]
		if b.now == nil {
			b.now = x.fresh("Q", i, j, b.one)
		}
		*q.Tile(i, j) = *b.now.Value.(*blocked.Tile[T])
	}
	return q
}
