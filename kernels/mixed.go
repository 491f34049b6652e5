package kernels

import "gonum.org/v1/gonum/blas"

// Lange is the parameter of op "lange" (LAPACK xLANGE, xLASSQ): of a tile, in all of it
// (Uplo = All) or in its Uplo triangle, the largest magnitude of each column,
// s(0, j) = maxᵢ |a(i, j)|, NaN if there is one. With Squares it is the sum of squares
// instead, s(0, 0)²·s(0, 1) = Σ a(i, j)², where s(0, 0) is 1, 2⁶⁰⁰ or 2⁻⁶⁰⁰, or else what is
// not finite in A. With Symmetric, the tile, of which the Uplo triangle is stored, is
// symmetric, and squares are those of all of it.
//
// Operands: A (in, m×n), S (out, float64, 1 row, max(n, 2) columns).
type Lange struct {
	Uplo      blas.Uplo
	Symmetric bool
	Squares   bool
}

// Lag2s is the parameter of op "lag2s" (LAPACK DLAG2S): B = A·D, rounded to float32 once. What
// is too large becomes infinite.
//
// Operands: A (in, m×n), D (in, float64, 1×n: the elements of a diagonal matrix), B (out,
// float32, m×n).
type Lag2s struct{}

// Lag2d is the parameter of op "lag2d" (LAPACK SLAG2D): B = A·D or, with Add, B = B + A·D,
// computed in float64.
//
// Operands: A (in, float32, m×n), D as of [Lag2s], B (out, m×n; with Add inout).
type Lag2d struct {
	Add bool
}

// Lasym is the parameter of op "lasym": B = A, where of the symmetric A the Uplo triangle is
// stored, and of B both are.
//
// Operands: A (in, n×n), B (out, n×n).
type Lasym struct {
	Uplo blas.Uplo
}

// Validate returns an error if a field is out of range.
func (p *Lange) Validate() error { return validate("lange", p) }

// Validate returns nil: there is nothing to be wrong.
func (p *Lag2s) Validate() error { return validate("lag2s", p) }

// Validate returns nil: there is nothing to be wrong.
func (p *Lag2d) Validate() error { return validate("lag2d", p) }

// Validate returns an error if a field is out of range.
func (p *Lasym) Validate() error { return validate("lasym", p) }
