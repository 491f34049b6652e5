package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/versions"
)

// Asum submits tasks that add the magnitudes of the elements of A, each where its tile is. Only
// the triangle of a triangular A counts. The caller must not use the result before the job's
// Wait.
func (p *Program[T]) Asum(a *Matrix[T]) (*Sums[T], error) { return p.sumMagnitudes(a, a.Kind()) }

// AsumUpper is [Program.Asum] of the upper triangle or trapezoid of a Full matrix A, such as R
// after Geqrf. It panics with ErrKind if A is not Full.
func (p *Program[T]) AsumUpper(a *Matrix[T]) (*Sums[T], error) {
	if a.Kind() != Full {
		panic(ErrKind)
	}
	return p.sumMagnitudes(a, TriUpper)
}

// sumMagnitudes submits tasks that add the magnitudes of the elements of A. With kind TriUpper only the
// upper triangle or trapezoid of A counts, else kind is that of A.
func (p *Program[T]) sumMagnitudes(a *Matrix[T], kind Kind) (*Sums[T], error) {
	s := tiles.NewSums(a, kind)
	p.measure(a, p.tasks.Op("asum"), "sums", func(i, j int) (*Tile[float64], any) { return s.Tile(i, j) })
	return s, p.tasks.Err
}

// ColumnMax submits tasks that find the largest magnitude in each column of a Full matrix A. It is
// [Matrix.ColumnMax] as tasks, each of which runs where its tile is. The caller must not use the
// result before the job's Wait. It panics with ErrKind if A is not Full.
func (p *Program[T]) ColumnMax(a *Matrix[T]) (*Magnitudes[T], error) {
	if a.Kind() != Full {
		panic(ErrKind)
	}
	return p.lange(a, tiles.NewMaxima(a))
}

// Lassq submits tasks that add the squares of the elements of A, each where its tile is. The caller
// must not use the result before the job's Wait.
//
// Reference: LAPACK xLASSQ.
func (p *Program[T]) Lassq(a *Matrix[T]) (*Magnitudes[T], error) {
	return p.lange(a, tiles.NewSquares(a))
}

// lange submits tasks that compute m of A.
func (p *Program[T]) lange(a *Matrix[T], m *Magnitudes[T]) (*Magnitudes[T], error) {
	p.measure(a, p.tasks.Op("lange"), "magnitudes", func(i, j int) (*Tile[float64], any) { return m.Tile(i, j) })
	return m, p.tasks.Err
}

// measure submits a task of op for each stored tile (i, j) of A that counts. result returns where the task of
// the tile writes its numbers, and the parameter of the task; nil means that the tile does not count. The data
// of all results get the given name.
func (p *Program[T]) measure(a *Matrix[T], op *versions.Op, name string, result func(i, j int) (*Tile[float64], any)) {
	o := p.tasks.Reads(a)
	data := p.tasks.NewData(name, a.MT(), a.NT(), func(i, j int) (versions.Value, int) {
		t, _ := result(i, j)
		if t == nil {
			return nil, 0
		}
		return t, a.NearestOwner(i, j)
	})
	for i, j := range a.StoredTiles() {
		if t, params := result(i, j); t != nil {
			p.tasks.Submit(op, params, 0, submit.In(o.Tile(i, j)), submit.Out(&data[i*a.NT()+j]))
		}
	}
}
