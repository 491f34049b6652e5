package la

import (
	"fmt"
	"math"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// QR is the QR factorization of an m×n matrix,
//
//	A = Q·R,
//
// after gonum's mat.QR, but for any shape: Q is orthogonal of order m, R is m×n and upper
// triangular, or trapezoidal if m < n. It solves linear systems and least-squares problems; of
// several solutions it finds the one of minimum norm.
//
// QR exchanges no columns: the factorization of a rank-deficient matrix is as accurate, but R
// does not reveal the rank.
//
// The zero value holds no factorization, and uses the default engine and the zero QROptions.
// Several goroutines may read a QR at once.
type QR[T Element] struct {
	engine *Engine
	opt    QROptions

	f     *qrFactors[T] // nil if there is no factorization
	spare *qrFactors[T] // memory of a former factorization
	lent  bool          // f is in the caller's tiles, and does not become spare memory

	// Rᵀ = Z·S of an A that is wider than high, made when it is first needed.
	mu sync.Mutex
	// wide is the factorization Rᵀ = Z·S for an A that is wider than high, made when it is first
	// needed. mu guards it.
	wide *qrFactors[T]
}

// NewQR returns an empty factorization that computes on e.
func NewQR[T Element](e *Engine) *QR[T] { return &QR[T]{engine: e} }

// NewQRWith returns an empty factorization that computes on e with the options
// given. The error is that of [QROptions.Validate].
func NewQRWith[T Element](e *Engine, opt QROptions) (*QR[T], error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return &QR[T]{engine: e, opt: opt}, nil
}

// valid panics with ErrNotFactorized if there is no factorization.
func (q *QR[T]) valid() {
	if q.f == nil {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether q holds no factorization.
func (q *QR[T]) IsEmpty() bool { return q.f == nil }

// Reset drops the factorization. Its memory stays for the next one of the same size; drop q to
// free it.
func (q *QR[T]) Reset() {
	q.endResidence()
	if q.f != nil && !q.lent {
		q.spare = q.f
	}
	q.f, q.lent, q.wide = nil, false, nil
}

// clear drops the factorization and its memory.
func (q *QR[T]) clear() {
	q.endResidence()
	*q = QR[T]{engine: q.engine, opt: q.opt}
}

// endResidence drops copies on devices.
func (q *QR[T]) endResidence() {
	if q.f != nil {
		q.f.resident.end()
	}
}

// Dims returns the shape of A. Like all methods but Factorize, IsEmpty, Reset and TileSize, it panics with
// ErrNotFactorized if there is no factorization.
func (q *QR[T]) Dims() (m, n int) {
	q.valid()
	return q.f.a.Dims()
}

// TileSize returns the tile size with which Factorize cuts an m×n matrix. If one kernel factors
// such a matrix as a whole, direct is true and nb is the larger of m and n. It needs no
// factorization.
func (q *QR[T]) TileSize(m, n int) (nb int, direct bool) {
	return engine.QRTileSize[T](q.engine, q.opt.TileSize, m, n)
}

// Flops returns the floating-point operations of the factorization.
func (q *QR[T]) Flops() QRFlops {
	q.valid()
	m, n := q.f.a.Dims()
	return QRFlops{Standard: qr.QRFlops(m, n), Performed: q.f.rotations.Flops()}
}

// RTo copies R with its zeros below the diagonal to dst: all of it if dst is m×n, the first
// min(m, n) rows if dst has only those. An empty *mat.Dense becomes m×n. RTo panics with
// mat.ErrShape if dst has another shape.
func (q *QR[T]) RTo(dst Sink[T]) {
	q.valid()
	m, n := q.f.a.Dims()
	shape[T](dst, m, n)
	r, c := dst.Dims()
	if c != n || r != m && r != min(m, n) {
		panic(mat.ErrShape)
	}
	if r == 0 || c == 0 {
		return
	}
	v, _, back := writable[T](dst, blocked.Full, q.f.a.NB(), false, q.engine.Options().Workers)
	q.f.copyR(v)
	if q.f.exp != 0 {
		scaleByPower(v, q.f.exp)
	}
	back()
}

// QTo computes all of Q in dst, which must be m×m; an empty *mat.Dense becomes m×m. If m is much
// larger than n this costs more than the factorization: see [QR.QThinTo] and [QR.ApplyQTo].
//
// The error is a *ShapeError, an *exec.TaskError that names the version that failed, or
// exec.ErrClosed; dst is undefined after the last two. The option is [WithContext].
//
// Reference: LAPACK xORGQR.
func (q *QR[T]) QTo(dst Sink[T], opts ...CallOption) error {
	q.valid()
	m, _ := q.f.a.Dims()
	return q.columnsTo("QTo", dst, m, opts)
}

// QThinTo computes the first min(m, n) columns of Q in dst, m×min(m, n); an empty *mat.Dense
// takes that shape. They are an orthonormal basis of the columns of A if these are independent,
// and A is their product with the first min(m, n) rows of R.
//
// The errors are those of [QR.QTo]. The option is [WithContext].
func (q *QR[T]) QThinTo(dst Sink[T], opts ...CallOption) error {
	q.valid()
	m, n := q.f.a.Dims()
	return q.columnsTo("QThinTo", dst, min(m, n), opts)
}

// columnsTo computes the first k columns of Q in dst.
func (q *QR[T]) columnsTo(op string, dst Sink[T], k int, opts []CallOption) error {
	m, _ := q.f.a.Dims()
	ctx, err := contextOf("QR."+op, opts)
	if err != nil {
		return err
	}
	if err := shapeResult[T](op, "factor", dst, m, k); err != nil {
		return err
	}
	if m == 0 || k == 0 {
		return nil
	}
	v, _, back := writable[T](dst, blocked.Full, q.f.a.NB(), false, q.engine.Options().Workers)
	if err := q.f.columns(ctx, q.engine, v); err != nil {
		return err
	}
	back()
	return nil
}

// ApplyQTo computes a product with Q without computing Q:
//
//	dst = op(Q)·B (side = blas.Left,  B m×k),
//	dst = B·op(Q) (side = blas.Right, B k×m),
//
// with op(Q) = Q, or Qᵀ if trans. dst may be b; an empty *mat.Dense takes the shape of b.
//
// The error is a *ShapeError, also if side is neither Left nor Right, an *exec.TaskError that
// names the version that failed, or exec.ErrClosed; dst is then unchanged but for its shape.
// The option is [WithContext].
//
// Reference: LAPACK xORMQR.
func (q *QR[T]) ApplyQTo(dst Destination[T], side blas.Side, trans bool, b Source[T], opts ...CallOption) error {
	q.valid()
	ctx, err := contextOf("QR.ApplyQTo", opts)
	if err != nil {
		return err
	}
	m, _ := q.f.a.Dims()
	r, c := b.Dims()
	switch {
	case side != blas.Left && side != blas.Right:
		return &ShapeError{"ApplyQTo", "side is neither blas.Left nor blas.Right"}
	case side == blas.Left && r != m || side == blas.Right && c != m:
		return &ShapeError{"ApplyQTo", fmt.Sprintf("Q is %d×%d and b %d×%d", m, m, r, c)}
	}
	to, err := sink("ApplyQTo", "dst", dst)
	if err == nil {
		err = shapeResult[T]("ApplyQTo", "product", to, r, c)
	}
	if err != nil {
		return err
	}
	if r == 0 || c == 0 {
		return nil
	}
	x, _ := blocked.From(b, blocked.Full, q.f.a.NB(), copying(q.engine))
	exp := scaleExponent[T](x.Norm(lapack.MaxAbs, q.engine.Options().Workers))
	if exp != 0 {
		scaleByPower(x, -exp)
	}
	err = execute(ctx, q.engine, q.f.direct(q.engine, max(r, c)), func(s *executor[T]) {
		x = q.f.apply(s, side, transposition(trans), x)
	})
	if err != nil {
		return err
	}
	if exp != 0 {
		scaleByPower(x, exp)
	}
	x.CopyTo(to, q.engine.Options().Workers)
	return nil
}

// Det returns the determinant of A, ±Inf or 0 if it is out of range. It panics
// with mat.ErrSquare if A is not square.
func (q *QR[T]) Det() float64 {
	log, sign := q.LogDet()
	return sign * math.Exp(log)
}

// LogDet returns the logarithm of the magnitude of the determinant of A, and its sign, 1 or -1.
// The determinant of a singular matrix has logarithm -Inf and sign 0. LogDet panics with
// mat.ErrSquare if A is not square.
func (q *QR[T]) LogDet() (log, sign float64) {
	q.valid()
	m, n := q.f.a.Dims()
	if m != n {
		panic(mat.ErrSquare)
	}
	sign = 1
	if q.f.rotations.Reflections()%2 == 1 {
		sign = -1
	}
	for i := range n {
		d := q.f.a.At(i, i)
		switch {
		case d == 0:
			return math.Inf(-1), 0
		case d < 0:
			sign = -sign
		}
		log += logAbs(d)
	}
	return log + float64(n*q.f.exp)*math.Ln2, sign
}
