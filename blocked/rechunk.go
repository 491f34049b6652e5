package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Rechunk submits B = A, where B may be in tiles of another size:
//
//	┌───────┬───────┐      ┌────┬────┬────┐
//	│       │       │      ├────┼────┼────┤
//	│       │       │  ──► ├────┼────┼────┤
//	└───────┴───────┘      └────┴────┴────┘
//
// One task for each tile of B copies it from the tiles of A that overlap it. These are operands of
// the task: about (nb of B / nb of A)² if the tiles of B are larger. If the matrices are distributed,
// a tile of A is sent whole, at most once to each node that needs a part of it, and not through this
// process. Rechunk panics with ErrKind or ErrShape if the kinds or shapes of A and B differ.
func (p *Program[T]) Rechunk(a, b *Matrix[T]) error {
	switch {
	case a.Kind() != b.Kind():
		panic(ErrKind)
	case a.Rows() != b.Rows() || a.Cols() != b.Cols():
		panic(ErrShape)
	}
	from, to := p.tasks.Reads(a), p.tasks.Operand(b)
	for i, j := range b.StoredTiles() {
		m, n := b.TileDims(i, j)
		row, col := i*b.NB(), j*b.NB()
		// These tiles of A overlap tile (i, j). If that is a diagonal tile, they are a square on
		// the diagonal, of which A stores the same half as B. Otherwise A stores all of them.
		top, bottom, left, right := row/a.NB(), (row+m-1)/a.NB(), col/a.NB(), (col+n-1)/a.NB()
		x := &op.Recut{Across: right - left + 1, Row: row - top*a.NB(), Col: col - left*a.NB(), Uplo: blas.All}
		if i == j {
			x.Uplo = a.Kind().Uplo()
		}
		p.tasks.Operands = append(p.tasks.Operands[:0], submit.Out(to.Tile(i, j)))
		for r := top; r <= bottom; r++ {
			for c := left; c <= right; c++ {
				if a.Stored(r, c) {
					p.tasks.Operands = append(p.tasks.Operands, submit.In(from.Tile(r, c)))
				}
			}
		}
		p.tasks.Submit(p.tasks.Op("recut"), x, 0, p.tasks.Operands...)
	}
	return p.tasks.Err
}
