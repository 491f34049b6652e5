package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Plrnt submits tasks that overwrite A with random numbers, each tile on its owner:
//
//	a(i, j) = u(seed, i, j) + (bump if i = j),  -½ ≤ u < ½.
//
// The numbers do not depend on the tile size or the nodes. A symmetric A with a bump of at least its
// order is positive definite. The whole diagonal tiles of a triangular A are overwritten.
//
// Reference: PLASMA's plasma_dplrnt and plasma_dplghe.
func (p *Program[T]) Plrnt(a *Matrix[T], seed uint64, bump float64) error {
	o := p.tasks.Operand(a)
	symmetric := a.Kind() == SymLower || a.Kind() == SymUpper
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(p.tasks.Ops.Plrnt, &op.Plrnt{Seed: seed, Row: i * a.NB(), Col: j * a.NB(), Bump: bump, Symmetric: symmetric}, 0, submit.Out(o.Tile(i, j)))
	}
	return p.tasks.Err
}

// Generate submits a task of an op of the program for each stored tile of A. The parameter of the
// task for tile (i, j), whose first element is a(i·nb, j·nb), is the result of params(i, j). The tile
// is the task's only operand, and the task overwrites it.
func (p *Program[T]) Generate(a *Matrix[T], op *versions.Op, params func(i, j int) any) error {
	o := p.tasks.Operand(a)
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(op, params(i, j), 0, submit.Out(o.Tile(i, j)))
	}
	return p.tasks.Err
}

// Inspect is [Program.Generate] for an op that reads the tile instead of writing it.
func (p *Program[T]) Inspect(a *Matrix[T], op *versions.Op, params func(i, j int) any) error {
	o := p.tasks.Reads(a)
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(op, params(i, j), 0, submit.In(o.Tile(i, j)))
	}
	return p.tasks.Err
}

// Sums is the result of [Program.Asum]: a few numbers for each tile of a matrix.
type Sums[T Element] struct {
	a     *Matrix[T]
	kind  Kind      // TriUpper if only the upper triangle counts, else the kind of a
	tiles []Tile[T] // sums of columns and of rows
}

// Asum submits tasks that add the magnitudes of the elements of A, each where its tile is. Only
// the triangle of a triangular A counts. The caller must not use the result before the job's
// Wait.
func (p *Program[T]) Asum(a *Matrix[T]) (*Sums[T], error) { return p.asum(a, a.Kind()) }

// AsumUpper is [Program.Asum] of the upper triangle or trapezoid of a Full matrix A, such as R
// after Geqrf. It panics with ErrKind if A is not Full.
func (p *Program[T]) AsumUpper(a *Matrix[T]) (*Sums[T], error) {
	if a.Kind() != Full {
		panic(ErrKind)
	}
	return p.asum(a, TriUpper)
}

func (p *Program[T]) asum(a *Matrix[T], kind Kind) (*Sums[T], error) {
	o := p.tasks.Reads(a)
	s := &Sums[T]{a, kind, make([]Tile[T], a.MT()*a.NT())}
	sums := p.tasks.NewData("sums", a.MT(), a.NT(), func(i, j int) (versions.Value, int) {
		if !s.counts(i, j) {
			return nil, 0
		}
		t := &s.tiles[i*a.NT()+j]
		r, c := a.TileDims(i, j)
		*t = tiles.NewTile[T](3, max(r, c))
		return t, a.NearestOwner(i, j)
	})
	for i, j := range a.StoredTiles() {
		if !s.counts(i, j) {
			continue
		}
		x := &op.Asum{Uplo: blas.All}
		if i == j && kind != Full {
			x.Uplo, x.Symmetric = kind.Uplo(), kind == SymLower || kind == SymUpper
		}
		p.tasks.Submit(p.tasks.Ops.Asum, x, 0, submit.In(o.Tile(i, j)), graph.Operand{Datum: &sums[i*a.NT()+j], Mode: graph.Out})
	}
	return s, p.tasks.Err
}

// counts reports whether tile (i, j) counts in the sums.
func (s *Sums[T]) counts(i, j int) bool { return s.a.Stored(i, j) && (s.kind != TriUpper || i <= j) }

// Norm1 returns the 1-norm, the largest sum of a column. It is NaN if there is a NaN, else +Inf
// if there is an infinity or a sum is out of range.
func (s *Sums[T]) Norm1() float64 { return s.norm(0) }

// NormInf returns the ∞-norm, the largest sum of a row, with the rules of Norm1.
func (s *Sums[T]) NormInf() float64 { return s.norm(1) }

// Max returns the largest magnitude, unless there is a NaN.
func (s *Sums[T]) Max() (top float64) {
	for i, j := range s.a.StoredTiles() {
		if t := &s.tiles[i*s.a.NT()+j]; t.Cols > 0 {
			top = max(top, float64(t.At(2, 0)))
		}
	}
	return top
}

// NonFinite returns the first element, by rows, that is infinite or NaN; ok is false if there is
// none. It reads the tiles of A whose sums are not finite, so A must not have changed since.
func (s *Sums[T]) NonFinite() (row, col int, ok bool) {
	return s.a.FirstNonFinite(func(i, j int) bool {
		total := 0.0
		for _, v := range s.tiles[i*s.a.NT()+j].Row(0) {
			total += float64(v)
		}
		return total-total != 0
	})
}

// Columns returns the sum of each column.
func (s *Sums[T]) Columns() []float64 { return s.lines(0)[:s.a.Cols()] }

// Rows returns the sum of each row.
func (s *Sums[T]) Rows() []float64 { return s.lines(1)[:s.a.Rows()] }

// lines returns the sums of the columns (line 0) or rows (line 1), followed by zeros.
func (s *Sums[T]) lines(line int) []float64 {
	a := s.a
	sums := make([]float64, max(a.Rows(), a.Cols()))
	add := func(t *Tile[T], line, first, n int) {
		for k, v := range t.Row(line)[:n] {
			sums[first+k] += float64(v)
		}
	}
	for i, j := range a.StoredTiles() {
		if !s.counts(i, j) {
			continue
		}
		t := &s.tiles[i*a.NT()+j]
		r, c := a.TileDims(i, j)
		first, n := j*a.NB(), c
		if line == 1 {
			first, n = i*a.NB(), r
		}
		add(t, line, first, n)
		if i != j && (s.kind == SymLower || s.kind == SymUpper) { // and the mirror image
			first, n = i*a.NB(), r
			if line == 1 {
				first, n = j*a.NB(), c
			}
			add(t, 1-line, first, n)
		}
	}
	return sums
}

// norm returns the largest sum of the columns (line 0) or rows (line 1).
func (s *Sums[T]) norm(line int) (norm float64) {
	for _, v := range s.lines(line) {
		if !(v <= norm) {
			norm = v // also a NaN, which then stays
		}
		if norm != norm {
			break
		}
	}
	return norm
}
