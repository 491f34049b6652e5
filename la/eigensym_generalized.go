package la

import (
	"context"
	"errors"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// EigenSymGeneralized is the solution of a generalized eigenproblem of symmetric n×n matrices A and B, of which B is
// positive definite,
//
//	A·x = λ·B·x,
//
// or of one of the other forms of [GeneralizedForm]: eigenvalues λ in ascending order, and eigenvectors as the columns of
// X with Xᵀ·B·X = I, or for the form B·A·x = λ·x with Xᵀ·B⁻¹·X = I. The sign of a vector, and which vectors span the space
// of equal eigenvalues, are not defined.
//
// With the Cholesky factorization B = Uᵀ·U the problem becomes that of one symmetric matrix, U⁻ᵀ·A·U⁻¹ or U·A·Uᵀ, which is
// solved as [EigenSym] does. The errors in the eigenvalues are of the size of rounding errors in the largest of them, times
// the condition number of B.
//
// The zero value is without a solution and uses the default engine. An EigenSymGeneralized may be read from several
// goroutines at once.
type EigenSymGeneralized[T Element] struct {
	of EigenSym[T]        // A's memory, eigenvalues and eigenvectors
	b  *blocked.Matrix[T] // one tile, whose memory is used again: B, and then U
}

// NewEigenSymGeneralized returns an empty solution that computes on e.
func NewEigenSymGeneralized[T Element](e *Engine) *EigenSymGeneralized[T] {
	return &EigenSymGeneralized[T]{of: EigenSym[T]{engine: e}}
}

// Factorize computes the eigenvalues of a and b, which are not changed, and if vectors is set the eigenvectors; a former
// solution is replaced and its memory used again. Of a matrix in memory only the stored triangle is read, of a Full
// *blocked.Matrix the upper one.
//
// The options are [WithContext], an [EigenPart] and a [GeneralizedForm]. The way of reduction is always the faster one. The
// panics are those of [EigenSym.Factorize].
//
// The error is a *ShapeError if a and b are not of the same order; a *NonFiniteError of a, or one that names B; a
// *NotPositiveDefiniteError if b has no Cholesky factorization; an *OverflowError if the standard problem is out of range,
// with the place in that, or eigenvalue i, as place (i, i); or one of EigenSym.Factorize. c is then empty.
//
// Reference: LAPACK xSYGVD, xPOTRF, xSYGST; xSYGVX for what a part is.
func (c *EigenSymGeneralized[T]) Factorize(a, b SymmetricSource[T], vectors bool, opts ...CallOption) error {
	o, err := optionsOf("EigenSymGeneralized.Factorize", takesPart|takesForm, opts)
	if err != nil {
		c.Reset()
		return err
	}
	return c.factorize(o, a, b, vectors)
}

// factorize is Factorize with the context, part and form of o.
func (c *EigenSymGeneralized[T]) factorize(o callOptions, a, b SymmetricSource[T], vectors bool) error {
	c.Reset()
	if n, k := a.SymmetricDim(), b.SymmetricDim(); n != k {
		return &ShapeError{"EigenSymGeneralized.Factorize", fmt.Sprintf("A is of order %d and B of order %d", n, k)}
	}
	return c.of.compute(o.ctx, a, o.part, vectors, func() error {
		if err := readUpper(c.of.engine, &c.b, b); err != nil {
			return fmt.Errorf("matrix B: %w", err)
		}
		return c.decompose(o, vectors)
	})
}

// decompose calls the kernel: as a task of which all workers take parts, if there are some.
func (c *EigenSymGeneralized[T]) decompose(o callOptions, vectors bool) error {
	e, n := c.of.engine, c.of.n
	w := &kernels.Tile[T]{Rows: 1, Cols: n, Stride: n, Data: c.of.values}
	args := []any{c.of.a.Tile(0, 0), c.b.Tile(0, 0), w}
	if vectors {
		args = append(args, c.of.z.Tile(0, 0))
	}
	params := &op.Sygvd{Form: op.GeneralizedForm(o.form), Syevd: op.Syevd{Values: !vectors, Part: o.part.part}}
	c.of.account.Rates = e.ReductionRates()
	err := invokeWhole(e, n <= eigenDirect, "EigenSymGeneralized", engine.Ops[T](e).Op("sygvd"), &versions.Call{Ctx: o.ctx,
		Params: params, Args: args, Local: &c.of.account})
	if bad, ok := errors.AsType[*NotPositiveDefiniteError](err); ok {
		return bad
	}
	if bad, ok := errors.AsType[*OverflowError](err); ok {
		return bad
	}
	return err
}

// Stages returns the stages of the solution in their order: "Cholesky" and "to standard form", those of
// [EigenSym.Stages], and with vectors "from standard form". The slice is overwritten by the next Factorize.
func (c *EigenSymGeneralized[T]) Stages() []Stage { return c.of.Stages() }

// IsEmpty reports whether c is without a solution.
func (c *EigenSymGeneralized[T]) IsEmpty() bool { return c.of.IsEmpty() }

// SymmetricDim returns n. It panics with ErrNotFactorized, as Values and VectorsTo do, if there is no solution.
func (c *EigenSymGeneralized[T]) SymmetricDim() int { return c.of.SymmetricDim() }

// Values is [EigenSym.Values].
func (c *EigenSymGeneralized[T]) Values(dst []T) []T { return c.of.Values(dst) }

// VectorsTo is [EigenSym.VectorsTo].
func (c *EigenSymGeneralized[T]) VectorsTo(dst Sink[T]) { c.of.VectorsTo(dst) }

// Reset drops the solution. Its memory is kept for the next one of the same size; to free it, drop c.
func (c *EigenSymGeneralized[T]) Reset() { c.of.Reset() }

// GeneralizedEigenvalues returns the eigenvalues λ of A·x = λ·B·x for a symmetric A and a symmetric positive definite B, in
// ascending order. The errors are those of [EigenSymGeneralized.Factorize], or the cause of the context's end.
func GeneralizedEigenvalues[T Element](ctx context.Context, e *Engine, a, b SymmetricSource[T]) ([]T, error) {
	c := NewEigenSymGeneralized[T](e)
	if err := c.factorize(callOptions{ctx: ctx}, a, b, false); err != nil {
		return nil, err
	}
	return c.of.values, nil
}
