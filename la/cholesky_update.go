package la

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// SolveLTo solves with one factor of A = L·Lᵀ,
//
//	L·X = B, or Lᵀ·X = B if trans,
//
// for X, dst = X, where B is n×nrhs. dst may be b; an empty *mat.Dense takes the shape of b. For a covariance matrix
// A, L⁻¹·b is the whitened b; and ‖L⁻¹·b‖₂² = bᵀ·A⁻¹·b.
//
// The error is a *ShapeError, an *OverflowError if B is finite and X is not, an *exec.TaskError that names the version
// that failed, or exec.ErrClosed. It leaves dst unchanged, except for its shape. SolveLTo panics with ErrNotFactorized
// if there is no factorization. The option is [WithContext].
//
// Reference: LAPACK xTRTRS.
func (c *Cholesky[T]) SolveLTo(dst Destination[T], trans bool, b Source[T], opts ...CallOption) error {
	c.valid()
	ctx, err := contextOf("Cholesky.SolveLTo", opts)
	if err != nil {
		return err
	}
	n := c.u.Dim()
	to, err := checkSystem("SolveLTo", n, n, dst, b)
	if err != nil {
		return err
	}
	_, nrhs := b.Dims()
	if n == 0 || nrhs == 0 {
		return nil
	}
	x, _ := blocked.From(b, blocked.Full, c.u.NB(), copying(c.engine))
	err = withScaledColumns(ctx, c.engine, x, c.exp/2, func() error { return c.solveL(ctx, trans, x) })
	if err != nil {
		return err
	}
	if err := inRange(ctx, c.engine, x, b); err != nil {
		return err
	}
	x.CopyTo(to, c.engine.Options().Workers)
	return nil
}

// solveL overwrites x with U⁻ᵀ·x, or U⁻¹·x if trans. It ignores exp.
func (c *Cholesky[T]) solveL(ctx context.Context, trans bool, x *blocked.Matrix[T]) error {
	mt, _ := x.Tiles()
	n, nrhs := x.Dims()
	direct := engine.SolvesDirect[T](c.engine, mt, n, nrhs) && distributedNB[T](c.u, x) == 0
	return execute(ctx, c.engine, direct, func(s *executor[T]) {
		s.trsm(blas.Upper, transposition(!trans), blas.NonUnit, c.u, x)
	})
}

// SymRankOne makes c the factorization of
//
//	A + alpha·x·xᵀ,
//
// where orig is that of A and x has n elements. orig may be c, and is not changed otherwise. The change takes 3·n²
// operations, where a factorization takes n³/3. A negative alpha subtracts: then the result has the errors of
// that subtraction, which are large if A − |alpha|·x·xᵀ is nearly singular.
//
// The condition numbers of c, and the mat.Condition of its solutions, are then those of an upper bound of the norm.
// It is at most n times the norm, and √n times for a typical matrix.
//
// The error is a *ShapeError, a *NonFiniteError for x, at column 0, if √|alpha|·x is not finite, a
// *NotPositiveDefiniteError if the result is not positive definite, blocked.ErrAway if the factor is distributed, an
// *exec.TaskError that names the version that failed, or exec.ErrClosed. It leaves c unchanged. If alpha is 0, x is
// not read. SymRankOne panics with ErrNotFactorized if orig holds no factorization. The option is [WithContext].
//
// Reference: LINPACK xCHUD and xCHDD; gonum's mat.Cholesky.SymRankOne, which returns false instead of an error.
func (c *Cholesky[T]) SymRankOne(orig *Cholesky[T], alpha T, x VectorSource[T], opts ...CallOption) error {
	orig.valid()
	ctx, err := contextOf("Cholesky.SymRankOne", opts)
	if err != nil {
		return err
	}
	return c.symRankK(ctx, "SymRankOne", orig, alpha, column[T]{x})
}

// SymRankK makes c the factorization of A + alpha·X·Xᵀ, where orig is that of A and X is n×k. It takes 3·k·n²
// operations, and reads the factor once for many columns of X. Where k is more than about n/30, a new factorization is
// faster. Otherwise it is like SymRankOne.
func (c *Cholesky[T]) SymRankK(orig *Cholesky[T], alpha T, x Source[T], opts ...CallOption) error {
	orig.valid()
	ctx, err := contextOf("Cholesky.SymRankK", opts)
	if err != nil {
		return err
	}
	return c.symRankK(ctx, "SymRankK", orig, alpha, x)
}

