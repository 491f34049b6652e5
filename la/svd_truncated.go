package la

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TruncatedSVD is an approximation of rank k to an m×n matrix,
//
//	A ≈ U·Σ·Vᵀ,
//
// with k singular values in descending order and orthonormal vectors as the columns of U, m×k, and V, n×k. It is for k
// that is much less than m and n: the work is about 4·m·n·(k+p)·(q+1) operations, as products, with p and q as in
// [TruncatedOptions].
//
// A random matrix is multiplied by A and, q times, by Aᵀ and A; the products are made orthonormal after each. The
// singular value decomposition of A in the space Q that they span is the result. [TruncatedSVD.Bound] says how good
// it is.
//
// The zero value is without a decomposition and uses the default engine. A TruncatedSVD may be read from several
// goroutines at once.
//
// Reference: Halko, Martinsson and Tropp, Finding structure with randomness (2011), algorithms 4.4 and 5.1, and
// equation 4.3 for the bound.
type TruncatedSVD[T Element] struct {
	engine *Engine
	valid  bool
	m, n   int
	u, v   General[T] // m×k, n×k
	values []T
	bound  float64
}

// NewTruncatedSVD returns an empty decomposition that computes on e.
func NewTruncatedSVD[T Element](e *Engine) *TruncatedSVD[T] { return &TruncatedSVD[T]{engine: e} }

// Factorize computes an approximation of rank k to a, which is not changed. A former decomposition is replaced. The
// options are [WithContext] and [TruncatedOptions].
//
// It panics with ErrRank if k is negative or greater than min(m, n). The error is a *NonFiniteError, a *ShapeError for
// options that are out of range, or one of [Gemm], [QR.Factorize] or [SVD.Factorize]. c is then empty.
func (c *TruncatedSVD[T]) Factorize(a Source[T], k int, opts ...CallOption) error {
	o, err := optionsOf("TruncatedSVD.Factorize", takesTruncated, opts)
	if err != nil {
		c.valid = false
		return err
	}
	return c.factorize(o.ctx, a, k, o.truncated)
}

// factorize is Factorize in a context.
func (c *TruncatedSVD[T]) factorize(ctx context.Context, a Source[T], k int, opt TruncatedOptions) error {
	m, n := a.Dims()
	if k < 0 || k > min(m, n) {
		panic(ErrRank)
	}
	c.valid = false
	if opt.Oversampling < 0 || opt.Iterations < -1 {
		return &ShapeError{"TruncatedSVD", fmt.Sprintf("oversampling %d, want at least 0; iterations %d, want at least -1",
			opt.Oversampling, opt.Iterations)}
	}
	if opt.Oversampling == 0 {
		opt.Oversampling = 10
	}
	if opt.Iterations == 0 {
		opt.Iterations = 2
	}
	e := c.engine
	if err := e.Ready(ctx); err != nil {
		return err
	}
	if x, ok := any(a).(*blocked.Matrix[T]); ok && x.IsDistributed() {
		return blocked.ErrAway
	}
	c.m, c.n, c.bound = m, n, 0
	c.u, c.v, c.values = dense[T](m, k), dense[T](n, k), make([]T, k)
	if m == 0 || n == 0 {
		c.valid = true
		return nil
	}
	x, trans := readable(a, blas.NoTrans, max(1, min(max(m, n), 256)), nil, e.Options().Workers)
	top, err := largest(ctx, e, x, trans)
	if err != nil {
		return err
	}
	exp := scaleExponent[T](top)
	if exp != 0 {
		x = scaledCopy(e, Source[T](x), -exp)
	}
	s := sketch[T]{
		ctx: ctx, engine: e, a: x, trans: trans, m: m, n: n,
		random: rand.New(rand.NewPCG(opt.Seed, uint64(k))),
	}
	if c.bound, err = s.decompose(c, min(k+opt.Oversampling, m, n), max(opt.Iterations, 0)); err != nil {
		return err
	}
	for i := range c.values {
		c.values[i] = T(math.Ldexp(float64(c.values[i]), exp))
	}
	c.bound = math.Ldexp(c.bound, exp)
	c.valid = true
	return nil
}

