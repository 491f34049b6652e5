package blocked

import (
	"math"

	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Magnitudes is the result of [Program.ColumnMax] or [Program.Lassq]: a few numbers for each tile of a
// matrix.
type Magnitudes[T Element] struct {
	a     *Matrix[T]
	tiles []Tile[float64]
}

// ColumnMax submits tasks that find the largest magnitude in each column of a Full matrix A. It is
// [Matrix.ColumnMax] as tasks, each of which runs where its tile is. The caller must not use the
// result before the job's Wait. It panics with ErrKind if A is not Full.
func (p *Program[T]) ColumnMax(a *Matrix[T]) (*Magnitudes[T], error) {
	if a.Kind() != Full {
		panic(ErrKind)
	}
	return p.lange(a, false)
}

// Lassq submits tasks that add the squares of the elements of A, each where its tile is. The caller
// must not use the result before the job's Wait.
//
// Reference: LAPACK xLASSQ.
func (p *Program[T]) Lassq(a *Matrix[T]) (*Magnitudes[T], error) { return p.lange(a, true) }

func (p *Program[T]) lange(a *Matrix[T], squares bool) (*Magnitudes[T], error) {
	o := p.tasks.Reads(a)
	m := &Magnitudes[T]{a, make([]Tile[float64], a.MT()*a.NT())}
	data := p.tasks.NewData("magnitudes", a.MT(), a.NT(), func(i, j int) (versions.Value, int) {
		if !a.Stored(i, j) {
			return nil, 0
		}
		t := &m.tiles[i*a.NT()+j]
		_, c := a.TileDims(i, j)
		*t = tiles.NewTile[float64](1, max(c, 2))
		return t, a.NearestOwner(i, j)
	})
	for i, j := range a.StoredTiles() {
		x := &op.Lange{Uplo: blas.All, Squares: squares}
		if i == j && a.Kind() != Full {
			x.Uplo, x.Symmetric = a.Kind().Uplo(), a.Kind() == SymLower || a.Kind() == SymUpper
		}
		p.tasks.Submit(p.tasks.Ops.Lange, x, 0, submit.In(o.Tile(i, j)), graph.Operand{Datum: &data[i*a.NT()+j], Mode: graph.Out})
	}
	return m, p.tasks.Err
}

// Columns returns the largest magnitude of each column. m must be a result of ColumnMax.
func (m *Magnitudes[T]) Columns() []float64 {
	tops := make([]float64, m.a.Cols())
	for i, j := range m.a.StoredTiles() {
		_, c := m.a.TileDims(i, j)
		for k, v := range m.tiles[i*m.a.NT()+j].Row(0)[:c] {
			tops[j*m.a.NB()+k] = max(tops[j*m.a.NB()+k], v)
		}
	}
	return tops
}

// Max returns the largest magnitude in tile (i, j). m must be a result of ColumnMax.
func (m *Magnitudes[T]) Max(i, j int) (top float64) {
	for _, v := range m.tiles[i*m.a.NT()+j].Row(0) {
		top = max(top, v)
	}
	return top
}

// Frobenius returns the Frobenius norm. m must be a result of Lassq.
func (m *Magnitudes[T]) Frobenius() float64 {
	var s tiles.Squares
	for i, j := range m.a.StoredTiles() {
		t := &m.tiles[i*m.a.NT()+j]
		q := tiles.Squares{Scale: t.At(0, 0), Sum: t.At(0, 1)}
		if i != j && (m.a.Kind() == SymLower || m.a.Kind() == SymUpper) {
			q.Sum *= 2
		}
		s = s.Add(q)
	}
	return s.Scale * math.Sqrt(s.Sum)
}
