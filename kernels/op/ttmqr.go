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
	op := versions.Op{Name: "ttmqr", Work: ttmqrWork[T], NewParams: fresh[Ttmqr]}
	return tpmqrtOp[T](op, "Q of ttqrt times two tiles", true,
		func(call *versions.Call) *Tsmqr { return (*Tsmqr)(params[Ttmqr](call)) })
}

// ttmqrWork returns 2·n·r·(2k−r) for the r ≤ k rows of V that take part.
func ttmqrWork[T kernels.Element](call *versions.Call) float64 {
	p := (*Tsmqr)(params[Ttmqr](call))
	v, _, _, c2, rows := tpmqrtOf[T](call, p, true)
	_, n := factorOrder(p.Side, c2.Rows, c2.Cols)
	return 2 * float64(n) * float64(rows) * float64(2*v.Cols-rows)
}