// sketch approximates op(a), m×n.
type sketch[T Element] struct {
	ctx    context.Context
	engine *Engine
	a      *blocked.Matrix[T]
	trans  blas.Transpose
	m, n   int
	random *rand.Rand
}

// dense returns a matrix of zeros.
func dense[T Element](m, n int) General[T] {
	return General[T]{Rows: m, Cols: n, Stride: max(n, 1), Data: make([]T, m*n)}
}

// gaussian returns a matrix of normally distributed numbers.
func (s *sketch[T]) gaussian(m, n int) General[T] {
	x := dense[T](m, n)
	for i := range x.Data {
		x.Data[i] = T(s.random.NormFloat64())
	}
	return x
}

// times returns op(a)·x, or op(a)ᵀ·x.
func (s *sketch[T]) times(x General[T], transposed bool) (General[T], error) {
	trans, rows := s.trans, s.m
	if transposed {
		trans, rows = scalar.Flip[T](trans), s.n
	}
	y := dense[T](rows, x.Cols)
	return y, Gemm[T](s.ctx, s.engine, trans, blas.NoTrans, 1, s.a, x, 0, y)
}

// orthonormal returns an orthonormal basis of a space that contains the columns of x.
func (s *sketch[T]) orthonormal(x General[T]) (General[T], error) {
	q := NewQR[T](s.engine)
	if err := q.factorize(s.ctx, x); err != nil {
		return x, err
	}
	return x, q.QThinTo(x, WithContext(s.ctx))
}

// probes is the number of random vectors from which the bound is computed.
const probes = 10

// decompose sets the vectors and values of c by products with size columns, and returns c's bound.
func (s *sketch[T]) decompose(c *TruncatedSVD[T], size, iterations int) (bound float64, err error) {
	q, err := s.times(s.gaussian(s.n, size), false)
	if err == nil {
		q, err = s.orthonormal(q)
	}
	for i := 0; i < 2*iterations && err == nil; i++ {
		if q, err = s.times(q, i%2 == 0); err == nil {
			q, err = s.orthonormal(q)
		}
	}
	if err != nil {
		return 0, err
	}
	// Aᵀ·Q = W·Σ·Xᵀ, so that Q·Qᵀ·A = (Q·X)·Σ·Wᵀ.
	b, err := s.times(q, true)
	if err != nil {
		return 0, err
	}
	small := NewSVD[T](s.engine)
	if err := small.factorize(callOptions{ctx: s.ctx}, b, mat.SVDThin); err != nil {
		return 0, err
	}
	k := len(c.values)
	if k > 0 {
		w, x := dense[T](s.n, size), dense[T](size, size)
		small.UTo(w)
		small.VTo(x)
		x.Cols = k
		for i := range s.n {
			copy(c.v.Data[i*c.v.Stride:][:k], w.Data[i*w.Stride:][:k])
		}
		if err := Gemm[T](s.ctx, s.engine, blas.NoTrans, blas.NoTrans, 1, q, x, 0, c.u); err != nil {
			return 0, err
		}
		copy(c.values, small.values)
	}
	if size > k {
		bound = float64(small.values[k])
	}
	if size == min(s.m, s.n) {
		return bound, nil
	}
	rest, err := s.outside(q)
	return math.Hypot(bound, rest), err // the two parts of the error have orthogonal ranges
}

// applications is the number of products with R from which the bound is computed.
const applications = 3