// symRankK is SymRankK for the method of that name.
func (c *Cholesky[T]) symRankK(ctx context.Context, name string, orig *Cholesky[T], alpha T, x Source[T]) error {
	n, nb := orig.u.Dim(), orig.u.NB()
	m, k := x.Dims()
	if m != n {
		return &ShapeError{name, shapesOf("A", n, n, "x", m, k)}
	}
	if orig.u.IsDistributed() {
		return blocked.ErrAway
	}
	rows := blocked.New[T](blocked.Full, 0, n, nb)
	if alpha != 0 {
		rows = blocked.New[T](blocked.Full, k, n, nb)
		factor := math.Ldexp(math.Sqrt(math.Abs(float64(alpha))), -orig.exp/2)
		for i := range n {
			for j := range k {
				v := T(factor * float64(x.At(i, j)))
				if v-v != 0 {
					return &NonFiniteError{Row: i, Col: j}
				}
				rows.Set(j, i, v)
			}
		}
	}
	return c.change(ctx, orig, c.memory(n, nb), rows, alpha < 0)
}

// shapesOf says what shapes two matrices have.
func shapesOf(a string, m, n int, b string, p, q int) string {
	return fmt.Sprintf("%s is %d×%d and %s %d×%d", a, m, n, b, p, q)
}

// memory returns an n×n matrix for a new factor, in c's spare memory if it fits.
func (c *Cholesky[T]) memory(n, nb int) *blocked.Matrix[T] {
	if fits(c.spare, n, n, nb) && c.spare != c.u && c.spare.Kind() == blocked.SymUpper && !c.spare.IsDistributed() {
		return c.spare
	}
	return blocked.New[T](blocked.SymUpper, n, n, nb)
}

// change makes c the factorization in v of VᵀV = UᵀU ± XᵀX, where U is orig's factor, or v itself if it is a new one of
// another order, and x holds the rows of X.
func (c *Cholesky[T]) change(ctx context.Context, orig *Cholesky[T], v, x *blocked.Matrix[T], down bool) error {
	e, u := c.engine, orig.u
	if u.Dim() != v.Dim() {
		u = v
	}
	if err := e.Ready(ctx); err != nil {
		return err
	}
	n := v.Dim()
	t, _ := v.Tiles()
	switch {
	case x.Rows() == 0:
		if u != v {
			v.CopyFrom(u, copying(e))
		}
	case n > 0:
		err := execute(ctx, e, t == 1 && x.MT() == 1 && engine.GoesDirect[T](e, engine.OpCholesky, n), func(s *executor[T]) {
			if s.p != nil {
				s.err = chol.Chud(s.p, down, u, x, v)
				return
			}
			if u != v {
				v.CopyFrom(u, copying(e))
			}
			cos, sin := blocked.New[T](blocked.Full, x.Rows(), n, n), blocked.New[T](blocked.Full, x.Rows(), n, n)
			s.call(s.ops().Op("chud"), &op.Chud{Down: down}, v.Tile(0, 0), x.Tile(0, 0), cos.Tile(0, 0), sin.Tile(0, 0))
		})
		if err != nil {
			return err
		}
	}
	c.replace(v, orig.exp)
	return nil
}

// replace makes v c's factor, of A divided by 2^exp, and its former factor spare memory unless that is the caller's.
func (c *Cholesky[T]) replace(v *blocked.Matrix[T], exp int) {
	c.Reset()
	c.u, c.bound, c.exp = v, new(lazyNorms), exp
}

