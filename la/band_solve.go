package la

import (
	"fmt"
	"math"
)

// BandCholesky is the Cholesky factorization of a symmetric positive definite band matrix, A = Uᵀ·U, after gonum's
// mat.BandCholesky. With n rows and k diagonals on each side it takes n·k² flops and n·(k+1) elements, or up to n·64
// more.
//
// The zero value holds no factorization and uses the default engine. Several goroutines may read a BandCholesky at once.
type BandCholesky[T Element] struct{ f bandFactors[T] }

// NewBandCholesky returns an empty factorization that computes on e.
func NewBandCholesky[T Element](e *Engine) *BandCholesky[T] {
	return &BandCholesky[T]{bandFactors[T]{engine: e}}
}

// Factorize computes the factorization of a, which does not change, and of which it reads one half. It replaces an
// earlier factorization and uses its memory again.
//
// The error is a *NonFiniteError; a *NotPositiveDefiniteError; a *ShapeError if the two bandwidths of a differ; an
// *exec.TaskError that names the version that failed, or exec.ErrClosed. c is then empty. The option is [WithContext]; a
// factorization that has begun is not broken off.
//
// Reference: LAPACK xPBTRF.
func (c *BandCholesky[T]) Factorize(a SymmetricBandSource[T], opts ...CallOption) error {
	c.Reset()
	ctx, err := contextOf("BandCholesky.Factorize", opts)
	if err != nil {
		return err
	}
	kl, ku := a.Bandwidth()
	if kl != ku || kl < 0 {
		return &ShapeError{"Factorize", fmt.Sprintf("the bandwidths of a symmetric matrix are %d and %d", kl, ku)}
	}
	return c.f.cholesky(ctx, a, min(ku, max(0, a.SymmetricDim()-1)))
}

// IsEmpty reports whether c holds no factorization.
func (c *BandCholesky[T]) IsEmpty() bool { return !c.f.valid }

// Reset drops the factorization. Its memory stays for the next one.
func (c *BandCholesky[T]) Reset() { c.f.reset() }

// SymmetricDim returns n. Like all methods but Factorize, IsEmpty and Reset, it panics with ErrNotFactorized if there is
// no factorization.
func (c *BandCholesky[T]) SymmetricDim() int {
	c.f.check()
	return c.f.a.Rows
}

// Bandwidth returns the number of diagonals on each side of the main one, twice.
func (c *BandCholesky[T]) Bandwidth() (kl, ku int) {
	c.f.check()
	return c.f.ku, c.f.ku
}

// SolveTo solves A·X = B for X, dst = X, where B is n×nrhs. dst may be b; an empty *mat.Dense takes the shape of b.
//
// The error is a *ShapeError; an *OverflowError if B is finite and the solution is not; a mat.Condition if A is singular
// to working precision (see [Solve]): if it is finite, dst holds a solution whose digits may all be wrong; an
// *exec.TaskError that names the version that failed, or exec.ErrClosed. But for the finite mat.Condition an error
// leaves dst unchanged, except for its shape. The option is [WithContext].
//
// Reference: LAPACK xPBTRS.
func (c *BandCholesky[T]) SolveTo(dst Destination[T], b Source[T], opts ...CallOption) error {
	c.f.check()
	ctx, err := contextOf("BandCholesky.SolveTo", opts)
	if err != nil {
		return err
	}
	return c.f.solveTo(ctx, transposition(false), dst, b)
}

// SolveVecTo solves A·x = b for one right-hand side, dst = x, as SolveTo does.
func (c *BandCholesky[T]) SolveVecTo(dst VectorSink[T], b VectorSource[T], opts ...CallOption) error {
	c.f.check()
	ctx, err := contextOf("BandCholesky.SolveVecTo", opts)
	if err != nil {
		return err
	}
	return c.f.solveVecTo(ctx, false, dst, b)
}

// Cond estimates the condition number of A in the 1-norm, as [Cholesky.Cond] does.
func (c *BandCholesky[T]) Cond(opts ...CallOption) float64 {
	c.f.check()
	return c.f.cond(mustContext("BandCholesky.Cond", opts))
}

// Det returns the determinant of A: 0 if it underflows, an infinity if it overflows.
func (c *BandCholesky[T]) Det() float64 { return math.Exp(c.LogDet()) }

// LogDet returns the logarithm of the determinant of A.
func (c *BandCholesky[T]) LogDet() float64 {
	c.f.check()
	log, _ := c.f.logDet()
	return log
}

