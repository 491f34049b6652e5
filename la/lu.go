package la

import (
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/mat"
)

// LU is the LU factorization of an m×n matrix,
//
//	A = P·L·U,
//
// after gonum's mat.LU: P is a permutation, L lower triangular (m×min(m, n)) with a unit
// diagonal, U upper triangular (min(m, n)×n). Solutions, inverses and determinants need m = n.
//
// The zero value holds no factorization, uses the default engine and pivots partially. Several
// goroutines may read an LU at once.
type LU[T Element] struct {
	engine *Engine
	opt    LUOptions

	// lu holds U, and L below the diagonal; nil if there is no factorization.
	lu       *blocked.Matrix[T]
	pivots   *lu.Pivots
	pivoting Pivoting // that the factorization was made with
	norm     norms    // of A
	exp      int      // lu is of A divided by two to this power
	top      float64  // largest magnitude of that

	// The memory of an earlier factorization.
	spare       *blocked.Matrix[T]
	sparePivots *lu.Pivots
	lent        bool // lu is the caller's, and does not become spare memory

	resident *residence // of lu
}

// NewLU returns an empty factorization with partial pivoting that computes on
// e.
func NewLU[T Element](e *Engine) *LU[T] { return &LU[T]{engine: e} }

// NewLUWith returns an empty factorization that computes on e with the options
// given. The error is that of [LUOptions.Validate].
func NewLUWith[T Element](e *Engine, opt LUOptions) (*LU[T], error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return &LU[T]{engine: e, opt: opt}, nil
}

// valid panics with ErrNotFactorized if there is no factorization.
func (f *LU[T]) valid() {
	if f.lu == nil {
		panic(ErrNotFactorized)
	}
}

// order returns n. It panics with ErrNotFactorized, or with mat.ErrSquare if A is not n×n.
func (f *LU[T]) order() int {
	f.valid()
	m, n := f.lu.Dims()
	if m != n {
		panic(mat.ErrSquare)
	}
	return n
}

// singular returns a *SingularError if there is a zero on the diagonal of U.
func (f *LU[T]) singular() error {
	if info := f.pivots.Info(); info != 0 {
		return &SingularError{Column: info}
	}
	return nil
}

// IsEmpty reports whether f holds no factorization.
func (f *LU[T]) IsEmpty() bool { return f.lu == nil }

// Dims returns m and n. Like all methods but Factorize, IsEmpty, Reset and Clone, it panics with ErrNotFactorized if
// there is no factorization.
func (f *LU[T]) Dims() (m, n int) {
	f.valid()
	return f.lu.Dims()
}

// TileSize returns the tile size with which Factorize cuts an m×n matrix. If one kernel factors
// such a matrix as a whole, direct is true and nb is the larger of m and n. It needs no
// factorization.
func (f *LU[T]) TileSize(m, n int) (nb int, direct bool) {
	if engine.FactorsDirect[T](f.engine, engine.OpLU, m, n) {
		return max(1, m, n), true
	}
	return f.tileSize(m, n), false
}

// tileSize is TileSize for a matrix that is cut into tiles.
func (f *LU[T]) tileSize(m, n int) int {
	return engine.LUTileSize[T](f.engine, m, n, f.opt.Pivoting == PartialPivoting)
}

// Pivoting returns the pivoting of the factorization: that of the options, or PartialPivoting
// after a breakdown and for a problem that one kernel computed.
func (f *LU[T]) Pivoting() Pivoting {
	f.valid()
	return f.pivoting
}

// Reset drops the factorization. Its memory stays for the next one of the same size; drop f to
// free it.
func (f *LU[T]) Reset() {
	if f.lu != nil && !f.lent {
		f.spare, f.sparePivots = f.lu, f.pivots
	}
	f.resident.end()
	f.lent, f.lu, f.pivots, f.norm, f.exp, f.top, f.pivoting = false, nil, nil, norms{}, 0, 0, 0
}

// clear drops the factorization and its memory.
func (f *LU[T]) clear() {
	f.resident.end()
	*f = LU[T]{engine: f.engine, opt: f.opt}
}

// Clone makes f a copy of src, on src's engine and with its options. It panics with
// ErrNotFactorized if src holds no factorization.
func (f *LU[T]) Clone(src *LU[T]) {
	src.valid()
	factors := src.lu.Clone()
	f.resident.end()
	*f = LU[T]{engine: src.engine, opt: src.opt, lu: factors, pivots: src.pivots.Clone(),
		pivoting: src.pivoting, norm: newNorms(slices.Clone(src.norm.columns)), exp: src.exp, top: src.top}
}

// check returns a *ShapeError if A is not square. It panics with ErrNotFactorized.
func (f *LU[T]) check(op string) error {
	f.valid()
	if m, n := f.lu.Dims(); m != n {
		return &ShapeError{op, fmt.Sprintf("A is %d×%d, and must be square", m, n)}
	}
	return nil
}
