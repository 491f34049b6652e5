package rotations

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Factorize computes the QR factorization of the m×n matrix A with rotations that are formed as
// matrices, and Q as the product of all of them:
//
//	A = Q·R,  Q m×m.
//
// R overwrites the upper triangle of a, which must be Full. The elements below are undefined
// afterwards. A rotation of two tiles is a matrix of twice the tile size: the factor of op "tsqrt",
// in block reflectors of ib columns, applied to the identity. Op "gemm" multiplies columns of A and Q
// by it.
//
// If sparse is false, Q begins as a dense identity, and all products are done. Otherwise tiles of Q
// that are zero or the identity are neither stored nor multiplied. flops is the total number of
// floating-point operations. For m = n it is 20/3·n³ to leading order, or 16/3·n³ if sparse.
//
// Factorize submits its tasks to job, with ops from table, and waits for them.
func Factorize[T kernels.Element](job exec.Job, table *kernels.Table, a *blocked.Matrix[T], ib int, sparse bool) (q *blocked.Matrix[T], flops float64, err error) {
	x := newFactorization(job, kernels.For[T](table), a, min(ib, a.NB()), sparse)
	for k := range min(a.MT(), a.NT()) {
		x.triangle(k)
		for i := k + 1; i < a.MT() && x.err == nil; i++ {
			x.rotate(k, i)
		}
	}
	if err := job.Wait(); err != nil {
		return nil, 0, err
	}
	if x.err != nil {
		return nil, 0, x.err
	}
	x.copyA()
	return x.collectQ(), x.flops, nil
}

// factorization is one factorization with explicit rotations. A product cannot be computed in place,
// so every tile of A and Q has a second tile for the result. The two change places with every product.
type factorization[T kernels.Element] struct {
	job    exec.Job
	ops    kernels.Ops[T]
	matrix *blocked.Matrix[T]
	ib     int
	a, q   []block // mt×nt and mt×mt
	named  uint32  // data that have a key
	flops  float64
	err    error // of the first submission that failed
}

// block is a tile of A or Q. now holds its elements, and is nil if they are zero. next is the tile for
// the result of the next product, nil if there is none yet.
type block struct {
	now, next *graph.Datum
	one       bool // the identity, without a tile
}

