package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// Names of an earlier release, for one release.

// FactorizeContext is Factorize in a context.
//
// Deprecated: use Factorize with [WithContext].
func (c *Cholesky[T]) FactorizeContext(ctx context.Context, a SymmetricSource[T]) error {
	return c.Factorize(a, WithContext(ctx))
}

// FactorizeContext is Factorize in a context.
//
// Deprecated: use Factorize with [WithContext].
func (f *LU[T]) FactorizeContext(ctx context.Context, a Source[T]) error {
	return f.Factorize(a, WithContext(ctx))
}

// FactorizeContext is Factorize in a context.
//
// Deprecated: use Factorize with [WithContext].
func (q *QR[T]) FactorizeContext(ctx context.Context, a Source[T]) error {
	return q.Factorize(a, WithContext(ctx))
}

// FactorizeContext is Factorize in a context.
//
// Deprecated: use Factorize with [WithContext].
func (c *EigenSym[T]) FactorizeContext(ctx context.Context, a SymmetricSource[T], vectors bool) error {
	return c.Factorize(a, vectors, WithContext(ctx))
}

// FactorizePart is Factorize of a part of the eigenvalues, in a context.
//
// Deprecated: use Factorize with [WithContext] and the part.
func (c *EigenSym[T]) FactorizePart(ctx context.Context, a SymmetricSource[T], part EigenPart, vectors bool) error {
	return c.Factorize(a, vectors, WithContext(ctx), part)
}

// FactorizeContext is Factorize in a context.
//
// Deprecated: use Factorize with [WithContext].
func (c *SVD[T]) FactorizeContext(ctx context.Context, a Source[T], kind mat.SVDKind) error {
	return c.Factorize(a, kind, WithContext(ctx))
}

// FactorizeContext is Factorize in a context, with options.
//
// Deprecated: use Factorize with [WithContext] and the options.
func (c *TruncatedSVD[T]) FactorizeContext(ctx context.Context, a Source[T], k int, opt TruncatedOptions) error {
	return c.Factorize(a, k, WithContext(ctx), opt)
}

// FactorizeContext is Factorize in a context.
//
// Deprecated: use Factorize with [WithContext].
func (c *PCA[T]) FactorizeContext(ctx context.Context, a Source[T], weights []T) error {
	return c.Factorize(a, weights, WithContext(ctx))
}

// FactorizeInPlace is Factorize in the tiles of a.
//
// Deprecated: use Factorize with [InPlace].
func (c *Cholesky[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	return c.Factorize(a, WithContext(ctx), InPlace())
}

// FactorizeInPlace is Factorize in the tiles of a.
//
// Deprecated: use Factorize with [InPlace].
func (f *LU[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	return f.Factorize(a, WithContext(ctx), InPlace())
}

// FactorizeInPlace is Factorize in the tiles of a.
//
// Deprecated: use Factorize with [InPlace].
func (q *QR[T]) FactorizeInPlace(ctx context.Context, a *blocked.Matrix[T]) error {
	return q.Factorize(a, WithContext(ctx), InPlace())
}

// FactorizeCheckpoint is Factorize with a checkpoint. It returns the number of panels that an earlier call did.
//
// Deprecated: use Factorize with a [Checkpoint].
func (c *Cholesky[T]) FactorizeCheckpoint(ctx context.Context, a SymmetricSource[T], keep Checkpoint) (resumed int, err error) {
	err = c.Factorize(a, WithContext(ctx), keep.reporting(&resumed))
	return resumed, err
}

// FactorizeInPlaceCheckpoint is Factorize in the tiles of a, with a checkpoint. It returns the number of panels that an
// earlier call did.
//
// Deprecated: use Factorize with [InPlace] and a [Checkpoint].
func (c *Cholesky[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint) (resumed int, err error) {
	err = c.Factorize(a, WithContext(ctx), InPlace(), keep.reporting(&resumed))
	return resumed, err
}

// FactorizeCheckpoint is Factorize with a checkpoint. It returns the number of panels that an earlier call did.
//
// Deprecated: use Factorize with a [Checkpoint].
func (f *LU[T]) FactorizeCheckpoint(ctx context.Context, a Source[T], keep Checkpoint) (resumed int, err error) {
	err = f.Factorize(a, WithContext(ctx), keep.reporting(&resumed))
	return resumed, err
}

// FactorizeInPlaceCheckpoint is Factorize in the tiles of a, with a checkpoint. It returns the number of panels that an
// earlier call did.
//
// Deprecated: use Factorize with [InPlace] and a [Checkpoint].
func (f *LU[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint) (resumed int, err error) {
	err = f.Factorize(a, WithContext(ctx), InPlace(), keep.reporting(&resumed))
	return resumed, err
}

// FactorizeCheckpoint is Factorize with a checkpoint. It returns the number of panels that an earlier call did.
//
// Deprecated: use Factorize with a [Checkpoint].
func (q *QR[T]) FactorizeCheckpoint(ctx context.Context, a Source[T], keep Checkpoint) (resumed int, err error) {
	err = q.Factorize(a, WithContext(ctx), keep.reporting(&resumed))
	return resumed, err
}

// FactorizeInPlaceCheckpoint is Factorize in the tiles of a, with a checkpoint. It returns the number of panels that an
// earlier call did.
//
// Deprecated: use Factorize with [InPlace] and a [Checkpoint].
func (q *QR[T]) FactorizeInPlaceCheckpoint(ctx context.Context, a *blocked.Matrix[T], keep Checkpoint) (resumed int, err error) {
	err = q.Factorize(a, WithContext(ctx), InPlace(), keep.reporting(&resumed))
	return resumed, err
}

// reporting returns c with the number of panels going to resumed.
func (c Checkpoint) reporting(resumed *int) Checkpoint {
	c.Resumed = resumed
	return c
}

// SolveInPlace overwrites b with the solution of A·X = B.
//
// Deprecated: use SolveTo with [InPlace].
func (c *Cholesky[T]) SolveInPlace(ctx context.Context, b *blocked.Matrix[T]) error {
	return c.SolveTo(b, b, WithContext(ctx), InPlace())
}

// SolveInPlace overwrites b with the solution of A·X = B, or of Aᵀ·X = B if trans.
//
// Deprecated: use SolveTo with [InPlace].
func (f *LU[T]) SolveInPlace(ctx context.Context, trans bool, b *blocked.Matrix[T]) error {
	return f.SolveTo(b, trans, b, WithContext(ctx), InPlace())
}

// SolveInPlace solves A·X = B for X, in the tiles of x, and overwrites b with Qᵀ·B.
//
// Deprecated: use SolveTo with [InPlace].
func (q *QR[T]) SolveInPlace(ctx context.Context, b, x *blocked.Matrix[T]) error {
	return q.SolveTo(x, false, b, WithContext(ctx), InPlace())
}
