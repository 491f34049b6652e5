package la

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// ThinQR is the thin QR factorization of an m×n matrix with m ≥ n,
//
//	A = Q·R,
//
// to which rows can be appended and from which rows can be dropped: for least squares of data that come and go. Q is
// m×n with orthonormal columns and is stored; R is n×n and upper triangular. A change of one row takes some
// 6·m·n operations, where a factorization takes 4·m·n².
//
// The zero value holds no factorization and uses the default engine. Several goroutines may read a ThinQR at once.
//
// Reference: Daniel, Gragg, Kaufman, Stewart, Reorthogonalization and stable algorithms for updating the Gram-Schmidt QR
// factorization, Math. Comp. 30 (1976).
type ThinQR[T Element] struct {
	engine *Engine
	valid  bool
	m, n   int
	q      General[T]    // Qᵀ, with room for more columns
	r      General[T]    // R
	f      *qrFactors[T] // a is r
	rot    op.Vectors[T] // of the caller's machine
}

// turn is a plane rotation.
type turn[T Element] struct{ c, s T }

// NewThinQR returns an empty factorization that computes on e.
func NewThinQR[T Element](e *Engine) *ThinQR[T] { return &ThinQR[T]{engine: e} }

// check panics with ErrNotFactorized if there is no factorization.
func (q *ThinQR[T]) check() {
	if !q.valid {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether q holds no factorization.
func (q *ThinQR[T]) IsEmpty() bool { return !q.valid }

// Reset drops the factorization.
func (q *ThinQR[T]) Reset() { *q = ThinQR[T]{engine: q.engine} }

// Dims returns the shape of A. Like all methods but Factorize, IsEmpty and Reset, it panics with ErrNotFactorized if
// there is no factorization.
func (q *ThinQR[T]) Dims() (m, n int) {
	q.check()
	return q.m, q.n
}

// Factorize computes the factorization of a, which is not wider than high and does not change. It replaces an earlier
// factorization.
//
// The error is a *ShapeError, a *NonFiniteError, an *exec.TaskError that names the version that failed, or
// exec.ErrClosed; q is then empty. The option is [WithContext].
func (q *ThinQR[T]) Factorize(a Source[T], opts ...CallOption) error {
	q.Reset()
	ctx, err := contextOf("ThinQR.Factorize", opts)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	if m < n {
		return &ShapeError{"Factorize", fmt.Sprintf("a is %d×%d, and wider than high", m, n)}
	}
	f := NewQR[T](q.engine)
	if err := f.factorize(ctx, a); err != nil {
		return err
	}
	q.m, q.n = m, n
	nb, one := engine.QRTileSize[T](q.engine, 0, n, n)
	q.r = newGeneral[T](n, n)
	q.f = &qrFactors[T]{a: blocked.View(q.r, max(nb, thinTile)), one: one, exp: f.f.exp}
	q.q = newGeneral[T](n, m)
	q.rot = op.HostVectors[T]()
	if n > 0 {
		r := blocked.View(q.r, f.f.a.NB())
		f.f.copyR(r)
		thin := newGeneral[T](m, n)
		if err := f.QThinTo(thin, WithContext(ctx)); err != nil {
			q.Reset()
			return err
		}
		q.transposeInto(q.q, thin)
	}
	q.valid = true
	return nil
}

// newGeneral returns an m×n matrix of zeros.
func newGeneral[T Element](m, n int) General[T] {
	return General[T]{Rows: m, Cols: n, Stride: max(n, 1), Data: make([]T, m*n)}
}

// columnsFrom returns columns j to end−1 of a.
func columnsFrom[T Element](a General[T], j, end int) General[T] {
	a.Cols = end - j
	if a.Rows > 0 && a.Cols > 0 {
		a.Data = a.Data[j:]
	}
	return a
}

// transposeInto sets dst to srcᵀ.
func (q *ThinQR[T]) transposeInto(dst, src General[T]) {
	const rows = 64
	blocks := (dst.Rows + rows - 1) / rows
	inParallel(dst.Rows*dst.Cols, min(q.engine.Options().Workers, blocks), func(first, stride int) {
		for i := (first - 1) * rows; i < dst.Rows; i += stride * rows {
			transpose.Copy(dst.Data[i*dst.Stride:], dst.Stride, src.Data[i:], src.Stride, min(rows, dst.Rows-i), dst.Cols)
		}
	})
}

// grow gives Qᵀ m columns, of which the new ones are zero.
func (q *ThinQR[T]) grow(m int) {
	if m > q.q.Stride {
		// A part more, so that rows that come one by one are copied seldom.
		to := newGeneral[T](q.n, m+m/4)
		for i := range q.n {
			copy(to.Data[i*to.Stride:], q.q.Data[i*q.q.Stride:][:q.m])
		}
		q.q = to
	} else {
		for i := range q.n {
			clear(q.q.Data[i*q.q.Stride:][q.m:m])
		}
	}
	q.q.Cols, q.m = m, m
}

// AppendRows makes q the factorization of
//
//	⎡A⎤
//	⎣W⎦
//
// where W is p×n and p ≥ 0.
//
// The error is a *ShapeError; a *NonFiniteError, also if A and W are so far apart that W is not finite in the scale of A;
// an *exec.TaskError that names the version that failed; or exec.ErrClosed. It leaves q unchanged. The option is
// [WithContext].
func (q *ThinQR[T]) AppendRows(w Source[T], opts ...CallOption) error {
	q.check()
	ctx, err := contextOf("ThinQR.AppendRows", opts)
	if err != nil {
		return err
	}
	p, n := w.Dims()
	if n != q.n {
		return &ShapeError{"AppendRows", shapesOf("A", q.m, q.n, "w", p, n)}
	}
	if err := q.engine.Ready(ctx); err != nil {
		return err
	}
	if n == 0 {
		q.m += p
		return nil
	}
	rows, err := q.read(w)
	switch {
	case err != nil:
		return err
	case p > max(thinFew, n/thinFew):
		return q.appendBlock(ctx, rows)
	}
	return q.appendFew(rows)
}

// thinTile is the smallest tile size of R and of right-hand sides, which are higher.
const thinTile = 64

// thinFew is the number of rows up to which, and the part of n up to which, rows are appended one by one.
const thinFew = 16

// read returns a copy of w in the scale of R.
func (q *ThinQR[T]) read(w Source[T]) (General[T], error) {
	p, n := w.Dims()
	rows := newGeneral[T](p, n)
	for i := range p {
		row := rows.Data[i*rows.Stride:][:n]
		for j := range row {
			v := T(math.Ldexp(float64(w.At(i, j)), -q.f.exp))
			if v-v != 0 {
				return rows, &NonFiniteError{Row: i, Col: j}
			}
			row[j] = v
		}
	}
	return rows, nil
}

// setR makes r, which is one of A divided by 2^exp, R.
func (q *ThinQR[T]) setR(r General[T], exp int) {
	q.r = r
	q.f = &qrFactors[T]{a: blocked.View(r, q.f.a.NB()), one: q.f.one, exp: exp}
}

// appendBlock appends rows by a factorization of R and them: if it is Z·S, then R becomes S, and Q
//
//	⎡Q·Z₁⎤
//	⎣ Z₂ ⎦.
func (q *ThinQR[T]) appendBlock(ctx context.Context, rows General[T]) error {
	m, n, p := q.m, q.n, rows.Rows
	both, z, r := newGeneral[T](n+p, n), newGeneral[T](n+p, n), newGeneral[T](n, n)
	for i := range n {
		copy(both.Data[i*n+i:(i+1)*n], q.r.Data[i*n+i:])
	}
	copy(both.Data[n*n:], rows.Data)
	f := NewQR[T](q.engine)
	if err := f.factorize(ctx, both); err != nil {
		return err
	}
	if err := f.QThinTo(z, WithContext(ctx)); err != nil {
		return err
	}
	f.f.copyR(blocked.View(r, f.f.a.NB()))
	to := newGeneral[T](n, m+p)
	above, below := z, z
	above.Rows, above.Data = n, z.Data[:n*n]
	below.Rows, below.Data = p, z.Data[n*n:]
	if err := Gemm(ctx, q.engine, blas.Trans, blas.NoTrans, 1, above, q.q, 0, columnsFrom(to, 0, m)); err != nil {
		return err
	}
	q.transposeInto(columnsFrom(to, m, m+p), below)
	q.q, q.m = to, m+p
	q.setR(r, q.f.exp+f.f.exp)
	return nil
}

// appendFew appends rows by plane rotations of R's rows with each.
func (q *ThinQR[T]) appendFew(rows General[T]) error {
	m, n, p := q.m, q.n, rows.Rows
	r := newGeneral[T](n, n)
	copy(r.Data, q.r.Data)
	turns := make([]turn[T], p*n)
	for t := range p {
		w := rows.Data[t*n:][:n]
		for j := range n {
			u := r.Data[j*n:][:n]
			d, turn := rotation(u[j], w[j])
			if d-d != 0 {
				return &NonFiniteError{Row: t, Col: j}
			}
			u[j], turns[t*n+j] = d, turn
			q.rot.Rot(u[j+1:], w[j+1:], turn.c, turn.s)
		}
	}
	q.grow(m + p)
	q.byColumns(n*p, func(first, end int, extra []T) {
		for t := range p {
			if m+t < first {
				break // nothing but zeros so far
			}
			clear(extra)
			if m+t < end {
				extra[m+t-first] = 1
			}
			for j := range n {
				turn := turns[t*n+j]
				q.rot.Rot(q.q.Data[j*q.q.Stride:][first:end], extra, turn.c, turn.s)
			}
		}
	})
	q.setR(r, q.f.exp)
	return nil
}

// rotation returns the plane rotation that turns (a, b) to (d, 0).
func rotation[T Element](a, b T) (d T, t turn[T]) {
	h := math.Hypot(float64(a), float64(b))
	if h == 0 {
		return 0, turn[T]{1, 0}
	}
	return T(h), turn[T]{T(float64(a) / h), T(float64(b) / h)}
}

// byColumns calls work for parts of the columns of Qᵀ, with memory for a row of a part. Each element takes so many
// operations. The parts do not depend on the number of workers.
func (q *ThinQR[T]) byColumns(operations int, work func(first, end int, extra []T)) {
	part := min(max(32768/max(q.n, 1), 64), 2048) // a part of Qᵀ stays in the cache
	parts := (q.m + part - 1) / part
	inParallel(q.m*operations, min(q.engine.Options().Workers, parts), func(first, stride int) {
		extra := make([]T, part)
		for i := first - 1; i < parts; i += stride {
			lo, hi := i*part, min((i+1)*part, q.m)
			work(lo, hi, extra[:hi-lo])
		}
	})
}

// DropRow makes q the factorization of A without its row i, counted from 0.
//
// The error is a *ShapeError if A is square, the cause of the context's end, or exec.ErrClosed. It leaves q unchanged.
// DropRow panics with mat.ErrRowAccess if A has no row i. The option is [WithContext].
func (q *ThinQR[T]) DropRow(i int, opts ...CallOption) error {
	q.check()
	ctx, err := contextOf("ThinQR.DropRow", opts)
	if err != nil {
		return err
	}
	if uint(i) >= uint(q.m) {
		panic(mat.ErrRowAccess)
	}
	if q.m == q.n {
		return &ShapeError{"DropRow", fmt.Sprintf("A is %d×%d, and would be wider than high", q.m, q.n)}
	}
	if err := q.engine.Ready(ctx); err != nil {
		return err
	}
	if q.n == 0 {
		q.m--
		return nil
	}
	// Row i of (Q z) is x: unit vector i is a combination of Q's columns and of z.
	x, rho, z := q.complete(i)
	if float64(rho) <= scalar.Eps[T]()*float64(q.n+1) {
		// The other rows of A depend on each other: any z will do.
		z = q.orthogonal()
		rho = 0
	}
	// Rotations of z with each column of Q make that row (0 1). R gets a row that is A's row i.
	turns, row := make([]turn[T], q.n), make([]T, q.n)
	for j := q.n - 1; j >= 0; j-- {
		rho, turns[j] = rotation(rho, x[j])
		q.rot.Rot(row[j:], q.r.Data[j*q.n:][j:q.n], turns[j].c, turns[j].s)
	}
	q.byColumns(q.n, func(first, end int, _ []T) {
		for j := q.n - 1; j >= 0; j-- {
			q.rot.Rot(z[first:end], q.q.Data[j*q.q.Stride:][first:end], turns[j].c, turns[j].s)
		}
	})
	for j := range q.n {
		row := q.q.Data[j*q.q.Stride:][:q.m]
		copy(row[i:], row[i+1:])
	}
	q.m--
	q.q.Cols = q.m
	q.setR(q.r, q.f.exp)
	return nil
}

// complete returns row i of Q, x, and a unit vector z that is orthogonal to Q's columns, with
//
//	Q·x + rho·z = eᵢ.
//
// If rho is about 0, z is undefined.
func (q *ThinQR[T]) complete(i int) (x []T, rho T, z []T) {
	x, z = make([]T, q.n), make([]T, q.m)
	for j := range x {
		x[j] = q.q.Data[j*q.q.Stride+i]
	}
	q.subtract(blas.Trans, x, z)
	z[i]++
	// What rounding leaves of Q's columns in z goes: once is enough.
	more := make([]T, q.n)
	q.subtract(blas.NoTrans, z, more)
	for j, v := range more {
		x[j] -= v
		more[j] = -v
	}
	q.subtract(blas.Trans, more, z)
	sum := 0.0
	for _, v := range z {
		sum += float64(v) * float64(v)
	}
	norm := math.Sqrt(sum)
	for k := range z {
		z[k] = T(float64(z[k]) / norm)
	}
	return x, T(norm), z
}

// orthogonal returns a unit vector that is orthogonal to Q's columns.
func (q *ThinQR[T]) orthogonal() []T {
	// That unit vector has the largest part outside of their span whose row in Q is the shortest.
	short, at := math.Inf(1), 0
	for i := range q.m {
		sum := 0.0
		for j := range q.n {
			v := float64(q.q.Data[j*q.q.Stride+i])
			sum += v * v
		}
		if sum < short {
			short, at = sum, i
		}
	}
	_, _, z := q.complete(at)
	return z
}

// subtract computes y = y − op(Qᵀ)·x.
func (q *ThinQR[T]) subtract(trans blas.Transpose, x, y []T) {
	const part = 64
	n := len(y)
	parts := (n + part - 1) / part
	inParallel(q.m*q.n, min(q.engine.Options().Workers, parts), func(first, stride int) {
		for i := first - 1; i < parts; i += stride {
			lo, hi := i*part, min((i+1)*part, n)
			t := kernels.Tile[T]{Rows: q.n, Cols: hi - lo, Stride: q.q.Stride}
			if trans == blas.Trans {
				t.Data = q.q.Data[lo:]
			} else {
				t.Rows, t.Cols, t.Data = hi-lo, q.m, q.q.Data[lo*q.q.Stride:]
			}
			q.rot.Subtract(trans, &t, x, y[lo:hi])
		}
	})
}

// RTo copies R with its zeros below the diagonal to dst, n×n; an empty *mat.Dense takes that shape. It panics with
// mat.ErrShape if dst has another shape.
func (q *ThinQR[T]) RTo(dst Sink[T]) {
	q.check()
	shape[T](dst, q.n, q.n)
	if r, c := dst.Dims(); r != q.n || c != q.n {
		panic(mat.ErrShape)
	}
	if q.n == 0 {
		return
	}
	v, _, back := writable[T](dst, blocked.Full, q.f.a.NB(), false, q.engine.Options().Workers)
	q.f.copyR(v)
	if q.f.exp != 0 {
		scaleByPower(v, q.f.exp)
	}
	back()
}

// QTo copies Q to dst, m×n; an empty *mat.Dense takes that shape. It panics with mat.ErrShape if dst has another shape.
func (q *ThinQR[T]) QTo(dst Sink[T]) {
	q.check()
	shape[T](dst, q.m, q.n)
	if r, c := dst.Dims(); r != q.m || c != q.n {
		panic(mat.ErrShape)
	}
	if q.m > 0 && q.n > 0 {
		blocked.View(q.q, q.f.a.NB()).Transposed().CopyTo(dst, q.engine.Options().Workers)
	}
}

// SolveTo computes the least-squares solution for each column of B: X minimizes the columns' ‖b − A·x‖₂. B is m×nrhs and
// dst = X n×nrhs. dst may be b, or a part of it; an empty *mat.Dense takes the shape of X.
//
// The errors are those of [QR.SolveTo], and what they leave of dst. The option is [WithContext].
func (q *ThinQR[T]) SolveTo(dst Destination[T], b Source[T], opts ...CallOption) error {
	q.check()
	ctx, err := contextOf("ThinQR.SolveTo", opts)
	if err != nil {
		return err
	}
	return q.solveTo(ctx, dst, b)
}

// SolveVecTo solves for one right-hand side, dst = x, as SolveTo does. The option is [WithContext].
func (q *ThinQR[T]) SolveVecTo(dst VectorSink[T], b VectorSource[T], opts ...CallOption) error {
	q.check()
	ctx, err := contextOf("ThinQR.SolveVecTo", opts)
	if err != nil {
		return err
	}
	return solveVector(ctx, "A", q.m, q.n, dst, b, q.solveTo)
}

// solveTo is SolveTo in a context.
func (q *ThinQR[T]) solveTo(ctx context.Context, dst Destination[T], b Source[T]) error {
	to, err := checkSystem("SolveTo", q.m, q.n, dst, b)
	if err != nil {
		return err
	}
	_, nrhs := b.Dims()
	if q.n == 0 || nrhs == 0 {
		return q.engine.Ready(ctx)
	}
	e, f := q.engine, q.f
	right, _ := blocked.From(b, blocked.Full, f.a.NB(), copying(e))
	back := scaleColumns(right, f.exp, e.Options().Workers)
	x := blocked.New[T](blocked.Full, q.n, nrhs, f.a.NB())
	if err := Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, q.q, right, 0, x); err != nil {
		return err
	}
	err = execute(ctx, e, f.direct(e, nrhs), func(s *executor[T]) {
		if s.err = triangleError(f.a, q.n); s.err == nil {
			f.solveR(s, blas.NoTrans, x)
		}
	})
	if err != nil {
		return err
	}
	condition := f.conditionError(ctx, e)
	if noSolution(condition) {
		return condition
	}
	if back != nil {
		shiftColumns(x, x, back, e.Options().Workers)
	}
	if err := inRange(ctx, e, x, b); err != nil {
		return err
	}
	x.CopyTo(to, e.Options().Workers)
	return condition
}

// Cond estimates the condition number of R in the 1-norm, as [QR.Cond] does. The option is [WithContext].
func (q *ThinQR[T]) Cond(opts ...CallOption) float64 {
	q.check()
	ctx := mustContext("ThinQR.Cond", opts)
	if q.n == 0 {
		return 0
	}
	if triangleError(q.f.a, q.n) != nil {
		return math.Inf(1)
	}
	e, end := q.engine.Session()
	defer end()
	c, err := q.f.cond(ctx, e)
	if err != nil {
		return math.NaN()
	}
	return c
}
