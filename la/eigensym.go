package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
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
// vectors are transformed back; eigenvalues alone are found by the QL iteration. The errors in the
// eigenvalues are of the size of rounding errors in the largest of them: small ones of a graded matrix have
// fewer digits.
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
	vectors bool // z has the vectors
}

// NewEigenSym returns an empty decomposition that computes on e.
func NewEigenSym[T Element](e *Engine) *EigenSym[T] { return &EigenSym[T]{engine: e} }

// Factorize computes the eigenvalues of a, which is not changed, and if vectors is set the eigenvectors; a
// former decomposition is replaced and its memory used again. Of a matrix in memory only the stored
// triangle is read, of a Full *blocked.Matrix the upper one.
//
// The error is a *NonFiniteError, a *ConvergenceError, an *exec.TaskError that names a version that has
// failed, exec.ErrClosed, or blocked.ErrAway for a distributed matrix. c is then empty.
//
// Reference: LAPACK xSYEVD, xSYTRD, xSTEDC, xSTERF, xORMTR.
func (c *EigenSym[T]) Factorize(a SymmetricSource[T], vectors bool) error {
	return c.FactorizeContext(context.Background(), a, vectors)
}

// FactorizeContext is Factorize in a context. A decomposition that has begun is not broken off when ctx
// ends, but its result is then dropped, and the cause returned.
func (c *EigenSym[T]) FactorizeContext(ctx context.Context, a SymmetricSource[T], vectors bool) error {
	n := a.SymmetricDim()
	c.valid = false
	if err := c.engine.ready(ctx); err != nil {
		return err
	}
	m, isMatrix := any(a).(*blocked.Matrix[T])
	if isMatrix && m.IsDistributed() {
		return blocked.ErrAway
	}
	if isMatrix && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, m.NB(), c.engine.copying(false))
	}
	if !fits(c.a, n, n, max(n, 1)) {
		c.a, c.z = nil, nil
	}
	r := newReading(c.engine, c.a, Source[T](a), blocked.SymUpper, max(n, 1), true, false)
	c.a = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	c.values = append(c.values[:0], make([]T, n)...)
	if c.vectors = vectors; vectors && c.z == nil {
		c.z = blocked.New[T](blocked.Full, n, n, max(n, 1))
	}
	if n > 0 {
		if err := c.decompose(ctx, n, vectors); err != nil {
			return err
		}
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
func (c *EigenSym[T]) decompose(ctx context.Context, n int, vectors bool) error {
	e := c.engine
	w := &kernels.Tile[T]{Rows: 1, Cols: n, Stride: n, Data: c.values}
	args := []any{c.a.Tile(0, 0), w}
	if vectors {
		args = append(args, c.z.Tile(0, 0))
	}
	o, params := kernels.For[T](e.ops()).Op("syevd"), &op.Syevd{Values: !vectors}
	var err error
	if n <= eigenDirect && !(e != nil && e.remote) {
		err = Call(ctx, e, o, params, args...)
	} else {
		rt, end, failed := e.acquire()
		if failed != nil {
			return failed
		}
		defer end()
		err = submitCall(rt, e.failure(), o, &versions.Call{Ctx: ctx, Params: params, Args: args})
	}
	if failed, ok := errors.AsType[*tridiag.ConvergenceError](err); ok {
		return &ConvergenceError{Op: "EigenSym", Found: failed.Found}
	}
	return err
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
	return len(c.values)
}

// Values copies the eigenvalues to dst, in ascending order, and returns it. A nil dst is allocated; it panics with
// mat.ErrSliceLengthMismatch if another one has not n elements.
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

// VectorsTo copies V to dst: column j is the eigenvector of eigenvalue j. An empty *mat.Dense takes the shape of
// A. It panics with ErrNoVectors if the decomposition is one of eigenvalues alone, and with mat.ErrShape if dst
// is not n×n.
func (c *EigenSym[T]) VectorsTo(dst Sink[T]) {
	c.check()
	if !c.vectors {
		panic(ErrNoVectors)
	}
	n := len(c.values)
	shape(dst, n, n)
	if rows, cols := dst.Dims(); rows != n || cols != n {
		panic(mat.ErrShape)
	}
	if n == 0 {
		return
	}
	z := c.z.Tile(0, 0)
	var to kernels.Tile[T]
	if _, ok := asTile[T](dst, &to); !ok {
		for i := range n {
			for j, x := range z.Row(i) {
				dst.Set(j, i, x)
			}
		}
		return
	}
	const block = 32 // two blocks stay in the first-level cache
	for i := 0; i < n; i += block {
		for j := 0; j < n; j += block {
			for k := i; k < min(i+block, n); k++ {
				for l, x := range z.Row(k)[j:min(j+block, n)] {
					to.Data[(j+l)*to.Stride+k] = x
				}
			}
		}
	}
}

// Reset drops the decomposition. Its memory is kept for the next one of the same size; to free it, drop c.
func (c *EigenSym[T]) Reset() { c.valid = false }
