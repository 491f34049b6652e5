package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/mat"
)

// Eigen is the eigendecomposition of a square matrix, which need not be symmetric: eigenvalues λ, and right and left
// eigenvectors v and u with
//
//	A·v = λ·v,  uᴴ·A = λ·uᴴ,
//
// after gonum's mat.Eigen. Eigenvalues have no order, but the two of a complex pair follow each other, that with the
// positive imaginary part first. Vectors have norm 1, and the largest element of a complex one is real. Otherwise their
// signs are not defined.
//
// A is balanced and reduced to Hessenberg form, of which the QR iteration with many shifts computes the Schur form; the
// eigenvectors of that are transformed back. The errors are those of a matrix that differs from A by rounding errors of its
// largest elements. Eigenvalues that are sensitive to such changes, as those of a matrix that is almost defective, may have
// larger ones.
//
// The zero value is without a decomposition and uses the default engine. An Eigen may be read from several goroutines
// at once.
type Eigen[T Element] struct {
	engine *Engine
	valid  bool
	kind   mat.EigenKind
	n      int
	// One tile each: A, which the kernel overwrites, and the left and the right vectors as rows, a real and an imaginary
	// part for a pair. Their memory is used again.
	a, u, v *blocked.Matrix[T]
	re, im  []T // of the eigenvalues
	account op.Account
}

// NewEigen returns an empty decomposition that computes on e.
func NewEigen[T Element](e *Engine) *Eigen[T] { return &Eigen[T]{engine: e} }

