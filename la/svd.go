package la

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// SVD is the singular value decomposition of an m×n matrix,
//
//	A = U·Σ·Vᵀ,
//
// after gonum's mat.SVD: the min(m, n) singular values on Σ's diagonal, which are not negative, in
// descending order, and orthonormal left and right vectors as the columns of U and V. The signs of a pair of
// vectors, and which vectors span the space of equal values, are not defined.
//
// A is reduced to bidiagonal form, after a QR factorization if it is far from square. [Reduction] says which ways there
// are to that form. The bidiagonal problem is solved by divide and conquer, and the vectors are transformed back;
// values alone are found by differential quotients and differences (dqds). The errors in the values are of the size of
// rounding errors in the largest of them: small ones of a graded matrix have fewer digits.
//
// The zero value is without a decomposition and uses the default engine. An SVD may be read from several
// goroutines at once.
type SVD[T Element] struct {
	engine *Engine
	valid  bool
	kind   mat.SVDKind
	m, n   int
	// One tile each: A; the kernel's copy of Aᵀ if A has more columns than rows; and the vectors of what the
	// kernel decomposes as rows. Their memory is used again.
	a, at, u, v *blocked.Matrix[T]
	values      []T
	account     op.Account
}

// NewSVD returns an empty decomposition that computes on e.
func NewSVD[T Element](e *Engine) *SVD[T] { return &SVD[T]{engine: e} }

// anyU and anyV are the kinds with left, and with right vectors.
const (
	anyU = mat.SVDThinU | mat.SVDFullU
	anyV = mat.SVDThinV | mat.SVDFullV
)

// Factorize computes the singular values of a, which is not changed, and the vectors that kind asks for: none
// (mat.SVDNone), min(m, n) left or right ones (mat.SVDThinU, mat.SVDThinV, mat.SVDThin), or as many as A has
// rows or columns (mat.SVDFullU, mat.SVDFullV, mat.SVDFull). One side takes as long as both. A former
// decomposition is replaced and its memory used again.
//
// The options are [WithContext], a [SingularPart] and a [Reduction]. When the context ends, the decomposition is broken
// off, and the cause returned. The result of a part is its singular values, in descending order, and their vectors;
// Rank, Cond, SolveTo and PseudoInverseTo then know no other values. All values are found in any case. A part of k
// values saves most of the last step of divide and conquer, and of the transformation back all but k/min(m, n).
// Factorize panics with mat.ErrIndexOutOfRange if the part has indices that A has not, and the error is an
// *OptionsError if kind is full.
//
// The error is a *NonFiniteError, a *ConvergenceError, an *exec.TaskError that names a version that has
// failed, exec.ErrClosed, or blocked.ErrAway for a distributed matrix. c is then empty.
//
// Reference: LAPACK xGESDD, xGEBRD, xBDSDC, xLASQ1, xORMBR; xGESVDX for what a part is.
func (c *SVD[T]) Factorize(a Source[T], kind mat.SVDKind, opts ...CallOption) error {
	o, err := optionsOf("SVD.Factorize", takesSingular|takesReduction, opts)
	if err == nil && o.singular.part.Kind != op.AllEigen && kind&(mat.SVDFullU|mat.SVDFullV) != 0 {
		err = &OptionsError{Problems: []string{"a SingularPart is for singular values alone or thin singular vectors"}}
	}
	if err != nil {
		c.Reset()
		return err
	}
	return c.factorize(o, a, kind)
}

