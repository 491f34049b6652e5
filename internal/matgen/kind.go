package matgen

import (
	"fmt"
	"strings"
)

// Kind names a family of matrices. Indices in the descriptions start at 0.
// "LAPACK general n" and "LAPACK definite n" refer to the types of matrices
// in LAPACK's test programs (subroutine DLATB4, paths GE and PO); ε is 2⁻⁵²
// for float64 and 2⁻²³ for float32, as there.
type Kind uint8

// General m×n matrices.
const (
	// Random: independent, uniform in [-1/2, 1/2).
	Random Kind = iota
	// Cond: condition number Spec.Cond, singular values in geometric
	// progression from 1 down, between random orthogonal factors.
	Cond
	// Diagonal: condition number 2, signs at random (LAPACK general 1).
	Diagonal
	// Upper triangular, well conditioned (LAPACK general 2).
	Upper
	// Lower triangular, well conditioned (LAPACK general 3).
	Lower
	// Cond2: Cond with condition number 2 (LAPACK general 4).
	Cond2
	// FirstColumnZero: Cond2 with a first column of zeros (LAPACK general 5).
	FirstColumnZero
	// LastColumnZero: Cond2 with a last column of zeros (LAPACK general 6).
	LastColumnZero
	// LastHalfZero: Cond2 with zeros from column n/2 on (LAPACK general 7).
	LastHalfZero
	// CondSqrt: Cond with condition number √(0.1/ε) (LAPACK general 8).
	CondSqrt
	// CondMax: Cond with condition number 0.1/ε (LAPACK general 9).
	CondMax
	// Tiny: Cond2 scaled near underflow (LAPACK general 10).
	Tiny
	// Huge: Cond2 scaled near overflow (LAPACK general 11). Products of its
	// elements overflow.
	Huge
	// ZeroRow: Random with a middle row of zeros.
	ZeroRow
	// Graded: Random, scaled from both sides by 1 … 10⁻⁶.
	Graded
	// SingularTile: Random, but tile (TileRow, TileCol) has rank 1.
	SingularTile
	// ZeroTile: Random, but tile (TileRow, TileCol) is zero.
	ZeroTile
	// ScaledTile: Random, but tile (TileRow, TileCol) is scaled by 10⁻⁸.
	ScaledTile

	// Kahan: upper triangular, row i is sⁱ·[0 … 0 1 -c … -c] with
	// c = cos 1.2 and s = sin 1.2. Its smallest singular value is far below
	// its smallest diagonal element (Kahan 1966).
	Kahan
	// Wilkinson: 1 on the diagonal and in the last column, -1 below the
	// diagonal. Partial pivoting grows its elements by 2ⁿ⁻¹, the worst case.
	Wilkinson
	// Foster: a Volterra integral equation by the trapezoidal rule, on which
	// partial pivoting grows the elements exponentially, too (Foster 1994).
	Foster

	// SPD: symmetric, uniform in [-1/2, 1/2), plus n on the diagonal: well
	// conditioned and made in O(n²).
	SPD
	// SPDCond: condition number Spec.Cond, eigenvalues in geometric
	// progression from 1 down, between random orthogonal factors.
	SPDCond
	// SPDDiagonal: diagonal, condition number 2 (LAPACK definite 1).
	SPDDiagonal
	// SPDCond2: SPDCond with condition number 2 (LAPACK definite 2).
	SPDCond2
	// FirstZero: SPDCond2 with row and column 0 zero: minor 1 fails (LAPACK
	// definite 3).
	FirstZero
	// LastZero: SPDCond2 with the last row and column zero: minor n fails
	// (LAPACK definite 4).
	LastZero
	// MiddleZero: SPDCond2 with row and column n/2 zero: minor n/2+1 fails
	// (LAPACK definite 5).
	MiddleZero
	// SPDCondSqrt: SPDCond with condition number √(0.1/ε) (LAPACK definite
	// 6).
	SPDCondSqrt
	// SPDCondMax: SPDCond with condition number 0.1/ε (LAPACK definite 7).
	// Rounding may make a Cholesky factorization fail from n ≈ 100 on.
	SPDCondMax
	// SPDTiny: SPDCond2 scaled near underflow (LAPACK definite 8).
	SPDTiny
	// SPDHuge: SPDCond2 scaled near overflow (LAPACK definite 9).
	SPDHuge
	// SPDGraded: SPD, scaled from both sides by 1 … 10⁻⁶: condition number
	// about 10¹², and harmless to a Cholesky factorization.
	SPDGraded
	// SPDScaledTile: SPD with rows and columns of tile TileRow scaled by
	// 10⁻⁴, so that this diagonal tile is scaled by 10⁻⁸.
	SPDScaledTile
	// Poisson2D: the five-point Laplacian on the first n points of a square
	// grid: stiffness of a membrane.
	Poisson2D
	// Beam: stiffness of a one-dimensional beam, clamped at one end and free
	// at the other: the biharmonic operator [1 -4 6 -4 1]. Determinant 1,
	// condition number 16·(n/1.875)⁴, above 10¹⁰ from n = 300 on.
	Beam
	// KMS: the Toeplitz matrix 2^-|i-j| (Kac, Murdock and Szegő).
	KMS
	// Prolate: the Toeplitz matrix sin(π(i-j)/2)/(π(i-j)), 1/2 on the
	// diagonal (Varah 1993). Its eigenvalues crowd at 0 and 1: rounding
	// makes it indefinite from n ≈ 23 on.
	Prolate
	// Hilbert: 1/(i+j+1). Rounding makes it indefinite from n ≈ 13 on.
	Hilbert
	// Lehmer: (min(i,j)+1)/(max(i,j)+1); its inverse is tridiagonal.
	Lehmer
	// Moler: i+1 on the diagonal, min(i,j)-1 off it: UᵀU for the unit upper
	// triangular U of -1. One eigenvalue is tiny, about 4⁻ⁿ, and yet its
	// Cholesky factorization is one of integers, and exact.
	Moler
	// MinIJ: min(i,j)+1: LLᵀ for the lower triangular L of ones.
	MinIJ
	// Identity: 1 on the diagonal.
	Identity

	// Indefinite: symmetric, and the first leading minor that is not
	// positive is that of order Spec.Minor. All products of its Cholesky
	// factorization up to there are exact, so every correct code finds that
	// minor; from Minor = 2 on its diagonal is positive.
	Indefinite

	kinds // number of kinds
)