// ExtendVecSym makes c the factorization of
//
//	⎡ A   w⎤
//	⎣ wᵀ  k⎦,
//
// where orig is that of A, w is v without its last element, and k is that element. orig may be c, and is not changed
// otherwise. It takes n² operations, and a copy.
//
// The error is a *ShapeError if v has not n+1 elements, a *NonFiniteError, a *NotPositiveDefiniteError unless
// k > wᵀ·A⁻¹·w, an *OverflowError if k is too large beside elements of A near the lower end of the range, or another one
// of SymRankOne, which also says what the condition numbers are. It leaves c unchanged.
// ExtendVecSym panics with ErrNotFactorized if orig holds no factorization. The option is [WithContext].
//
// Reference: gonum's mat.Cholesky.ExtendVecSym, which returns false instead of an error.
func (c *Cholesky[T]) ExtendVecSym(orig *Cholesky[T], v VectorSource[T], opts ...CallOption) error {
	orig.valid()
	ctx, err := contextOf("Cholesky.ExtendVecSym", opts)
	if err != nil {
		return err
	}
	n := orig.u.Dim()
	if v.Len() != n+1 {
		return &ShapeError{"ExtendVecSym", shapesOf("A", n, n, "v", v.Len(), 1)}
	}
	if orig.u.IsDistributed() {
		return blocked.ErrAway
	}
	x := blocked.New[T](blocked.Full, n, 1, orig.u.NB())
	for i := range n + 1 {
		s := v.AtVec(i)
		if s-s != 0 {
			return &NonFiniteError{Row: i, Col: n}
		}
		if i < n {
			x.Set(i, 0, T(math.Ldexp(float64(s), -orig.exp)))
		}
	}
	if n > 0 {
		if err := orig.solveL(ctx, false, x); err != nil {
			return err
		}
	} else if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	rest := math.Ldexp(float64(v.AtVec(n)), -orig.exp)
	for i := range n {
		rest -= float64(x.At(i, 0)) * float64(x.At(i, 0))
	}
	d := T(math.Sqrt(max(rest, 0)))
	if !(d > 0) {
		return &NotPositiveDefiniteError{Minor: n + 1}
	}
	if d-d != 0 {
		return &OverflowError{Row: n, Col: n}
	}
	nb, _ := engine.TileSize[T](c.engine, engine.OpCholesky, n+1, n+1)
	u := c.memory(n+1, max(nb, 1))
	copyFactor(u, orig.u, n, c.engine.Options().Workers)
	for i := range n {
		u.Set(i, n, x.At(i, 0))
	}
	u.Set(n, n, d)
	c.replace(u, orig.exp)
	return nil
}

// DropVecSym makes c the factorization of A without its row and column i, counted from 0, where orig is that of A. orig
// may be c, and is not changed otherwise. It takes 3·(n−i)² operations, and a copy.
//
// The errors are those of SymRankOne. They leave c unchanged. DropVecSym panics with ErrNotFactorized if orig holds no
// factorization, and with mat.ErrIndexOutOfRange if A has no row i.
func (c *Cholesky[T]) DropVecSym(orig *Cholesky[T], i int, opts ...CallOption) error {
	orig.valid()
	ctx, err := contextOf("Cholesky.DropVecSym", opts)
	if err != nil {
		return err
	}
	n := orig.u.Dim()
	if i < 0 || i >= n {
		panic(mat.ErrIndexOutOfRange)
	}
	if orig.u.IsDistributed() {
		return blocked.ErrAway
	}
	nb, _ := engine.TileSize[T](c.engine, engine.OpCholesky, n-1, n-1)
	u := c.memory(n-1, max(nb, 1))
	copyFactor(u, orig.u, i, c.engine.Options().Workers)
	// Uᵀ·U for the rows and columns after i has lost the product of row i of U.
	row := blocked.New[T](blocked.Full, 1, n-1, u.NB())
	for j := i + 1; j < n; j++ {
		row.Set(0, j-1, orig.u.At(i, j))
	}
	if i == n-1 {
		row = row.Leading(0, n-1)
	}
	return c.change(ctx, orig, u, row, false)
}

// copyFactor copies the upper triangle of src, without its row and column drop, to dst, which may be of a larger
// order.
func copyFactor[T Element](dst, src *blocked.Matrix[T], drop, workers int) {
	n := src.Dim()
	if drop < n {
		n--
	}
	inParallel(n*n/2, workers, func(first, stride int) {
		for i := first - 1; i < n; i += stride {
			from := i
			if i >= drop {
				from++
			}
			if i < drop {
				copySegment(dst, i, i, src, from, i, min(drop, n)-i)
			}
			if j := max(i, drop); j < n {
				copySegment(dst, i, j, src, from, j+1, n-j)
			}
		}
	})
}

// copySegment copies count elements from row si of src, from column sj on, to row di of dst, from column dj on.
func copySegment[T Element](dst *blocked.Matrix[T], di, dj int, src *blocked.Matrix[T], si, sj, count int) {
	for count > 0 {
		to := dst.Tile(di/dst.NB(), dj/dst.NB()).Row(di % dst.NB())[dj%dst.NB():]
		from := src.Tile(si/src.NB(), sj/src.NB()).Row(si % src.NB())[sj%src.NB():]
		k := copy(to[:min(len(to), count)], from)
		dj, sj, count = dj+k, sj+k, count-k
	}
}
