package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// CopyLeading submits B = A(0:m, 0:n) for an m×n matrix B. Both are Full and have the same tile size.
// It panics with ErrKind if one is not Full, and with ErrShape if A is smaller than B, or the tile
// sizes differ.
//
// Reference: LAPACK xLACPY.
func (p *Program[T]) CopyLeading(a, b *Matrix[T]) error { return p.lacpy(a, b, false) }

// CopyUpper is [Program.CopyLeading] for the tiles on and above the diagonal. It leaves the other
// tiles of B unchanged.
func (p *Program[T]) CopyUpper(a, b *Matrix[T]) error { return p.lacpy(a, b, true) }

func (p *Program[T]) lacpy(a, b *Matrix[T], upper bool) error {
	switch {
	case a.Kind() != Full || b.Kind() != Full:
		panic(ErrKind)
	case a.NB() != b.NB() || a.Rows() < b.Rows() || a.Cols() < b.Cols():
		panic(ErrShape)
	}
	from, to := p.tasks.Operand(a), p.tasks.Operand(b)
	whole := &op.Lacpy{Uplo: blas.All}
	for i, j := range b.StoredTiles() {
		if !upper || i <= j {
			p.tasks.Submit(p.tasks.Op("lacpy"), whole, 0, submit.In(from.Tile(i, j)), submit.Out(to.Tile(i, j)))
		}
	}
	return p.tasks.Err
}

// CopyTop submits B = [A; 0]: A in the first rows of B, and zeros in the others. Both are Full, and have
// the same tile size and number of columns. The elements of A must be finite. It panics with ErrKind
// if one is not Full, and with ErrShape if A has more rows than B, or the columns or tile sizes differ.
func (p *Program[T]) CopyTop(a, b *Matrix[T]) error {
	switch {
	case a.Kind() != Full || b.Kind() != Full:
		panic(ErrKind)
	case a.NB() != b.NB() || a.Rows() > b.Rows() || a.Cols() != b.Cols():
		panic(ErrShape)
	}
	from, to := p.tasks.Reads(a), p.tasks.Operand(b)
	whole, zero := &op.Lacpy{Uplo: blas.All}, &op.Laset[T]{Uplo: blas.All}
	product := &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1}
	for i, j := range b.StoredTiles() {
		if i >= a.MT() {
			p.tasks.Submit(p.tasks.Op("laset"), zero, 0, submit.Out(to.Tile(i, j)))
			continue
		}
		high, _ := b.TileDims(i, j)
		if rows, _ := a.TileDims(i, j); rows < high { // the product with the first columns of a unit matrix
			p.tasks.Submit(p.tasks.Op("gemm"), product, 0, submit.In(p.unit(high, rows)), submit.In(from.Tile(i, j)), submit.InOut(to.Tile(i, j)))
			continue
		}
		p.tasks.Submit(p.tasks.Op("lacpy"), whole, 0, submit.In(from.Tile(i, j)), submit.Out(to.Tile(i, j)))
	}
	return p.tasks.Err
}

// Transpose submits B = Aᵀ. The elements of A must be finite. Either both matrices are Full, or A is
// symmetric and B is Full or symmetric. For a symmetric A, B = A: B then has both halves, or the half
// that its kind stores. A and B have the same tile size.
//
// A task transposes a tile by a product with a unit matrix: 2·nb operations for each element.
// Transpose panics with ErrKind for other kinds, and with ErrShape if the shapes or tile sizes do not
// fit.
func (p *Program[T]) Transpose(a, b *Matrix[T]) error {
	symmetric := a.Kind().Symmetric()
	switch {
	case !symmetric && (a.Kind() != Full || b.Kind() != Full), symmetric && b.Kind() != Full && !b.Kind().Symmetric():
		panic(ErrKind)
	case a.NB() != b.NB() || a.Rows() != b.Cols() || a.Cols() != b.Rows():
		panic(ErrShape)
	}
	from, to := p.tasks.Reads(a), p.tasks.Operand(b)
	whole, mirror := &op.Lacpy{Uplo: blas.All}, &op.Lasym{Uplo: a.Kind().Uplo()}
	gemm := &op.Gemm[T]{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: 1}
	units := map[int]*graph.Datum{}
	for i, j := range b.StoredTiles() {
		switch {
		case symmetric && i == j:
			p.tasks.Submit(p.tasks.Op("lasym"), mirror, 0, submit.In(from.Tile(i, i)), submit.Out(to.Tile(i, i)))
		case symmetric && a.Stored(i, j):
			p.tasks.Submit(p.tasks.Op("lacpy"), whole, 0, submit.In(from.Tile(i, j)), submit.Out(to.Tile(i, j)))
		default:
			n, _ := a.TileDims(j, i)
			if units[n] == nil {
				units[n] = p.unit(n, n)
			}
			p.tasks.Submit(p.tasks.Op("gemm"), gemm, 0, submit.In(from.Tile(j, i)), submit.In(units[n]), submit.InOut(to.Tile(i, j)))
		}
	}
	return p.tasks.Err
}

// Whole submits B = A for a Full matrix B of the tile size of A. It writes both halves of a symmetric
// A, and the zeros of a triangular one. The elements of A must be finite. It panics with ErrKind if B
// is not Full, and with ErrShape if the shapes or tile sizes do not fit.
func (p *Program[T]) Whole(a, b *Matrix[T]) error {
	switch a.Kind() {
	case Full:
		return p.CopyLeading(a, b)
	case SymLower, SymUpper:
		return p.Transpose(a, b)
	}
	switch {
	case b.Kind() != Full:
		panic(ErrKind)
	case a.NB() != b.NB() || a.Rows() != b.Rows():
		panic(ErrShape)
	}
	p.Laset(0, 0, b)
	from, to := p.tasks.Reads(a), p.tasks.Operand(b)
	whole, triangle := &op.Lacpy{Uplo: blas.All}, &op.Lacpy{Uplo: a.Kind().Uplo()}
	for i, j := range a.StoredTiles() {
		if i == j {
			p.tasks.Submit(p.tasks.Op("lacpy"), triangle, 0, submit.In(from.Tile(i, j)), submit.InOut(to.Tile(i, j)))
		} else {
			p.tasks.Submit(p.tasks.Op("lacpy"), whole, 0, submit.In(from.Tile(i, j)), submit.Out(to.Tile(i, j)))
		}
	}
	return p.tasks.Err
}

// unit returns the first n columns of the unit matrix of order m.
func (p *Program[T]) unit(m, n int) *graph.Datum {
	t := tiles.NewTile[T](m, n)
	for i := range min(m, n) {
		t.Set(i, i, 1)
	}
	return p.tasks.Datum("unit", &t)
}

// Lascl submits C = beta·C on the stored part of C. With beta = 0, C is not read.
//
// Reference: LAPACK xLASCL.
func (p *Program[T]) Lascl(beta T, c *Matrix[T]) error { return p.scale(beta, c) }