func newFactorization[T kernels.Element](job exec.Job, ops kernels.Ops[T], a *blocked.Matrix[T], ib int, sparse bool) *factorization[T] {
	x := &factorization[T]{job: job, ops: ops, matrix: a, ib: ib,
		a: make([]block, a.MT()*a.NT()), q: make([]block, a.MT()*a.MT())}
	for i := range a.MT() {
		for j := range a.NT() {
			x.a[i*a.NT()+j].now = x.datum("A", i, j, a.Tile(i, j))
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

// datum returns v as a new datum.
func (x *factorization[T]) datum(name string, i, j int, v *kernels.Tile[T]) *graph.Datum {
	x.named++
	return &graph.Datum{Name: name, Key: graph.Key{Matrix: x.named, I: int32(i), J: int32(j)}, Value: v, Bytes: v.Bytes()}
}

// height returns the number of rows of the tiles in tile row i.
func (x *factorization[T]) height(i int) int {
	return min(x.matrix.NB(), x.matrix.Rows()-i*x.matrix.NB())
}

// fresh returns a new tile with the height of tile row i of A as its rows, and that of tile row j as
// its columns: zeros, with ones on the diagonal if one is true.
func (x *factorization[T]) fresh(name string, i, j int, one bool) *graph.Datum {
	t := tiles.NewTile[T](x.height(i), x.height(j))
	if one {
		for k := range min(t.Rows, t.Cols) {
			t.Set(k, k, 1)
		}
	}
	return x.datum(name, i, j, &t)
}

// factor returns room for the T of a rotation of tile (i, k), which has the given number of columns.
func (x *factorization[T]) factor(i, k, columns int) *graph.Datum {
	t := tiles.NewTile[T](x.ib, columns)
	return x.datum("T", i, k, &t)
}

// submit submits a task of the op with the given name, unless a submission has failed.
func (x *factorization[T]) submit(name string, params any, operands ...graph.Operand) {
	if x.err == nil {
		_, x.err = x.job.Submit(&graph.Spec{Op: x.ops.Op(name), Params: params, Operands: operands})
	}
}

func in(d *graph.Datum) graph.Operand    { return graph.Operand{Datum: d, Mode: graph.In} }
func out(d *graph.Datum) graph.Operand   { return graph.Operand{Datum: d, Mode: graph.Out} }
func inOut(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// triangle submits op "geqrt" for tile (k, k), and the products with its factor.
func (x *factorization[T]) triangle(k int) {
	nt := x.matrix.NT()
	own := x.a[k*nt+k].now
	rows, cols := x.matrix.TileDims(k, k)
	t, e := x.factor(k, k, min(rows, cols)), x.fresh("E", k, k, true)
	x.submit("geqrt", &op.Geqrt{IB: x.ib}, inOut(own), out(t))
	x.submit("unmqr", &op.Unmqr{Side: blas.Left, Trans: blas.NoTrans, IB: x.ib}, in(own), in(t), inOut(e))
	m, r := float64(rows), float64(min(rows, cols))
	x.flops += qr.QRFlops(rows, cols) + m*(4*m*r-2*r*r)
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
func (x *factorization[T]) rotate(k, i int) {
	mt, nt := x.matrix.MT(), x.matrix.NT()
	pivot, own := x.a[k*nt+k].now, x.a[i*nt+k].now
	rows, cols := x.matrix.TileDims(i, k)
	m, n := float64(rows), float64(cols)
	t := x.factor(i, k, cols)
	x.submit("tsqrt", &op.Tsqrt{IB: x.ib}, inOut(pivot), inOut(own), out(t))
	x.flops += 2 * m * n * n
	// The columns of the rotation are Q·[I 0]ᵀ and Q·[0 I]ᵀ.
	var r [2][2]*graph.Datum
	for c, column := range [2]int{k, i} {
		r[0][c], r[1][c] = x.fresh("S", k, column, c == 0), x.fresh("S", i, column, c == 1)
		x.submit("tsmqr", &op.Tsmqr{Side: blas.Left, Trans: blas.NoTrans, IB: x.ib}, in(own), in(t), inOut(r[0][c]), inOut(r[1][c]))
		x.flops += 4 * m * n * float64(x.height(column))
	}
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

// product submits b.next = Σ r[c]ᵀ·from[c] if left, Σ from[c]·r[c] otherwise. It leaves out sources
// that are zero; b.next is nil if all are. The identity needs no product: its only partner then is a
// zero, since the rotations of the first column leave no tile of Q the identity.
func (x *factorization[T]) product(b *block, r [2]*graph.Datum, from [2]*block, left bool) {
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
	for n, c := range live {
		gemm := &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1}
		if n > 0 {
			gemm.Beta = 1
		}
		l, o := from[c].now, r[c]
		lt, ot := l.Value.(*kernels.Tile[T]), o.Value.(*kernels.Tile[T])
		rows, cols := lt.Rows, ot.Cols
		if left {
			gemm.TransA = blas.Trans
			l, o = o, l
			rows, cols = ot.Cols, lt.Cols
		}
		if b.next == nil {
			t := tiles.NewTile[T](rows, cols)
			b.next = x.datum("X", 0, 0, &t)
		}
		x.submit("gemm", gemm, in(l), in(o), inOut(b.next))
		x.flops += 2 * float64(rows) * float64(cols) * float64(ot.Rows)
	}
}

// swap makes the result of the latest product the current tile.
func (b *block) swap() {
	b.now, b.next = b.next, b.now
	b.one = false
}

// copyA copies the current tiles of A to the matrix.
func (x *factorization[T]) copyA() {
	a := x.matrix
	for i, j := range a.StoredTiles() {
		home, now := a.Tile(i, j), x.a[i*a.NT()+j].now.Value.(*kernels.Tile[T])
		if now != home {
			for r := range home.Rows {
				copy(home.Row(r), now.Row(r))
			}
		}
	}
}

// collectQ returns Q.
func (x *factorization[T]) collectQ() *blocked.Matrix[T] {
	a := x.matrix
	q := tiles.Outline[T](blocked.Full, a.Rows(), a.Rows(), a.NB())
	for i, j := range q.StoredTiles() {
		b := &x.q[i*a.MT()+j]
		if b.now == nil {
			b.now = x.fresh("Q", i, j, b.one)
		}
		*q.Tile(i, j) = *b.now.Value.(*kernels.Tile[T])
	}
	return q
}
