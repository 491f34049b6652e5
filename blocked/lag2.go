package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Lag2s submits B = A·D, rounded to float32. D is the diagonal matrix with the elements d, one for
// each column of A, or the identity if d is nil. A and B have the same kind, shape and tile size.
// Elements that are too large for float32 become infinite.
//
// B must be an operand of no other Program of the job, nor of another call of p unless that is
// Lag2s or Lag2d with the same float32 matrix.
//
// It panics with ErrKind if the kinds differ, and with ErrShape if the shapes or tile sizes differ
// or d has another length.
//
// Reference: LAPACK DLAG2S, DLAT2S.
func Lag2s[T Element](p *Program[T], a *Matrix[T], d []float64, b *Matrix[float32]) error {
	scale := lag(p, a, d, b)
	from, to := p.tasks.Reads(a), foreign(p, b, true)
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(p.tasks.Op("lag2s"), &op.Lag2s{}, 0, submit.In(from.Tile(i, j)), submit.In(&scale[j]), submit.Out(&to[i*a.NT()+j]))
	}
	return p.tasks.Err
}

// Lag2d submits B = A·D, or B = B + A·D if add is true, for a float32 matrix A. D, the shapes and
// the panics are those of [Lag2s]. The rule for the float32 matrix holds for A: it must be an
// operand of no other Program of the job, nor of p as another operand.
//
// Reference: LAPACK SLAG2D.
func Lag2d[T Element](p *Program[T], a *Matrix[float32], d []float64, add bool, b *Matrix[T]) error {
	scale := lag(p, b, d, a)
	from, to := foreign(p, a, false), p.tasks.Operand(b)
	params := &op.Lag2d{Add: add}
	for i, j := range b.StoredTiles() {
		target := submit.Out(to.Tile(i, j))
		if add {
			target = submit.InOut(to.Tile(i, j))
		}
		p.tasks.Submit(p.tasks.Op("lag2d"), params, 0, submit.In(&from[i*b.NT()+j]), submit.In(&scale[j]), target)
	}
	return p.tasks.Err
}

// lag checks that a, b and d fit together, and returns D as data, one datum for each tile column.
func lag[T, U Element](p *Program[T], a *Matrix[T], d []float64, b *Matrix[U]) []graph.Datum {
	switch {
	case a.Kind() != b.Kind():
		panic(ErrKind)
	case a.Rows() != b.Rows() || a.Cols() != b.Cols() || a.NB() != b.NB() || d != nil && len(d) != a.Cols():
		panic(ErrShape)
	}
	return p.tasks.NewData("scale", 1, a.NT(), func(_, j int) (versions.Value, int) {
		t := tiles.NewTile[float64](1, min(a.NB(), a.Cols()-j*a.NB()))
		for k := range t.Cols {
			t.Set(0, k, 1)
			if d != nil {
				t.Set(0, k, d[j*a.NB()+k])
			}
		}
		return &t, a.NearestOwner(0, j)
	})
}

// foreign returns the tiles of a float32 matrix as data of p, whose other matrices have elements of
// type T.
func foreign[T, U Element](p *Program[T], a *Matrix[U], written bool) []graph.Datum {
	a.Used(written)
	return p.tasks.Data(a, "single", a.MT(), a.NT(), func(i, j int) (versions.Value, int) {
		if !a.Stored(i, j) {
			return nil, 0
		}
		return a.Tile(i, j), a.NearestOwner(i, j)
	})
}
