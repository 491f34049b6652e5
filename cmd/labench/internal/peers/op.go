package peers

import (
	"fmt"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// Op is what is compared.
type Op uint8

// The operations.
const (
	Gemm         Op = iota // C = A·B: xGEMM
	Cholesky               // A = L·Lᵀ: xPOTRF
	LU                     // A = P·L·U: xGETRF
	QR                     // A = Q·R: xGEQRF
	Solve                  // A·x = b by LU: xGESV
	SolveSPD               // A·x = b by Cholesky: xPOSV
	LeastSquares           // min ‖b−A·x‖: xGELS
)

// Ops returns all operations.
func Ops() []Op { return []Op{Gemm, Cholesky, LU, QR, Solve, SolveSPD, LeastSquares} }

func (o Op) String() string {
	names := [...]string{"gemm", "cholesky", "lu", "qr", "solve", "solve-spd", "lstsq"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Takes reports whether o takes matrices of a size: those of systems and
// products are square, and those of least squares not wider than high.
func (o Op) Takes(s Size) bool {
	switch o {
	case LU, QR:
		return true
	case LeastSquares:
		return s.M >= s.N
	}
	return s.M == s.N
}

// Size is the shape of A, M×N.
type Size struct{ M, N int }

// Square returns the size of an n×n matrix.
func Square(n int) Size { return Size{n, n} }

// String returns "1024" or "65536x512".
func (s Size) String() string {
	if s.M == s.N {
		return fmt.Sprint(s.N)
	}
	return fmt.Sprintf("%dx%d", s.M, s.N)
}

// flops returns the operations of o on matrices of a size, as LAPACK's timings
// count them but for terms of the order of n.
func (o Op) flops(s Size) float64 {
	m, n := float64(s.M), float64(s.N)
	k := min(m, n)
	// The leading terms of a factorization by columns.
	factor := m*n*k - (m+n)*k*k/2 + k*k*k/3
	switch o {
	case Gemm:
		return 2 * n * n * n
	case Cholesky:
		return n*n*n/3 + n*n/2 + n/6
	case QR:
		return 4 * factor
	case Solve:
		return 2*factor - n*k/2 + 2*n*n
	case SolveSPD:
		return n*n*n/3 + n*n/2 + n/6 + 2*n*n
	case LeastSquares:
		return 4*factor + 4*m*n - n*n
	}
	return 2*factor - n*k/2
}

// routine is an operation on its operands, as both sides do it.
type routine[T matgen.Element] interface {
	// ours returns la's call on e, and what judges its last result.
	ours(e *la.Engine) (call func() error, residual func() float64)
	// tile returns la's tile size.
	tile(e *la.Engine) int
	// theirs returns the library's call, which returns LAPACK's info, and what
	// judges its last result; restore puts its operands back before a call.
	// variant is one of variants.
	theirs(lib *library[T], variant byte) (restore func(), call func() (info int), residual func() float64)
	// variants returns one letter for each way to call the library's routine,
	// of which the fastest counts.
	variants() string
	// bound is what passing residuals are below.
	bound() float64
}