// factorize is Factorize with the options o.
func (c *SVD[T]) factorize(o callOptions, a Source[T], kind mat.SVDKind) error {
	ctx, part := o.ctx, o.singular.part
	m, n := a.Dims()
	if part.Kind == op.EigenByIndex && (part.First < 0 || part.First > part.Last || part.Last > min(m, n)) {
		panic(mat.ErrIndexOutOfRange)
	}
	c.valid = false
	if part.Kind == op.AllEigen && o.reduction != TwoStages && c.factorizeDirect(ctx, a, m, n, kind) {
		return nil
	}
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	if x, ok := any(a).(*blocked.Matrix[T]); ok && x.IsDistributed() {
		return blocked.ErrAway
	}
	nb := max(m, n, 1)
	if !fits(c.a, m, n, nb) {
		c.a = nil
	}
	r := newReading(c.engine, c.a, a, blocked.Full, nb, readingOptions{alone: true})
	c.a = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	c.m, c.n, c.kind = m, n, kind
	c.account = op.Account{Stages: c.account.Stages[:0]}
	c.values = append(c.values[:0], make([]T, min(m, n))...)
	if m > 0 || n > 0 {
		if err := c.decompose(o); err != nil {
			return err
		}
		first, last := part.SingularPart(min(m, n), func(i int) float64 { return float64(c.values[i]) })
		c.values = c.values[:copy(c.values, c.values[first:last])]
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.valid = true
	return nil
}

// factorizeDirect is factorize of a small matrix that is not wider than high and not factored by QR first, if it returns
// true.
func (c *SVD[T]) factorizeDirect(ctx context.Context, a Source[T], m, n int, kind mat.SVDKind) bool {
	if m < n || n == 0 || n > op.GesvdOrder || op.FactorsFirst(m, n) {
		return false
	}
	d := directly[T](ctx, c.engine, m)
	if d == nil {
		return false
	}
	defer d.leave()
	src, ok := memoryOf(a)
	if !ok || src.rows != m || src.cols != n {
		return false
	}
	t := tileOf(&c.a, m, n)
	if !d.load(t.Data, t.Stride, src) {
		return false
	}
	var u, v *kernels.Tile[T]
	if kind&(anyU|anyV) != 0 {
		left := n
		if kind&mat.SVDFullU != 0 {
			left = m
		}
		u, v = tileOf(&c.u, left, m), tileOf(&c.v, n, n)
	}
	c.m, c.n, c.kind, c.account, c.values = m, n, kind, op.Account{Stages: c.account.Stages[:0]}, append(c.values[:0], make([]T, n)...)
	c.valid = d.spectral.Gesvd(m, n, t.Data, t.Stride, c.values, u, v) == nil
	return c.valid
}

// tileOf returns x as one tile of m×n, with its memory if it fits.
func tileOf[T Element](x **blocked.Matrix[T], m, n int) *kernels.Tile[T] {
	if nb := max(m, n, 1); !fits(*x, m, n, nb) {
		*x = blocked.New[T](blocked.Full, m, n, nb)
	}
	if m == 0 || n == 0 {
		return &kernels.Tile[T]{Rows: m, Cols: n, Stride: max(n, 1)}
	}
	return (*x).Tile(0, 0)
}

// svdDirect is the order of a square matrix up to which a decomposition is a call of one kernel by the caller's
// goroutine: no other unit would have anything to do.
const svdDirect = 192

// decompose calls the kernel for A or Aᵀ, the one that has no more columns than rows: as a task of which all
// workers take parts, if there are some.
func (c *SVD[T]) decompose(o callOptions) error {
	e := c.engine
	rows, cols := c.m, c.n
	a, full := tileOf(&c.a, rows, cols), c.kind&mat.SVDFullU != 0
	if rows < cols {
		at := tileOf(&c.at, cols, rows)
		if rows > 0 {
			transpose.Copy(at.Data, at.Stride, a.Data, a.Stride, cols, rows)
		}
		rows, cols = cols, rows
		a, full = at, c.kind&mat.SVDFullV != 0
	}
	w := &kernels.Tile[T]{Rows: 1, Cols: cols, Stride: max(cols, 1), Data: c.values}
	args := []any{a, w}
	values := c.kind&(anyU|anyV) == 0
	if !values {
		left := cols
		if full {
			left = rows
		}
		args = append(args, tileOf(&c.u, left, rows), tileOf(&c.v, cols, cols))
	}
	params := &op.Gesdd{Values: values, Part: o.singular.part, Reduction: op.Reduction(o.reduction)}
	c.account.Rates = e.ReductionRates()
	return invokeWhole(e, rows*cols <= svdDirect*svdDirect, "SVD", engine.Ops[T](e).Op("gesdd"), &versions.Call{Ctx: o.ctx, Params: params, Args: args,
		Local: &c.account})
}

// Stages returns the stages of the decomposition in their order: "QR" if A is far from square, then "reduction", or
// "reduction to band" and "bulge chasing"; and "values", or "divide and conquer", "vectors of the band" if A was
// reduced to a band, and "back-transformation". A small matrix has none. The slice is overwritten by the next
// Factorize.
func (c *SVD[T]) Stages() []Stage {
	c.check()
	return c.account.Stages
}

// Choice returns why A was reduced in one stage or in two. It is zero if an option fixed the way, or if A is so small
// that one stage is always taken.
func (c *SVD[T]) Choice() ReductionChoice {
	c.check()
	return c.account.Choice
}

// check panics with ErrNotFactorized if there is no decomposition, and with ErrNoVectors unless its kind has
// something of each of the kinds.
func (c *SVD[T]) check(kinds ...mat.SVDKind) {
	if !c.valid {
		panic(ErrNotFactorized)
	}
	for _, k := range kinds {
		if c.kind&k == 0 {
			panic(ErrNoVectors)
		}
	}
}

// IsEmpty reports whether c is without a decomposition.
func (c *SVD[T]) IsEmpty() bool { return !c.valid }

// Kind returns the kind of the decomposition, or −1 if there is none.
func (c *SVD[T]) Kind() mat.SVDKind {
	if !c.valid {
		return -1
	}
	return c.kind
}

// Dims returns m and n. It panics with ErrNotFactorized, as all that follow do, if there is no decomposition.
func (c *SVD[T]) Dims() (m, n int) {
	c.check()
	return c.m, c.n
}

// Values copies the singular values to dst, in descending order, and returns it. A nil dst is allocated; it panics with
// mat.ErrSliceLengthMismatch if another one has not as many elements: min(m, n), or those of the part.
func (c *SVD[T]) Values(dst []T) []T {
	c.check()
	return valuesTo(dst, c.values)
}

// valuesTo copies values to dst, or to new memory if that is nil, and returns it.
func valuesTo[T Element](dst, values []T) []T {
	if dst == nil {
		dst = make([]T, len(values))
	}
	if len(dst) != len(values) {
		panic(mat.ErrSliceLengthMismatch)
	}
	copy(dst, values)
	return dst
}

// Rank returns how many singular values are greater than rcond times the largest one. It panics with ErrRcond if
// rcond is negative or NaN.
func (c *SVD[T]) Rank(rcond float64) int {
	c.check()
	if !(rcond >= 0) {
		panic(ErrRcond)
	}
	for i, x := range c.values {
		if float64(x) <= rcond*float64(c.values[0]) {
			return i
		}
	}
	return len(c.values)
}

// Cond returns the condition number in the 2-norm, the quotient of the largest and the least singular value: +Inf
// if that is zero, and 0 if there are none.
func (c *SVD[T]) Cond() float64 {
	c.check()
	k := len(c.values)
	switch {
	case k == 0:
		return 0
	case c.values[k-1] == 0:
		return math.Inf(1)
	}
	return float64(c.values[0]) / float64(c.values[k-1])
}

// left returns the left vectors as rows, and how many of them UTo copies.
func (c *SVD[T]) left() (rows *blocked.Matrix[T], count int) {
	rows, count = c.u, len(c.values)
	if c.m < c.n {
		rows = c.v
	}
	if c.kind&mat.SVDFullU != 0 {
		count = c.m
	}
	return rows, count
}

// right is left for right vectors.
func (c *SVD[T]) right() (rows *blocked.Matrix[T], count int) {
	rows, count = c.v, len(c.values)
	if c.m < c.n {
		rows = c.u
	}
	if c.kind&mat.SVDFullV != 0 {
		count = c.n
	}
	return rows, count
}

// UTo copies U to dst: m×min(m, n), m×k for a part of k values, or m×m if the kind is full. Column j is the left vector of value j. An empty
// *mat.Dense takes the shape. It panics with ErrNoVectors if the decomposition has no left vectors, and with
// mat.ErrShape if dst has another shape.
func (c *SVD[T]) UTo(dst Sink[T]) {
	c.check(anyU)
	rows, count := c.left()
	vectorsTo(dst, rows, count, c.m)
}

// VTo copies V to dst: n×min(m, n), n×k for a part of k values, or n×n if the kind is full. It is like UTo otherwise.
func (c *SVD[T]) VTo(dst Sink[T]) {
	c.check(anyV)
	rows, count := c.right()
	vectorsTo(dst, rows, count, c.n)
}

// vectorsTo copies the first rows of x, of n elements, to the columns of dst.
func vectorsTo[T Element](dst Sink[T], x *blocked.Matrix[T], rows, n int) {
	shape(dst, n, rows)
	if r, c := dst.Dims(); r != n || c != rows {
		panic(mat.ErrShape)
	}
	if n == 0 || rows == 0 {
		return
	}
	z := x.Tile(0, 0)
	var to kernels.Tile[T]
	if trans, ok := asTile[T](dst, &to); ok && trans == blas.NoTrans {
		transpose.Copy(to.Data, to.Stride, z.Data, z.Stride, n, rows)
		return
	}
	for i := range rows {
		for j, v := range z.Row(i) {
			dst.Set(j, i, v)
		}
	}
}

// SolveTo computes dst = X, n×k, of least Frobenius norm among those with the least ‖A·X − B‖ for the m×k matrix B. A
// counts as a matrix of the given rank, as Rank returns one: smaller singular values count as zero. An empty *mat.Dense
// takes the shape. It panics with ErrNoVectors unless there are vectors of both sides, and with ErrRank if rank is not
// between 0 and the number of singular values that are not zero.
//
// The errors are those of [Gemm]. The option is [WithContext].
//
// Reference: LAPACK xGELSD.
func (c *SVD[T]) SolveTo(dst Destination[T], b Source[T], rank int, opts ...CallOption) error {
	left, right := c.factors(rank)
	ctx, err := contextOf("SVD.SolveTo", opts)
	if err != nil {
		return err
	}
	rows, cols := b.Dims()
	if rows != c.m {
		return &ShapeError{"SVD.SolveTo", fmt.Sprintf("A is %d×%d and b %d×%d", c.m, c.n, rows, cols)}
	}
	y := General[T]{Rows: rank, Cols: cols, Stride: max(cols, 1), Data: make([]T, rank*cols)}
	if err := gemmFor[T](ctx, c.engine, callNames{"SVD.SolveTo", "y"}, blas.NoTrans, blas.NoTrans, 1, left, b, 0, y); err != nil {
		return err
	}
	for i := range rank {
		for j := range cols {
			y.Data[i*y.Stride+j] /= c.values[i]
		}
	}
	return gemmFor[T](ctx, c.engine, callNames{"SVD.SolveTo", "dst"}, blas.Trans, blas.NoTrans, 1, right, y, 0, dst)
}

// PseudoInverseTo computes dst = A⁺, n×m, the Moore-Penrose inverse of A as a matrix of the given rank. It is like
// SolveTo otherwise, which is cheaper and more accurate than a product with the result.
func (c *SVD[T]) PseudoInverseTo(dst Destination[T], rank int, opts ...CallOption) error {
	left, right := c.factors(rank)
	ctx, err := contextOf("SVD.PseudoInverseTo", opts)
	if err != nil {
		return err
	}
	y := General[T]{Rows: rank, Cols: c.m, Stride: max(c.m, 1), Data: make([]T, rank*c.m)}
	for i := range rank {
		for j, x := range left.Data[i*left.Stride:][:c.m] {
			y.Data[i*y.Stride+j] = x / c.values[i]
		}
	}
	return gemmFor[T](ctx, c.engine, callNames{"SVD.PseudoInverseTo", "dst"}, blas.Trans, blas.NoTrans, 1, right, y, 0, dst)
}

// factors returns the first vectors of both sides as rows.
func (c *SVD[T]) factors(rank int) (left, right General[T]) {
	c.check(anyU, anyV)
	if rank < 0 || rank > len(c.values) || rank > 0 && c.values[rank-1] == 0 {
		panic(ErrRank)
	}
	u, _ := c.left()
	v, _ := c.right()
	first := func(x *blocked.Matrix[T], n int) General[T] {
		if rank == 0 {
			return General[T]{Cols: n, Stride: max(n, 1)}
		}
		t := x.Tile(0, 0)
		return General[T]{Rows: rank, Cols: n, Stride: t.Stride, Data: t.Data}
	}
	return first(u, c.m), first(v, c.n)
}

// Reset drops the decomposition. Its memory is kept for the next one of the same size; to free it, drop c.
func (c *SVD[T]) Reset() { c.valid = false }

// SingularValues returns the min(m, n) singular values of an m×n matrix A, in descending order. The errors are those
// of [SVD.Factorize], or the cause of the context's end.
func SingularValues[T Element](ctx context.Context, e *Engine, a Source[T]) ([]T, error) {
	c := NewSVD[T](e)
	if err := c.factorize(callOptions{ctx: ctx}, a, mat.SVDNone); err != nil {
		return nil, err
	}
	return c.values, nil
}

// PseudoInverse computes dst = A⁺, n×m, for an m×n matrix A of which singular values up to rcond times the largest
// one count as zero, and returns the rank. An empty *mat.Dense becomes n×m. The errors are those of
// [SVD.Factorize] and [Gemm]. It panics with ErrRcond if rcond is negative or NaN.
func PseudoInverse[T Element](ctx context.Context, e *Engine, dst Destination[T], a Source[T], rcond float64) (rank int, err error) {
	c := NewSVD[T](e)
	if err := c.factorize(callOptions{ctx: ctx}, a, mat.SVDThin); err != nil {
		return 0, err
	}
	rank = c.Rank(rcond)
	return rank, c.PseudoInverseTo(dst, rank, WithContext(ctx))
}