// BandLU is the LU factorization of a square band matrix with partial pivoting, A = P·L·U. With n rows and kl and ku
// diagonals below and above the main one it takes 2·n·kl·(kl+ku) flops at most and n·(2·kl+ku+1) elements, or up to n·126
// more. A tridiagonal matrix is one with kl = ku = 1.
//
// The zero value holds no factorization and uses the default engine. Several goroutines may read a BandLU at once.
type BandLU[T Element] struct{ f bandFactors[T] }

// NewBandLU returns an empty factorization that computes on e.
func NewBandLU[T Element](e *Engine) *BandLU[T] { return &BandLU[T]{bandFactors[T]{engine: e}} }

// Factorize computes the factorization of a, which does not change. It replaces an earlier factorization and uses its
// memory again.
//
// The error is a *SingularError if U has a zero on its diagonal. The factorization is then complete, and the methods that
// do not divide by U work. After any other error f is empty: a *NonFiniteError; a *ShapeError if a is not square; an
// *exec.TaskError that names the version that failed, or exec.ErrClosed. The option is [WithContext]; a factorization
// that has begun is not broken off.
//
// Reference: LAPACK xGBTRF.
func (f *BandLU[T]) Factorize(a BandSource[T], opts ...CallOption) error {
	f.Reset()
	ctx, err := contextOf("BandLU.Factorize", opts)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	kl, ku := a.Bandwidth()
	if m != n || kl < 0 || ku < 0 {
		return &ShapeError{"Factorize", fmt.Sprintf("A is %d×%d with bandwidths %d and %d", m, n, kl, ku)}
	}
	last := max(0, n-1)
	if err := f.f.lu(ctx, a, min(kl, last), min(ku, last)); err != nil {
		return err
	}
	return f.f.singular()
}

// IsEmpty reports whether f holds no factorization.
func (f *BandLU[T]) IsEmpty() bool { return !f.f.valid }

// Reset drops the factorization. Its memory stays for the next one.
func (f *BandLU[T]) Reset() { f.f.reset() }

// Dims returns the order, twice. Like all methods but Factorize, IsEmpty and Reset, it panics with ErrNotFactorized if
// there is no factorization.
func (f *BandLU[T]) Dims() (m, n int) {
	f.f.check()
	return f.f.a.Rows, f.f.a.Rows
}

// Bandwidth returns the numbers of diagonals of A below and above the main one.
func (f *BandLU[T]) Bandwidth() (kl, ku int) {
	f.f.check()
	return f.f.kl, f.f.ku
}

// SolveTo solves A·X = B, or Aᵀ·X = B if trans, for X, dst = X, where B is n×nrhs. dst may be b; an empty *mat.Dense takes
// the shape of b.
//
// The error is a *SingularError if U has a zero on its diagonal, or one of those of [BandCholesky.SolveTo], and what it
// leaves in dst is the same. The option is [WithContext].
//
// Reference: LAPACK xGBTRS.
func (f *BandLU[T]) SolveTo(dst Destination[T], trans bool, b Source[T], opts ...CallOption) error {
	f.f.check()
	ctx, err := contextOf("BandLU.SolveTo", opts)
	if err != nil {
		return err
	}
	return f.f.solveTo(ctx, transposition(trans), dst, b)
}

// SolveVecTo solves A·x = b, or Aᵀ·x = b if trans, for one right-hand side, dst = x, as SolveTo does.
func (f *BandLU[T]) SolveVecTo(dst VectorSink[T], trans bool, b VectorSource[T], opts ...CallOption) error {
	f.f.check()
	ctx, err := contextOf("BandLU.SolveVecTo", opts)
	if err != nil {
		return err
	}
	return f.f.solveVecTo(ctx, trans, dst, b)
}

// Cond estimates the condition number of A in the 1-norm, as [LU.Cond] does.
func (f *BandLU[T]) Cond(opts ...CallOption) float64 {
	f.f.check()
	return f.f.cond(mustContext("BandLU.Cond", opts))
}

// Det returns the determinant of A: 0 if A is singular or the determinant underflows, an infinity if it overflows.
func (f *BandLU[T]) Det() float64 {
	log, sign := f.LogDet()
	return sign * math.Exp(log)
}

// LogDet returns the logarithm of the magnitude of the determinant of A, and its sign, 1 or -1. The determinant of a
// singular matrix has logarithm -Inf and sign 0.
func (f *BandLU[T]) LogDet() (log, sign float64) {
	f.f.check()
	return f.f.logDet()
}
