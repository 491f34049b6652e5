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
	tiles   *eigenTiles[T] // the decomposition if tasks on tiles have computed it, else nil
	n       int            // A's order
	vectors bool           // z has the vectors of values in its first rows
	account op.Account
}

// NewEigenSym returns an empty decomposition that computes on e.
func NewEigenSym[T Element](e *Engine) *EigenSym[T] { return &EigenSym[T]{engine: e} }

// Factorize computes the eigenvalues of a, which is not changed, and if vectors is set the eigenvectors; a
// former decomposition is replaced and its memory used again. Of a matrix in memory only the stored
// triangle is read, of a Full *blocked.Matrix the upper one.
//
// The options are [WithContext], an [EigenPart], a [Reduction] and [InPlace]. When the context ends, the decomposition
// is broken off, and the cause returned. The result of a part is its eigenvalues in ascending order, and their
// eigenvectors. Without vectors it takes as long as for all. With the vectors of k eigenvalues it saves up to
// 2·n²·(n−k) operations of the transformation back, and most of the last step of divide and conquer. Factorize panics
// with mat.ErrIndexOutOfRange if the part has indices that A has not.
//
// Tasks on tiles decompose a symmetric matrix that is distributed on the nodes of the engine, in two stages. They work
// on a copy on the nodes, or with InPlace on the tiles of a, which are undefined then. In place a is a *blocked.Matrix
// of kind SymUpper, and may be in the memory of this process, too. The eigenvectors stay on the nodes until c is reset
// or used again, and VectorsTo copies them. If the engine has accelerators, tasks on tiles also decompose a matrix of
// order 4096 or more, or for which [TwoStages] is asked; their products run on devices.
//
// The error is a *NonFiniteError, a *ConvergenceError, an *exec.TaskError that names a version that has
// failed, exec.ErrClosed, an *[OptionsError] for one stage on tiles, a *ShapeError for tiles of another kind, or
// blocked.ErrAway for a matrix that is distributed on other nodes than the engine's. c is then empty.
//
// Reference: LAPACK xSYEVD, xSYTRD, xSTEDC, xSTERF, xORMTR; xSYEVR for what a part is.
func (c *EigenSym[T]) Factorize(a SymmetricSource[T], vectors bool, opts ...CallOption) error {
	o, err := optionsOf("EigenSym.Factorize", takesInPlace|takesPart|takesReduction, opts)
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
	part.check(n)
	c.Reset()
	var err error
	if c.tiles, err = newEigenTiles(c.engine, o, a, vectors); err != nil {
		return err
	} else if c.tiles != nil {
		c.n, c.vectors, c.values, c.valid = n, vectors, append(c.values[:0], c.tiles.values...), true
		c.account = op.Account{Stages: append(c.account.Stages[:0], c.tiles.stages...)}
		return nil
	}
	if o.reduction != TwoStages && c.factorizeDirect(ctx, a, n, part.part, vectors) {
		return nil
	}
	return c.compute(ctx, a, part, vectors, func() error { return c.decompose(o, vectors) })
}

// check panics with mat.ErrIndexOutOfRange if a matrix of order n has no such eigenvalues.
func (p EigenPart) check(n int) {
	if p := p.part; p.Kind == op.EigenByIndex && (p.First < 0 || p.First > p.Last || p.Last > n) {
		panic(mat.ErrIndexOutOfRange)
	}
}

