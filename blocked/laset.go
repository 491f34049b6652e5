package blocked

import (
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Laset submits C = alpha off the diagonal and beta on it, in all of each tile that
// is stored.
//
// Reference: LAPACK xLASET.
func (p *Program[T]) Laset(alpha, beta T, c *Matrix[T]) error {
	off := &op.Laset{Uplo: blas.All, Alpha: float64(alpha), Beta: float64(alpha)}
	diagonal := &op.Laset{Uplo: blas.All, Alpha: float64(alpha), Beta: float64(beta)}
	o := p.operand(c)
	for i, j := range c.StoredTiles() {
		params := off
		if i == j {
			params = diagonal
		}
		p.submit(p.ops.laset, params, 0, out(o.tile(i, j)))
	}
	return p.err
}
