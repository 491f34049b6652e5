package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Laset submits C = alpha off the diagonal and beta on it. It overwrites all of each stored tile, also
// the part of a diagonal tile that C does not store.
//
// Reference: LAPACK xLASET.
func (p *Program[T]) Laset(alpha, beta T, c *Matrix[T]) error {
	off := &op.Laset[T]{Uplo: blas.All, Alpha: alpha, Beta: alpha}
	diagonal := &op.Laset[T]{Uplo: blas.All, Alpha: alpha, Beta: beta}
	o := p.tasks.Operand(c)
	for i, j := range c.StoredTiles() {
		params := off
		if i == j {
			params = diagonal
		}
		p.tasks.Submit(p.tasks.Op("laset"), params, 0, submit.Out(o.Tile(i, j)))
	}
	return p.tasks.Err
}
