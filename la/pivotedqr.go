package la

import (
	"context"
	"math"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// PivotedQR is the QR factorization with column pivoting of an m×n matrix of any shape,
//
//	A·P = Q·R,
//
// which reveals the rank: P is a permutation, Q orthogonal of order m, and R m×n and upper triangular, or trapezoidal if
// m < n. The magnitudes on its diagonal fall where the singular values of A do. It solves least-squares problems of
// deficient rank, and has bases of the range and of the null space.
//
// Columns are chosen in blocks of 32, by the norms of what is left of them in a random sketch, and within a block by
// their own norms. So almost all operations are products of matrices, and R reveals the rank also of matrices that
// mislead the choice by norms alone, such as Kahan's. The random numbers are always the same ones. A matrix that is far
// higher than wide is factored without pivoting first, and then R.
//
// The zero value holds no factorization and uses the default engine. Several goroutines may read a PivotedQR at once.
type PivotedQR[T Element] struct {
	engine *Engine
	opt    PivotedQROptions
	valid  bool
	m, n   int
	tall   *QR[T] // A = Q·R if A is far higher than wide; the rest is the factorization of R then
	// One tile each: what is factored, and its transpose, which holds Rᵀ and the reflectors. Their memory is used again.
	a, b   *blocked.Matrix[T]
	tau    []T
	pivots kernels.Pivots // Rows is P
	exp    int            // it is the factorization of A divided by two to this power

	mu       sync.Mutex
	complete *QR[T] // of the first rows of R, transposed, for solutions of that rank; mu guards it
	rank     int
}

// PivotedQROptions are options of a factorization with column pivoting. The zero value is what NewPivotedQR takes.
type PivotedQROptions struct {
	// If Exact is set, each step takes the column with the largest norm of what is left of it, as in LAPACK's xGEQP3. The
	// diagonal of R then has descending magnitudes, but for rounding. A high matrix is not factored in two stages, and
	// FactorTo has its reflectors. It takes several times as long for a large matrix.
	Exact bool
}

// NewPivotedQR returns an empty factorization that computes on e.
func NewPivotedQR[T Element](e *Engine) *PivotedQR[T] { return &PivotedQR[T]{engine: e} }

// NewPivotedQRWith returns an empty factorization that computes on e with the options given.
func NewPivotedQRWith[T Element](e *Engine, opt PivotedQROptions) *PivotedQR[T] {
	return &PivotedQR[T]{engine: e, opt: opt}
}

// pivotedDirect is the order of a square matrix up to which a factorization is a call of one kernel by the caller's
// goroutine.
const pivotedDirect = 192

// Factorize computes the factorization of a, which does not change. It replaces an earlier factorization and uses its
// memory again.
//
// Every finite matrix has one. The error is a *NonFiniteError, an *exec.TaskError that names the version that failed,
// exec.ErrClosed, or blocked.ErrAway for a distributed matrix; f is then empty.
//
// The option is [WithContext]. A factorization that has begun is not broken off when the context ends, but its result is
// then dropped.
//
// Reference: LAPACK xGEQP3; Martinsson et al., Householder QR factorization with randomization for column pivoting
// (2017).
func (f *PivotedQR[T]) Factorize(a Source[T], opts ...CallOption) error {
	ctx, err := contextOf("PivotedQR.Factorize", opts)
	if err != nil {
		f.Reset()
		return err
	}
	return f.factorize(ctx, a)
}

// factorize is Factorize in a context.
func (f *PivotedQR[T]) factorize(ctx context.Context, a Source[T]) error {
	m, n := a.Dims()
	f.Reset()
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	if x, ok := any(a).(*blocked.Matrix[T]); ok && x.IsDistributed() {
		return blocked.ErrAway
	}
	f.m, f.n = m, n
	exp := 0
	if m >= 2*n && m*n >= pivotedDirect*pivotedDirect && !f.opt.Exact {
		if f.tall == nil {
			f.tall = NewQR[T](f.engine)
		}
		if err := f.tall.factorize(ctx, a); err != nil {
			return err
		}
		// R of A divided by 2^exp: that of A may overflow.
		r := blocked.New[T](blocked.Full, n, n, f.tall.f.a.NB())
		f.tall.f.copyR(r)
		a, m, exp = r, n, f.tall.f.exp
	} else {
		f.tall = nil
	}
	nb := max(m, n, 1)
	if !fits(f.a, m, n, nb) {
		f.a = nil
	}
	r := newReading(f.engine, f.a, a, blocked.Full, nb, readingOptions{alone: true})
	f.a = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	_, f.exp = scaleCopy(f.engine, f.a, r.stats)
	f.exp += exp
	b := tileOf(&f.b, n, m)
	if m > 0 && n > 0 {
		x := f.a.Tile(0, 0)
		const rows = 64
		blocks := (n + rows - 1) / rows
		inParallel(m*n, min(f.engine.Options().Workers, blocks), func(first, stride int) {
			for i := (first - 1) * rows; i < n; i += stride * rows {
				transpose.Copy(b.Data[i*b.Stride:], b.Stride, x.Data[i:], x.Stride, min(rows, n-i), m)
			}
		})
	}
	k := min(m, n)
	f.tau = append(f.tau[:0], make([]T, k)...)
	o := engine.Ops[T](f.engine).Op("geqp3")
	params := &op.Geqp3{Sketched: !f.opt.Exact}
	err := callWhole(ctx, f.engine, m*n <= pivotedDirect*pivotedDirect, "PivotedQR", o, params, b, f.factors(), &f.pivots)
	if err == nil {
		err = context.Cause(ctx)
	}
	f.valid = err == nil
	return err
}

// factors returns tau as a tile.
func (f *PivotedQR[T]) factors() *kernels.Tile[T] {
	k := len(f.tau)
	return &kernels.Tile[T]{Rows: 1, Cols: k, Stride: max(k, 1), Data: f.tau}
}

// check panics with ErrNotFactorized if there is no factorization.
func (f *PivotedQR[T]) check() {
	if !f.valid {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether f holds no factorization.
func (f *PivotedQR[T]) IsEmpty() bool { return !f.valid }

// Dims returns m and n. Like all methods but Factorize, IsEmpty and Reset, it panics with ErrNotFactorized if there is no
// factorization.
func (f *PivotedQR[T]) Dims() (m, n int) {
	f.check()
	return f.m, f.n
}

// Reset drops the factorization. Its memory stays for the next one of the same size; drop f to free it.
func (f *PivotedQR[T]) Reset() { f.valid, f.complete = false, nil }

// diagonal returns the magnitude of diagonal element i of R, of A divided by 2^exp.
func (f *PivotedQR[T]) diagonal(i int) float64 {
	return math.Abs(float64(f.b.Tile(0, 0).Row(i)[i]))
}

// Rank returns the number of rows of R up to the last one whose diagonal element is greater in magnitude than rcond
// times the largest one. It panics with ErrRcond if rcond is negative or NaN.
//
// It is the rank for an rcond in a gap of the singular values, which the diagonal of R follows within a small factor. No
// choice of columns guarantees that; [SVD.Rank] does.
func (f *PivotedQR[T]) Rank(rcond float64) int {
	f.check()
	if !(rcond >= 0) {
		panic(ErrRcond)
	}
	top := 0.0
	for i := range f.tau {
		top = max(top, f.diagonal(i))
	}
	for i := len(f.tau); i > 0; i-- {
		if f.diagonal(i-1) > rcond*top {
			return i
		}
	}
	return 0
}

// Pivots returns the permutation: column i of A·P is column p[i] of A. If dst is not nil the result goes there; Pivots
// panics with ErrSliceLength unless dst has n elements.
func (f *PivotedQR[T]) Pivots(dst []int) []int {
	f.check()
	if dst == nil {
		dst = make([]int, f.n)
	}
	if len(dst) != f.n {
		panic(ErrSliceLength)
	}
	copy(dst, f.pivots.Rows)
	return dst
}

// RTo copies R with its zeros below the diagonal to dst: all of it if dst is m×n, the first min(m, n) rows if dst has
// only those. An empty *mat.Dense becomes m×n. RTo panics with mat.ErrShape if dst has another shape.
func (f *PivotedQR[T]) RTo(dst Sink[T]) {
	f.check()
	shape[T](dst, f.m, f.n)
	r, c := dst.Dims()
	k := len(f.tau)
	if c != f.n || r != f.m && r != k {
		panic(mat.ErrShape)
	}
	for i := range r {
		for j := range c {
			var x T
			if i <= j && i < k {
				x = T(math.Ldexp(float64(f.b.Tile(0, 0).Row(j)[i]), f.exp))
			}
			dst.Set(i, j, x)
		}
	}
}

// FactorTo copies the factors to dst, m×n, and tau, as LAPACK's xGEQP3 stores them: R on and above the diagonal, and
// below it the vectors of the reflectors H(i) = I − tau(i)·v·vᵀ of Q = H(0)·H(1)·…, without their first element, which
// is 1. An empty *mat.Dense takes the shape. It panics with ErrNoVectors unless the factorization is
// [PivotedQROptions.Exact], with mat.ErrShape if dst has another shape, and with ErrSliceLength unless tau has min(m, n)
// elements.
func (f *PivotedQR[T]) FactorTo(dst Sink[T], tau []T) {
	f.check()
	if !f.opt.Exact {
		panic(ErrNoVectors)
	}
	shape[T](dst, f.m, f.n)
	if r, c := dst.Dims(); r != f.m || c != f.n {
		panic(mat.ErrShape)
	}
	if len(tau) != len(f.tau) {
		panic(ErrSliceLength)
	}
	copy(tau, f.tau)
	if len(tau) == 0 {
		return
	}
	var to kernels.Tile[T]
	b := f.b.Tile(0, 0)
	trans, raw := asTile[T](dst, &to)
	if raw = raw && trans == blas.NoTrans; raw {
		transpose.Copy(to.Data, to.Stride, b.Data, b.Stride, f.m, f.n)
	}
	if raw && f.exp == 0 {
		return
	}
	for j := range f.n {
		for i, v := range b.Row(j)[:f.m] {
			if i <= j {
				v = T(math.Ldexp(float64(v), f.exp))
			}
			dst.Set(i, j, v)
		}
	}
}

// QThinTo computes the first min(m, n) columns of Q in dst, m×min(m, n); an empty *mat.Dense takes that shape. The first
// ones, as many as the rank, are an orthonormal basis of the range of A.
//
// The error is a *ShapeError, an *exec.TaskError that names the version that failed, or exec.ErrClosed; dst is undefined
// after the last two. The option is [WithContext].
//
// Reference: LAPACK xORGQR.
func (f *PivotedQR[T]) QThinTo(dst Sink[T], opts ...CallOption) error {
	f.check()
	ctx, err := contextOf("PivotedQR.QThinTo", opts)
	if err != nil {
		return err
	}
	k := len(f.tau)
	if err := shapeResult[T]("QThinTo", "factor", dst, f.m, k); err != nil || k == 0 {
		return err
	}
	rows := f.b.Cols()
	x := blocked.New[T](blocked.Full, k, rows, max(k, rows))
	for i := range k {
		x.Set(i, i, 1)
	}
	if err := f.multiply(ctx, true, x.Tile(0, 0)); err != nil {
		return err
	}
	if f.tall == nil {
		vectorsTo(dst, x, k, rows)
		return nil
	}
	y := General[T]{Rows: f.m, Cols: k, Stride: k, Data: make([]T, f.m*k)}
	transpose.Copy(y.Data, k, x.Tile(0, 0).Data, x.Tile(0, 0).Stride, rows, k)
	return f.tall.ApplyQTo(dst, blas.Left, false, y, WithContext(ctx))
}

// multiply overwrites the rows x with x·Q, or with x·Qᵀ if transposed, for the Q of what was factored last.
func (f *PivotedQR[T]) multiply(ctx context.Context, transposed bool, x *kernels.Tile[T]) error {
	if x.Rows == 0 || x.Cols == 0 || len(f.tau) == 0 {
		return nil
	}
	o := engine.Ops[T](f.engine).Op("ormlq")
	direct := x.Rows*x.Cols <= pivotedDirect*pivotedDirect
	return callWhole(ctx, f.engine, direct, "PivotedQR", o, &op.Ormlq{Transposed: transposed}, f.b.Tile(0, 0), f.factors(), x)
}
