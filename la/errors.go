package la

import (
	"fmt"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la/engine"
)

// Error is the type of the constants with which misused methods panic.
type Error = engine.Error

const (
	// ErrNotFactorized is the panic of a method that needs a factorization and finds none.
	ErrNotFactorized Error = "la: no valid factorization"
	// ErrNoVectors is the panic of a method that needs eigenvectors, or singular vectors, where only the values were
	// computed.
	ErrNoVectors Error = "la: the decomposition has no vectors"
	// ErrRank is the panic of a method of [SVD] or [PivotedQR] for a rank that is negative or greater than that of A.
	ErrRank Error = "la: the rank is out of range"
	// ErrRcond is the panic of [SVD], [PivotedQR] and [LeastNorm] for an rcond that is negative or NaN.
	ErrRcond Error = "la: rcond is negative or NaN"
	// ErrSliceLength is the panic of a method that is given a slice of the wrong length.
	ErrSliceLength Error = "la: wrong length of slice"
	// ErrWeights is the error of [PCA] for weights that are negative, infinite or NaN, or whose sum, which is the number
	// of observations if there are none, is not greater than 1.
	ErrWeights Error = "la: PCA: weights must be finite, not negative, and have a sum greater than 1"
)

// ShapeError reports operands whose shapes do not fit together.
type ShapeError struct {
	Op     string // the operation, as in "Mul"
	Detail string // the shapes
}

func (e *ShapeError) Error() string { return fmt.Sprintf("la: %s: %s", e.Op, e.Detail) }

// The texts of errors count rows, columns and orders from 1, as LAPACK's info does, and say so. So do
// the fields Column and Minor. The fields Row and Col are the indexes that At takes, from 0.

// NonFiniteError reports an infinity or a NaN in a matrix that must be finite.
type NonFiniteError struct {
	Row, Col int // the first such element in row-major order, from 0
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("la: the element in row %d, column %d (counted from 1) is not finite", e.Row+1, e.Col+1)
}

// ConvergenceError reports an iteration that has not converged.
type ConvergenceError struct {
	Op    string // the operation, as in "EigenSym"
	Found int    // eigenvalues that it has found before; 0 of an SVD
}

func (e *ConvergenceError) Error() string {
	if e.Op == "SVD" {
		return "la: SVD: the iteration for a singular value has not converged"
	}
	return fmt.Sprintf("la: %s: the iteration for an eigenvalue has not converged, after %d were found", e.Op, e.Found)
}

// OverflowError reports a solution, an inverse or a standard eigenproblem that is out of the range of its type, although
// all operands are finite.
type OverflowError = kernels.OverflowError

// NotPositiveDefiniteError reports a symmetric matrix that has no Cholesky
// factorization.
type NotPositiveDefiniteError = kernels.NotPositiveDefiniteError

// SingularError reports a matrix without an inverse.
type SingularError struct {
	// Column is the column, from 1, of the first zero on the diagonal of the
	// factor U, or of a triangular or diagonal matrix: LAPACK's info. From [LDL] it is a column
	// of A, which exchanges columns.
	Column int

	diagonal bool // the diagonal is the matrix's own
	pivoted  bool // rows and columns were exchanged: Column is the matrix's own
}

func (e *SingularError) Error() string {
	switch {
	case e.diagonal:
		return fmt.Sprintf("la: matrix is singular: column %d (counted from 1) has a zero on the diagonal", e.Column)
	case e.pivoted:
		return fmt.Sprintf("la: matrix is singular: column %d (counted from 1) is zero or depends on others", e.Column)
	case e.Column == 1:
		return "la: matrix is singular: column 1 (counted from 1) is zero"
	}
	return fmt.Sprintf("la: matrix is singular: column %d (counted from 1) depends on those before it", e.Column)
}

// BreakdownError reports an LU factorization that its pivoting has made useless. Whether that
// happens depends on more than the matrix's condition; partial pivoting never breaks down.
type BreakdownError struct {
	// Column is the column, from 1, in which all candidates for the pivot are zero; 0 if there is
	// none, and the growth is too large.
	Column int
	// Growth and Limit are as in [LUOptions.GrowthLimit].
	Growth, Limit float64
}

func (e *BreakdownError) Error() string {
	if e.Column > 0 {
		return fmt.Sprintf("la: no pivot for column %d (counted from 1) in the rows that may have it; partial pivoting looks in all", e.Column)
	}
	return fmt.Sprintf("la: elements grew by %.3g, the limit is %.3g; partial pivoting is stable", e.Growth, e.Limit)
}

// OptionsError lists everything that is wrong with options: those of an engine, of a factorization or of a call.
type OptionsError = engine.OptionsError