// Factorize computes the eigenvalues of a, which is not changed, and the eigenvectors that kind asks for: none
// (mat.EigenNone), left ones (mat.EigenLeft), right ones (mat.EigenRight), or both (mat.EigenBoth). A former
// decomposition is replaced and its memory used again.
//
// The option is [WithContext]. When the context ends, the decomposition is broken off, between two panels of the reduction,
// two sweeps of the iteration or two blocks of eigenvectors, and the cause returned.
//
// The error is a *ShapeError if a is not square, a *NonFiniteError, a *ConvergenceError, an *exec.TaskError that names a
// version that has failed, exec.ErrClosed, or blocked.ErrAway for a distributed matrix. c is then empty.
//
// Reference: LAPACK xGEEV, xGEBAL, xGEHRD, xORGHR, xHSEQR, xTREVC3.
func (c *Eigen[T]) Factorize(a Source[T], kind mat.EigenKind, opts ...CallOption) error {
	c.valid = false
	ctx, err := contextOf("Eigen.Factorize", opts)
	if err != nil {
		return err
	}
	n, cols := a.Dims()
	if n != cols {
		return &ShapeError{"Eigen.Factorize", fmt.Sprintf("A is %d×%d", n, cols)}
	}
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	if x, ok := any(a).(*blocked.Matrix[T]); ok && x.IsDistributed() {
		return blocked.ErrAway
	}
	if !fits(c.a, n, n, max(n, 1)) {
		c.a = nil
	}
	r := newReading(c.engine, c.a, a, blocked.Full, max(n, 1), readingOptions{alone: true})
	c.a = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	c.n, c.kind = n, kind
	c.account.Stages = c.account.Stages[:0]
	if n > 0 {
		if err := c.decompose(ctx); err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.valid = true
	return nil
}

// generalDirect is the order up to which a decomposition is a call of one kernel by the caller's goroutine: no other unit
// would have anything to do.
const generalDirect = 192

// decompose calls the kernel: as a task of which all workers take parts, if there are some.
func (c *Eigen[T]) decompose(ctx context.Context) error {
	e, n := c.engine, c.n
	if len(c.re) != n {
		values := make([]T, 2*n)
		c.re, c.im = values[:n], values[n:]
	}
	w := &kernels.Tile[T]{Rows: 2, Cols: n, Stride: n, Data: c.re[: 2*n : 2*n]}
	args := []any{c.a.Tile(0, 0), w}
	params := &op.Geev{Left: c.kind&mat.EigenLeft != 0, Right: c.kind&mat.EigenRight != 0}
	if params.Left {
		args = append(args, tileOf(&c.u, n, n))
	}
	if params.Right {
		args = append(args, tileOf(&c.v, n, n))
	}
	return invokeWhole(e, n <= generalDirect, "Eigen", engine.Ops[T](e).Op("geev"), &versions.Call{Ctx: ctx, Params: params,
		Args: args, Local: &c.account})
}

// Stages returns the stages of the decomposition in their order: "reduction", "QR iteration", and with vectors
// "eigenvectors". The slice is overwritten by the next Factorize.
func (c *Eigen[T]) Stages() []Stage {
	c.check(mat.EigenNone)
	return c.account.Stages
}

// check panics with ErrNotFactorized if there is no decomposition, and with ErrNoVectors unless it has vectors of that kind.
func (c *Eigen[T]) check(kind mat.EigenKind) {
	if !c.valid {
		panic(ErrNotFactorized)
	}
	if c.kind&kind != kind {
		panic(ErrNoVectors)
	}
}

// IsEmpty reports whether c is without a decomposition.
func (c *Eigen[T]) IsEmpty() bool { return !c.valid }

// Kind returns the kind of the decomposition, or −1 if there is none.
func (c *Eigen[T]) Kind() mat.EigenKind {
	if !c.valid {
		return -1
	}
	return c.kind
}

// Values copies the n eigenvalues to dst and returns it. A nil dst is allocated. It panics with ErrNotFactorized if there is
// no decomposition, as all that follow do, and with mat.ErrSliceLengthMismatch if another dst has not n elements.
func (c *Eigen[T]) Values(dst []complex128) []complex128 {
	c.check(mat.EigenNone)
	if dst == nil {
		dst = make([]complex128, c.n)
	}
	if len(dst) != c.n {
		panic(mat.ErrSliceLengthMismatch)
	}
	for i := range dst {
		dst[i] = complex(float64(c.re[i]), float64(c.im[i]))
	}
	return dst
}

// VectorsTo copies the right eigenvectors to the columns of dst, n×n: column j is that of eigenvalue j. An empty dst
// takes that shape. It panics with ErrNoVectors if the decomposition is without them, and with mat.ErrShape if dst has
// another shape.
func (c *Eigen[T]) VectorsTo(dst *mat.CDense) {
	c.check(mat.EigenRight)
	c.vectorsTo(dst, c.v)
}

// LeftVectorsTo is VectorsTo for the left eigenvectors.
func (c *Eigen[T]) LeftVectorsTo(dst *mat.CDense) {
	c.check(mat.EigenLeft)
	c.vectorsTo(dst, c.u)
}

// vectorsTo copies vectors, which are the rows of x, to the columns of dst.
func (c *Eigen[T]) vectorsTo(dst *mat.CDense, x *blocked.Matrix[T]) {
	if dst.IsEmpty() && c.n > 0 {
		dst.ReuseAs(c.n, c.n)
	}
	if r, cols := dst.Dims(); r != c.n || cols != c.n {
		panic(mat.ErrShape)
	}
	for j := 0; j < c.n; j++ {
		re := x.Tile(0, 0).Row(j)
		if c.im[j] == 0 {
			for i, v := range re {
				dst.Set(i, j, complex(float64(v), 0))
			}
			continue
		}
		for i, v := range x.Tile(0, 0).Row(j + 1) {
			dst.Set(i, j, complex(float64(re[i]), float64(v)))
			dst.Set(i, j+1, complex(float64(re[i]), -float64(v)))
		}
		j++
	}
}

// RealTo copies the eigenvalues and eigenvectors as LAPACK has them: the real and imaginary parts of the eigenvalues to
// re and im, and the left and right vectors to the columns of u and v. For a pair j and j+1 column j is the real part
// of the first vector, and column j+1 its imaginary part. Vectors are not copied to a nil u or v. It panics as Values
// and VectorsTo do.
func (c *Eigen[T]) RealTo(re, im []T, u, v Sink[T]) {
	c.check(mat.EigenNone)
	if len(re) != c.n || len(im) != c.n {
		panic(mat.ErrSliceLengthMismatch)
	}
	copy(re, c.re)
	copy(im, c.im)
	if u != nil {
		c.check(mat.EigenLeft)
		vectorsTo(u, c.u, c.n, c.n)
	}
	if v != nil {
		c.check(mat.EigenRight)
		vectorsTo(v, c.v, c.n, c.n)
	}
}

// Reset drops the decomposition. Its memory is kept for the next one of the same size; to free it, drop c.
func (c *Eigen[T]) Reset() { c.valid = false }