// compute reads a, calls decompose unless a is of order 0, and keeps the values of the part.
func (c *EigenSym[T]) compute(ctx context.Context, a SymmetricSource[T], part EigenPart, vectors bool, decompose func() error) error {
	n := a.SymmetricDim()
	part.check(n)
	c.valid = false
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	if err := readUpper(c.engine, &c.a, a); err != nil {
		return err
	}
	c.account = op.Account{Stages: c.account.Stages[:0]}
	c.n, c.values = n, append(c.values[:0], make([]T, n)...)
	if !fits(c.z, n, n, max(n, 1)) {
		c.z = nil
	}
	if c.vectors = vectors; vectors && c.z == nil {
		c.z = blocked.New[T](blocked.Full, n, n, max(n, 1))
	}
	if n > 0 {
		if err := decompose(); err != nil {
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

// factorizeDirect is factorize of a small matrix, if it returns true.
func (c *EigenSym[T]) factorizeDirect(ctx context.Context, a SymmetricSource[T], n int, part op.EigenPart,
	vectors bool) bool {
	if n > op.SyevOrder {
		return false
	}
	d := directly[T](ctx, c.engine, n)
	if d == nil {
		return false
	}
	defer d.leave()
	src, upper, ok := symmetricOf(a)
	if !ok || src.rows != n {
		return false
	}
	if !fits(c.a, n, n, n) {
		c.a = blocked.New[T](blocked.SymUpper, n, n, n)
	}
	if !fits(c.z, n, n, n) { // a matrix of another order may have been read to c.a, and refused
		c.z = nil
	}
	t := c.a.Tile(0, 0)
	if !d.loadUpper(t.Data, t.Stride, src, upper) {
		return false
	}
	if vectors && c.z == nil {
		c.z = blocked.New[T](blocked.Full, n, n, n)
	}
	var z kernels.Tile[T]
	if vectors {
		z = *c.z.Tile(0, 0)
	}
	c.n, c.vectors, c.account, c.values = n, vectors, op.Account{Stages: c.account.Stages[:0]}, append(c.values[:0], make([]T, n)...)
	if d.spectral.Syev(n, t.Data, t.Stride, c.values, z.Data, z.Stride) != nil {
		return false
	}
	first, last := part.Of(n, func(i int) float64 { return float64(c.values[i]) })
	if first > 0 && vectors {
		copy(z.Data, z.Data[first*z.Stride:last*z.Stride])
	}
	c.values = c.values[:copy(c.values, c.values[first:last])]
	c.valid = true
	return true
}

// readUpper copies the upper triangle of a to the one tile of *to, whose memory is used again if it fits. The error is a
// *NonFiniteError, or blocked.ErrAway.
func readUpper[T Element](e *Engine, to **blocked.Matrix[T], a SymmetricSource[T]) error {
	a, err := withUpper(e, a)
	if err != nil {
		return err
	}
	n := a.SymmetricDim()
	if !fits(*to, n, n, max(n, 1)) {
		*to = nil
	}
	r := newReading(e, *to, Source[T](a), blocked.SymUpper, max(n, 1), readingOptions{alone: true})
	*to = r.a
	return r.nonFinite()
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
	c.account.Rates = e.ReductionRates()
	return invokeWhole(e, n <= eigenDirect, "EigenSym", o, &versions.Call{Ctx: opts.ctx, Params: params, Args: args,
		Local: &c.account})
}

// Stages returns the stages of the decomposition in their order: "reduction", or "reduction to band" and "bulge chasing";
// and "values", or "divide and conquer", "vectors of the band" if A was reduced to a band, and "back-transformation". A
// small matrix has none. The slice is overwritten by the next Factorize.
func (c *EigenSym[T]) Stages() []Stage {
	c.check()
	return c.account.Stages
}

// Choice returns why A was reduced in one stage or in two. It is zero if an option fixed the way, or if A is so small
// that one stage is always taken.
func (c *EigenSym[T]) Choice() ReductionChoice {
	c.check()
	return c.account.Choice
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
// mat.ErrShape if dst has another shape. dst may be distributed if A was; then nodes copy. VectorsTo panics with the error
// if vectors cannot be fetched from their nodes.
func (c *EigenSym[T]) VectorsTo(dst Sink[T]) {
	c.check()
	if !c.vectors {
		panic(ErrNoVectors)
	}
	if c.tiles != nil {
		c.tiles.vectorsTo(dst)
		return
	}
	vectorsTo(dst, c.z, len(c.values), c.n)
}

// Reset drops the decomposition. Its memory is kept for the next one of the same size; to free it, drop c. What is on
// nodes is freed there.
func (c *EigenSym[T]) Reset() {
	c.valid = false
	c.tiles.close()
	c.tiles = nil
}

// Eigenvalues returns the eigenvalues of a symmetric matrix, in ascending order. The errors are those of
// [EigenSym.Factorize], or the cause of the context's end.
func Eigenvalues[T Element](ctx context.Context, e *Engine, a SymmetricSource[T]) ([]T, error) {
	c := NewEigenSym[T](e)
	if err := c.factorize(callOptions{ctx: ctx}, a, false); err != nil {
		return nil, err
	}
	return c.values, nil
}