// traits is what the other files need to know of a Kind.
type traits struct {
	name      string
	square    bool // implied by symmetric
	symmetric bool
	definite  bool // positive, in exact arithmetic
	tiled     bool // uses NB, TileRow and TileCol
}

// table holds the traits of each kind.
var table = [kinds]traits{
	Random:          {name: "random"},
	Cond:            {name: "cond"},
	Diagonal:        {name: "diagonal"},
	Upper:           {name: "upper"},
	Lower:           {name: "lower"},
	Cond2:           {name: "cond-2"},
	FirstColumnZero: {name: "first-column-zero"},
	LastColumnZero:  {name: "last-column-zero"},
	LastHalfZero:    {name: "last-half-zero"},
	CondSqrt:        {name: "cond-sqrt"},
	CondMax:         {name: "cond-max"},
	Tiny:            {name: "tiny"},
	Huge:            {name: "huge"},
	ZeroRow:         {name: "zero-row"},
	Graded:          {name: "graded"},
	SingularTile:    {name: "singular-tile", tiled: true},
	ZeroTile:        {name: "zero-tile", tiled: true},
	ScaledTile:      {name: "scaled-tile", tiled: true},
	Kahan:           {name: "kahan", square: true},
	Wilkinson:       {name: "wilkinson", square: true},
	Foster:          {name: "foster", square: true},
	SPD:             {name: "spd", square: true, symmetric: true, definite: true},
	SPDCond:         {name: "spd-cond", square: true, symmetric: true, definite: true},
	SPDDiagonal:     {name: "spd-diagonal", square: true, symmetric: true, definite: true},
	SPDCond2:        {name: "spd-cond-2", square: true, symmetric: true, definite: true},
	FirstZero:       {name: "first-zero", square: true, symmetric: true},
	LastZero:        {name: "last-zero", square: true, symmetric: true},
	MiddleZero:      {name: "middle-zero", square: true, symmetric: true},
	SPDCondSqrt:     {name: "spd-cond-sqrt", square: true, symmetric: true, definite: true},
	SPDCondMax:      {name: "spd-cond-max", square: true, symmetric: true, definite: true},
	SPDTiny:         {name: "spd-tiny", square: true, symmetric: true, definite: true},
	SPDHuge:         {name: "spd-huge", square: true, symmetric: true, definite: true},
	SPDGraded:       {name: "spd-graded", square: true, symmetric: true, definite: true},
	SPDScaledTile:   {name: "spd-scaled-tile", square: true, symmetric: true, definite: true, tiled: true},
	Poisson2D:       {name: "poisson-2d", square: true, symmetric: true, definite: true},
	Beam:            {name: "beam", square: true, symmetric: true, definite: true},
	KMS:             {name: "kms", square: true, symmetric: true, definite: true},
	Prolate:         {name: "prolate", square: true, symmetric: true, definite: true},
	Hilbert:         {name: "hilbert", square: true, symmetric: true, definite: true},
	Lehmer:          {name: "lehmer", square: true, symmetric: true, definite: true},
	Moler:           {name: "moler", square: true, symmetric: true, definite: true},
	MinIJ:           {name: "min-ij", square: true, symmetric: true, definite: true},
	Identity:        {name: "identity", square: true, symmetric: true, definite: true},
	Indefinite:      {name: "indefinite", square: true, symmetric: true},
}

func (k Kind) traits() traits {
	if k < kinds {
		return table[k]
	}
	return traits{name: fmt.Sprintf("Kind(%d)", uint8(k))}
}

// String returns the name that [ParseKind] reads.
func (k Kind) String() string { return k.traits().name }

// Square reports whether a matrix of kind k must have as many rows as
// columns.
func (k Kind) Square() bool { return k.traits().square }

// Symmetric reports whether k is symmetric.
func (k Kind) Symmetric() bool { return k.traits().symmetric }

// PositiveDefinite reports whether k is symmetric positive definite, in exact
// arithmetic; the description of each kind says where rounding spoils it.
func (k Kind) PositiveDefinite() bool { return k.traits().definite }

// Kinds returns all kinds, the general ones first.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// ParseKind returns the kind with the given name, in upper or lower case. The error for an unknown name lists
// the known ones.
func ParseKind(name string) (Kind, error) {
	var known []string
	for _, k := range Kinds() {
		if strings.EqualFold(k.String(), name) {
			return k, nil
		}
		known = append(known, k.String())
	}
	return 0, fmt.Errorf("matgen: unknown kind of matrix %q; known are %s", name, strings.Join(known, ", "))
}
