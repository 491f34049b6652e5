package blocked

import (
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// CopyLeading submits B = the leading block of A that is as large, both Full and in tiles of
// one size. It panics with ErrKind if one is not Full, and with ErrShape if A is smaller than
// B, or their tiles are of unlike sizes.
//
// Reference: LAPACK xLACPY.
func (p *Program[T]) CopyLeading(a, b *Matrix[T]) error { return p.lacpy(a, b, false) }

// CopyUpper is [Program.CopyLeading] of the tiles on and above the diagonal. The others of B
// are as they were.
func (p *Program[T]) CopyUpper(a, b *Matrix[T]) error { return p.lacpy(a, b, true) }

func (p *Program[T]) lacpy(a, b *Matrix[T], upper bool) error {
	switch {
	case a.kind != Full || b.kind != Full:
		panic(ErrKind)
	case a.nb != b.nb || a.rows < b.rows || a.cols < b.cols:
		panic(ErrShape)
	}
	from, to := p.operand(a), p.operand(b)
	whole := &kernels.Lacpy{Uplo: blas.All}
	for i, j := range b.StoredTiles() {
		if !upper || i <= j {
			p.submit(p.ops.Lacpy, whole, 0, in(from.tile(i, j)), out(to.tile(i, j)))
		}
	}
	return p.err
}
