package la

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// Cholesky is the Cholesky factorization of a symmetric positive definite n×n matrix,
//
//	A = L·Lᵀ = Uᵀ·U,
//
// after gonum's mat.Cholesky. The zero value holds no factorization and uses the default engine.
// Several goroutines may read a Cholesky at once.
type Cholesky[T Element] struct {
	engine *Engine
	// u holds U in its upper half; nil if there is no factorization. It is the upper half because
	// tiles are row-major: the updates UᵀU then read them along their rows.
	u     *blocked.Matrix[T]
	norm  norms              // of A
	bound *lazyNorms         // if not nil, bounds of A's norms instead: see sizes
	exp   int                // U is the factor of A divided by two to this power, which is even
	spare *blocked.Matrix[T] // memory of a former factorization
	lent  bool               // u is the caller's, and does not become spare memory

	resident *residence // of u
}

// NewCholesky returns an empty factorization that computes on e.
func NewCholesky[T Element](e *Engine) *Cholesky[T] { return &Cholesky[T]{engine: e} }

// valid panics with ErrNotFactorized if there is no factorization.
func (c *Cholesky[T]) valid() {
	if c.u == nil {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether c holds no factorization.
func (c *Cholesky[T]) IsEmpty() bool { return c.u == nil }

// SymmetricDim returns n. Like all methods but Factorize, IsEmpty, Reset, Clone and those that take another
// factorization, it panics with ErrNotFactorized if there is no factorization.
func (c *Cholesky[T]) SymmetricDim() int {
	c.valid()
	return c.u.Dim()
}

// Reset drops the factorization. Its memory stays for the next one of the same size; drop c to
// free it.
func (c *Cholesky[T]) Reset() {
	if c.u != nil && !c.lent {
		c.spare = c.u
	}
	c.resident.end()
	c.u, c.lent, c.norm, c.bound, c.exp = nil, false, norms{}, nil, 0
}

// clear drops the factorization and its memory.
func (c *Cholesky[T]) clear() {
	c.resident.end()
	*c = Cholesky[T]{engine: c.engine}
}

// Clone makes c a copy of src, on src's engine. It panics with ErrNotFactorized if src holds no
// factorization.
func (c *Cholesky[T]) Clone(src *Cholesky[T]) {
	src.valid()
	u := src.u.Clone()
	c.resident.end()
	*c = Cholesky[T]{engine: src.engine, u: u, norm: newNorms(slices.Clone(src.norm.columns)), exp: src.exp}
	if src.bound != nil {
		c.bound = new(lazyNorms)
	}
}

// LTo copies the factor L to dst, which must be lower triangular; an empty *mat.TriDense becomes
// lower triangular. Elements below the range of T are rounded. LTo panics with ErrNotFactorized,
// with mat.ErrShape if dst is not n×n, and with mat.ErrTriangle if dst is upper triangular or has
// a unit diagonal.
func (c *Cholesky[T]) LTo(dst TriangularSink[T]) { c.factorTo(dst, mat.Lower) }

// UTo copies the factor U to dst, which must be upper triangular; it panics as LTo does.
func (c *Cholesky[T]) UTo(dst TriangularSink[T]) { c.factorTo(dst, mat.Upper) }

// factorTo copies L or U to dst.
func (c *Cholesky[T]) factorTo(dst TriangularSink[T], kind mat.TriKind) {
	c.valid()
	if _, empty := shapeTriangle(dst, c.u.Dim(), kind, false); empty {
		return
	}
	u := c.u
	if c.exp != 0 {
		u = u.Clone()
		scaleByPower(u, c.exp/2)
	}
	// A symmetric view of U gives U above and Uᵀ = L below the diagonal.
	u.CopyTo(dst, c.engine.Options().Workers)
}

// Det returns the determinant of A, +Inf or 0 if it is out of range.
func (c *Cholesky[T]) Det() float64 { return math.Exp(c.LogDet()) }

// LogDet returns the logarithm of the determinant of A.
func (c *Cholesky[T]) LogDet() float64 {
	c.valid()
	var sum float64
	for i := range c.u.Dim() {
		sum += math.Log(float64(c.u.At(i, i)))
	}
	return 2*sum + float64(c.u.Dim()*c.exp)*math.Ln2
}