// outside returns a bound on ‖R‖₂, R = (I − Q·Qᵀ)·A, that fails with probability 10^−probes at most: for random vectors
// x, 10·√(2/π) times the largest ‖R·(Rᵀ·R)²·x‖ bounds ‖R‖₂⁵. The fifth root of that factor is 1.5. Without the powers
// the bound would be 8 times the norm, and far more if many singular values of R are alike.
func (s *sketch[T]) outside(q General[T]) (float64, error) {
	x := s.gaussian(s.n, probes)
	logarithm := math.Log(10 * math.Sqrt(2/math.Pi))
	for left := applications; ; {
		y, err := s.times(x, false)
		if err != nil {
			return 0, err
		}
		if err := s.project(y, q); err != nil {
			return 0, err
		}
		logarithm += normalize(y)
		if left--; left == 0 {
			break
		}
		// What is left of y may be no more than rounding errors, which are not orthogonal to Q.
		if err := s.project(y, q); err != nil {
			return 0, err
		}
		if x, err = s.times(y, true); err != nil { // Rᵀ·y, since Qᵀ·y is 0
			return 0, err
		}
		logarithm += normalize(x)
	}
	return math.Exp(logarithm / (2*applications - 1)), nil
}

// project subtracts Q·Qᵀ·y from y.
func (s *sketch[T]) project(y, q General[T]) error {
	z := dense[T](q.Cols, y.Cols)
	if err := Gemm[T](s.ctx, s.engine, blas.Trans, blas.NoTrans, 1, q, y, 0, z); err != nil {
		return err
	}
	return Gemm[T](s.ctx, s.engine, blas.NoTrans, blas.NoTrans, -1, q, z, 1, y)
}

// normalize divides x by the largest norm of its columns, and returns the logarithm of that; −Inf for x = 0.
func normalize[T Element](x General[T]) float64 {
	most := 0.0
	for j := range x.Cols {
		norm := 0.0
		for i := range x.Rows {
			norm = math.Hypot(norm, float64(x.Data[i*x.Stride+j]))
		}
		most = max(most, norm)
	}
	if most > 0 {
		for i := range x.Data {
			x.Data[i] = T(float64(x.Data[i]) / most)
		}
	}
	return math.Log(most)
}

// check panics with ErrNotFactorized if there is no decomposition.
func (c *TruncatedSVD[T]) check() {
	if !c.valid {
		panic(ErrNotFactorized)
	}
}

// Dims returns m, n and k. It panics with ErrNotFactorized, as all that follow do, if there is no decomposition.
func (c *TruncatedSVD[T]) Dims() (m, n, k int) {
	c.check()
	return c.m, c.n, len(c.values)
}

// Bound returns a bound on ‖A − U·Σ·Vᵀ‖₂, beside rounding errors of the size of those of A's largest singular value. It holds
// with probability 1 − 1e-10 over the random numbers of its own. No approximation of rank k is better than A's
// singular value k+1.
func (c *TruncatedSVD[T]) Bound() float64 {
	c.check()
	return c.bound
}

// Values copies the singular values to dst, in descending order, and returns it. None of them is greater than A's, beside
// rounding errors. A nil dst is allocated; it panics with mat.ErrSliceLengthMismatch if another one has not k
// elements.
func (c *TruncatedSVD[T]) Values(dst []T) []T {
	c.check()
	return valuesTo(dst, c.values)
}

// UTo copies U to dst, m×k. An empty *mat.Dense takes the shape. It panics with mat.ErrShape if dst has another one.
func (c *TruncatedSVD[T]) UTo(dst Sink[T]) {
	c.check()
	copyTo(dst, c.u)
}

// VTo copies V to dst, n×k, as UTo does.
func (c *TruncatedSVD[T]) VTo(dst Sink[T]) {
	c.check()
	copyTo(dst, c.v)
}

// copyTo copies x to dst, which has its shape or is empty.
func copyTo[T Element](dst Sink[T], x General[T]) {
	shape(dst, x.Rows, x.Cols)
	if r, c := dst.Dims(); r != x.Rows || c != x.Cols {
		panic(mat.ErrShape)
	}
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			dst.Set(i, j, v)
		}
	}
}

// Reset drops the decomposition and its memory.
func (c *TruncatedSVD[T]) Reset() { *c = TruncatedSVD[T]{engine: c.engine} }
