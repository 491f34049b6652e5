package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Ttqrt is the parameter of op "ttqrt" (LAPACK xTPQRT with L = min(m, n)). It is like
// op "tsqrt", but reads and writes only the upper triangle of the m×n tile A, or its
// trapezoid if m < n. Below the diagonal the tile may hold another V.
type Ttqrt struct {
	IB int
}

// Validate returns an error if a field is out of range.
func (p *Ttqrt) Validate() error { return check("ttqrt", p) }

// ttqrtOp defines op "ttqrt".
func ttqrtOp[T kernels.Element]() definition[T] {
	op := versions.Op{Name: "ttqrt", Work: ttqrtWork[T], NewParams: fresh[Ttqrt]}
	return tpqrtOp[T](op, "QR of a triangle upon a triangle", true,
		func(call *versions.Call) *Tsqrt { return (*Tsqrt)(params[Ttqrt](call)) })
}

// ttqrtWork returns 2·k²·n − 4/3·k³ + 2·k·(n−k)² for k = min(m, n).
func ttqrtWork[T kernels.Element](call *versions.Call) float64 {
	_, a, _ := tpqrtOf[T](call, (*Tsqrt)(params[Ttqrt](call)))
	n, k := float64(a.Cols), float64(min(a.Rows, a.Cols))
	return 2*k*k*n - 4*k*k*k/3 + 2*k*(n-k)*(n-k)
}
