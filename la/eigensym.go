package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// EigenSym is the eigendecomposition of a symmetric n×n matrix,
//
//	A = V·diag(λ)·Vᵀ,
//
// after gonum's mat.EigenSym: eigenvalues λ in ascending order, and eigenvectors of norm 1 as the columns
// of V. The sign of a vector, and which vectors span the space of equal eigenvalues, are not defined.
//
// A is reduced to tridiagonal form, the eigenproblem of which is solved by divide and conquer, and the
// vectors are transformed back. [Reduction] says which ways there are to that form. Eigenvalues alone are found by
// divide and conquer too, with the first and last elements of the vectors of T, or up to order 128 by the QL iteration.
// The errors in the eigenvalues are of the size of rounding errors in the largest of them: small ones of a graded matrix
// have fewer digits.
//
// The zero value is without a decomposition and uses the default engine. An EigenSym may be read from
// several goroutines at once.
type EigenSym[T Element] struct {
	engine *Engine
	valid  bool
	// One tile each: A, which the reduction overwrites, and the eigenvectors as rows. Their memory is
	// used again.
	a, z    *blocked.Matrix[T]
	values  []T
	n       int  // A's order
	vectors bool // z has the vectors of values in its first rows
	stages  op.Stages
}

// NewEigenSym returns an empty decomposition that computes on e.
func NewEigenSym[T Element](e *Engine) *EigenSym[T] { return &EigenSym[T]{engine: e} }

// Factorize computes the eigenvalues of a, which is not changed, and if vectors is set the eigenvectors; a
// former decomposition is replaced and its memory used again. Of a matrix in memory only the stored
// triangle is read, of a Full *blocked.Matrix the upper one.
//
// The options are [WithContext], an [EigenPart] and a [Reduction]. When the context ends, the decomposition is broken off, and the
// cause returned. The result of a part is its eigenvalues in ascending
// order, and their eigenvectors. Without vectors it takes as long as for all. With the vectors of k eigenvalues it saves up to
// 2·n²·(n−k) operations of the transformation back, and most of the last step of divide and conquer. Factorize
// panics with mat.ErrIndexOutOfRange if the part has indices that A has not.
//
// The error is a *NonFiniteError, a *ConvergenceError, an *exec.TaskError that names a version that has
// failed, exec.ErrClosed, or blocked.ErrAway for a distributed matrix. c is then empty.
//
// Reference: LAPACK xSYEVD, xSYTRD, xSTEDC, xSTERF, xORMTR; xSYEVR for what a part is.
func (c *EigenSym[T]) Factorize(a SymmetricSource[T], vectors bool, opts ...CallOption) error {
	o, err := optionsOf("EigenSym.Factorize", takesPart|takesReduction, opts)
	if err != nil {
		c.Reset()
		return err
	}
	return c.factorize(o, a, vectors)
}

// factorize is Factorize with the options o.
func (c *EigenSym[T]) factorize(o callOptions, a SymmetricSource[T], vectors bool) error {
	ctx, part := o.ctx, o.part
	n := a.SymmetricDim()
	if p := part.part; p.Kind == op.EigenByIndex && (p.First < 0 || p.First > p.Last || p.Last > n) {
		panic(mat.ErrIndexOutOfRange)
	}
	c.valid = false
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	m, isMatrix := any(a).(*blocked.Matrix[T])
	if isMatrix && m.IsDistributed() {
		return blocked.ErrAway
	}
	if isMatrix && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, m.NB(), copying(c.engine, false))
	}
	if !fits(c.a, n, n, max(n, 1)) {
		c.a, c.z = nil, nil
	}
	r := newReading(c.engine, c.a, Source[T](a), blocked.SymUpper, max(n, 1), true, false)
	c.a = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	c.stages = c.stages[:0]
	c.n, c.values = n, append(c.values[:0], make([]T, n)...)
	if c.vectors = vectors; vectors && c.z == nil {
		c.z = blocked.New[T](blocked.Full, n, n, max(n, 1))
	}
	if n > 0 {
		if err := c.decompose(o, vectors); err != nil {
			return err
		}
		first, last := part.part.Of(n, func(i int) float64 { return float64(c.values[i]) })
		c.values = c.values[:copy(c.values, c.values[first:last])]
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.valid = true
	return nil
}

// eigenDirect is the order up to which a decomposition is a call of one kernel by the caller's goroutine: no
// other unit would have anything to do.
const eigenDirect = 256

// decompose calls the kernel: as a task of which all workers take parts, if there are some.
func (c *EigenSym[T]) decompose(opts callOptions, vectors bool) error {
	e, n := c.engine, c.n
	w := &kernels.Tile[T]{Rows: 1, Cols: n, Stride: n, Data: c.values}
	args := []any{c.a.Tile(0, 0), w}
	if vectors {
		args = append(args, c.z.Tile(0, 0))
	}
	o, params := engine.Ops[T](e).Op("syevd"), &op.Syevd{Values: !vectors, Part: opts.part.part,
		Reduction: op.Reduction(opts.reduction)}
	return invokeWhole(e, n <= eigenDirect, "EigenSym", o, &versions.Call{Ctx: opts.ctx, Params: params, Args: args,
		Local: &c.stages})
}

// Stages returns the stages of the decomposition in their order: "reduction", or "reduction to band" and "bulge chasing";
// and "values", or "divide and conquer", "vectors of the band" if A was reduced to a band, and "back-transformation". The
// slice is overwritten by the next Factorize.
func (c *EigenSym[T]) Stages() []Stage {
	c.check()
	return c.stages
}

// check panics with ErrNotFactorized if there is no decomposition.
func (c *EigenSym[T]) check() {
	if !c.valid {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether c is without a decomposition.
func (c *EigenSym[T]) IsEmpty() bool { return !c.valid }

// SymmetricDim returns n. It panics with ErrNotFactorized, as Values and VectorsTo do, if there is no
// decomposition.
func (c *EigenSym[T]) SymmetricDim() int {
	c.check()
	return c.n
}

// Values copies the eigenvalues to dst, in ascending order, and returns it. A nil dst is allocated; it panics with
// mat.ErrSliceLengthMismatch if another one has not as many elements: n, or those of the part.
func (c *EigenSym[T]) Values(dst []T) []T {
	c.check()
	if dst == nil {
		dst = make([]T, len(c.values))
	}
	if len(dst) != len(c.values) {
		panic(mat.ErrSliceLengthMismatch)
	}
	copy(dst, c.values)
	return dst
}

// VectorsTo copies the eigenvectors to dst, n×n, or n×k for a part of k: column j is the one of eigenvalue j. An empty
// *mat.Dense takes that shape. It panics with ErrNoVectors if the decomposition is one of eigenvalues alone, and with
// mat.ErrShape if dst has another shape.
func (c *EigenSym[T]) VectorsTo(dst Sink[T]) {
	c.check()
	if !c.vectors {
		panic(ErrNoVectors)
	}
	vectorsTo(dst, c.z, len(c.values), c.n)
}

// Reset drops the decomposition. Its memory is kept for the next one of the same size; to free it, drop c.
func (c *EigenSym[T]) Reset() { c.valid = false }

// Eigenvalues returns the eigenvalues of a symmetric matrix, in ascending order. The errors are those of
// [EigenSym.Factorize], or the cause of the context's end.
func Eigenvalues[T Element](ctx context.Context, e *Engine, a SymmetricSource[T]) ([]T, error) {
	c := NewEigenSym[T](e)
	if err := c.factorize(callOptions{ctx: ctx}, a, false); err != nil {
		return nil, err
	}
	return c.values, nil
}
