package cpu

import "gonum.org/v1/gonum/blas"

// Error is the type of the constants that the routines panic with when they
// are misused.
type Error string

func (e Error) Error() string { return string(e) }

// Misuse of the routines.
const (
	ErrTranspose Error = "cpu: bad transpose"
	ErrUplo      Error = "cpu: bad uplo"
	ErrSide      Error = "cpu: bad side"
	ErrDiag      Error = "cpu: bad diag"
	ErrDim       Error = "cpu: negative dimension"
	ErrStride    Error = "cpu: leading dimension smaller than the row"
	ErrShort     Error = "cpu: slice too short for its matrix"
	ErrWork      Error = "cpu: scratch too short"
	ErrPivots    Error = "cpu: pivots do not fit the panel"
	ErrBlocks    Error = "cpu: first block of a panel has fewer rows than there are pivots"
	ErrNoThreads Error = "cpu: this build has no calls of several threads"
)

func checkTranspose(t blas.Transpose) (transposed bool) {
	switch t {
	case blas.NoTrans:
		return false
	case blas.Trans, blas.ConjTrans:
		return true
	}
	panic(ErrTranspose)
}

func checkUplo(u blas.Uplo) {
	if u != blas.Lower && u != blas.Upper {
		panic(ErrUplo)
	}
}

func checkSide(s blas.Side) {
	if s != blas.Left && s != blas.Right {
		panic(ErrSide)
	}
}

func checkDiag(d blas.Diag) {
	if d != blas.Unit && d != blas.NonUnit {
		panic(ErrDiag)
	}
}

// checkWork panics unless scratch of n elements is enough.
func checkWork(n, need int) {
	if n < need {
		panic(ErrWork)
	}
}

// checkMatrix panics unless an r×c matrix with leading dimension ld fits into
// n elements.
func checkMatrix(r, c, n, ld int) {
	if r < 0 || c < 0 {
		panic(ErrDim)
	}
	if ld < max(1, c) {
		panic(ErrStride)
	}
	if r > 0 && c > 0 && n < (r-1)*ld+c {
		panic(ErrShort)
	}
}
