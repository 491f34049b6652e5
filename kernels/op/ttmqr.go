package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Ttmqr is the parameter of op "ttmqr" (LAPACK xTPMQRT with L = min(m, n)). It is like
// op "tsmqr", for the orthogonal factor of op "ttqrt". For an m×n V, C2 has at least
// min(m, n) rows (Left) or columns (Right); the first min(m, n) take part. Tasks share
// V and T packed ([kernels.Packings]).
type Ttmqr struct {
	Side  blas.Side
	Trans blas.Transpose
	IB    int
}

// Validate returns an error if a field is out of range.
func (p *Ttmqr) Validate() error { return check("ttmqr", p) }

// ttmqrOp defines op "ttmqr".
func ttmqrOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op: versions.Op{Name: "ttmqr", Work: ttmqrWork[T], NewParams: fresh[Ttmqr], Thin: thin[T],
			Derive: sharePacked[T](asFactor, -1)},
		about: "Q of ttqrt times two tiles",
		host: func(i implementation[T]) versions.Version {
			return versions.Version{Run: func(call *versions.Call) error {
				return tpmqrt(i.qr, call, (*Tsmqr)(params[Ttmqr](call)), true)
			}, Help: helpWith[T](i.qr, ttmqrWork[T])}
		},
		cuda: versions.Version{Run: cudaTtmqr[T], Memory: cudaTtmqrMemory[T]},
	}
}

// ttmqrWork returns 2·n·r·(2k−r) for the r ≤ k rows of V that take part.
func ttmqrWork[T kernels.Element](call *versions.Call) float64 {
	p := (*Tsmqr)(params[Ttmqr](call))
	v, _, _, c2, rows := tpmqrtOf[T](call, p, true)
	_, n := factorOrder(p.Side, c2.Rows, c2.Cols)
	return 2 * float64(n) * float64(rows) * float64(2*v.Cols-rows)
}

// cudaTtmqr is the function of version "cuda" of op "ttmqr". V is a unit matrix,
// which meets C1, on top of an upper trapezoid, which meets C2.
func cudaTtmqr[T kernels.Element](call *versions.Call) error {
	return cudaTpmqrt[T](call, (*Tsmqr)(params[Ttmqr](call)), true)
}

// cudaTtmqrMemory returns the bytes of scratch memory that cudaTtmqr needs.
func cudaTtmqrMemory[T kernels.Element](call *versions.Call) int64 {
	return cudaTpmqrtMemory[T](call, (*Tsmqr)(params[Ttmqr](call)), true)
}
