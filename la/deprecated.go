package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
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

// What an engineer needs of an engine is in package engine, and the trees of QR are in blocked/qr.
type (
	// Info describes what an engine computes with.
	//
	// Deprecated: use engine.Info.
	Info = engine.Info
	// Operation is an operation with tile sizes of its own.
	//
	// Deprecated: use engine.Operation.
	Operation = engine.Operation
	// Tree is the order in which a [QR] eliminates the tiles of a column.
	//
	// Deprecated: use qr.Tree of package blocked/qr.
	Tree = qr.Tree
)

// The operations.
//
// Deprecated: use those of package engine.
const (
	OpGemm     = engine.OpGemm
	OpSyrk     = engine.OpSyrk
	OpTrsm     = engine.OpTrsm
	OpCholesky = engine.OpCholesky
	OpLU       = engine.OpLU
	OpQR       = engine.OpQR
)

// The trees.
//
// Deprecated: use those of package blocked/qr.
const (
	TreeAuto    = qr.TreeAuto
	TreeFlat    = qr.TreeFlat
	TreeBinary  = qr.TreeBinary
	TreeGreedy  = qr.TreeGreedy
	TreeDomains = qr.TreeDomains
)

// ErrNoRuntime is the panic of Engine.Runtime for a nil engine.
//
// Deprecated: use engine.ErrNoRuntime.
const ErrNoRuntime = engine.ErrNoRuntime

// Trees returns all trees.
//
// Deprecated: use qr.Trees.
func Trees() []qr.Tree { return qr.Trees() }

// ParseTree returns the tree with the given name.
//
// Deprecated: use qr.ParseTree.
func ParseTree(name string) (qr.Tree, error) { return qr.ParseTree(name) }

// Call executes one operation on the calling goroutine.
//
// Deprecated: use engine.Call.
func Call(ctx context.Context, e *Engine, op *versions.Op, params any, args ...any) error {
	return engine.Call(ctx, e, op, params, args...)
}

// Run executes a program of tile algorithms.
//
// Deprecated: use engine.Run.
func Run[T Element](ctx context.Context, e *Engine, program func(p *blocked.Program[T]) error) error {
	return engine.Run(ctx, e, program)
}

// Ops returns the operations on tiles of T.
//
// Deprecated: use engine.Ops.
func Ops[T Element](e *Engine) kernels.Ops[T] { return engine.Ops[T](e) }

// Explain says which version of an operation the engine would select.
//
// Deprecated: use engine.Explain.
func Explain[T Element](e *Engine, op string, call *versions.Call) (versions.Explanation, bool) {
	return engine.Explain[T](e, op, call)
}

// TileSize returns the tile size of an operation.
//
// Deprecated: use engine.TileSize.
func TileSize[T Element](e *Engine, op engine.Operation, n, longest int) (nb int, direct bool) {
	return engine.TileSize[T](e, op, n, longest)
}

// TuningKey returns the name of op on T in a profile.
//
// Deprecated: use engine.TuningKey.
func TuningKey[T Element](op engine.Operation) string { return engine.TuningKey[T](op) }

// OpenAccelerators opens accelerators.
//
// Deprecated: use engine.OpenAccelerators.
func OpenAccelerators(names string) ([]offload.Accelerator, error) {
	return engine.OpenAccelerators(names)
}

// ParsePivoting returns the Pivoting with the given name.
//
// Deprecated: use its method Set.
func ParsePivoting(name string) (x Pivoting, err error) {
	err = x.Set(name)
	return x, err
}

// ParseOnBreakdown returns the OnBreakdown with the given name.
//
// Deprecated: use its method Set.
func ParseOnBreakdown(name string) (x OnBreakdown, err error) {
	err = x.Set(name)
	return x, err
}

// ParseQRVariant returns the QRVariant with the given name.
//
// Deprecated: use its method Set.
func ParseQRVariant(name string) (x QRVariant, err error) {
	err = x.Set(name)
	return x, err
}

// SolveSPDInPlace overwrites b with the solution of A·X = B.
//
// Deprecated: use [SolveSPD] with [InPlace].
func SolveSPDInPlace(ctx context.Context, e *Engine, a, b *blocked.Matrix[float64]) (Refinement, error) {
	return SolveSPD(ctx, e, b, a, b, InPlace())
}

// SolveGeneralInPlace overwrites b with the solution of A·X = B.
//
// Deprecated: use [SolveGeneral] with [InPlace].
func SolveGeneralInPlace(ctx context.Context, e *Engine, a, b *blocked.Matrix[float64]) (Refinement, error) {
	return SolveGeneral(ctx, e, b, a, b, InPlace())
}
