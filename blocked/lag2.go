package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// Lag2s submits B = A·D, rounded to float32, for matrices of one kind, shape and tile size and
// a diagonal matrix D of the given elements; nil stands for ones. What is too large becomes
// infinite. B must be used by no other Program of the job.
//
// It panics with ErrKind or ErrShape if the matrices do not fit together.
//
// Reference: LAPACK DLAG2S, DLAT2S.
func Lag2s[T Element](p *Program[T], a *Matrix[T], d []float64, b *Matrix[float32]) error {
	scale := lag(p, a, d, b)
	from, to := p.tasks.Reads(a), foreign(p, b, true)
	for i, j := range a.StoredTiles() {
		p.tasks.Submit(p.tasks.Ops.Lag2s, &op.Lag2s{}, 0, submit.In(from.Tile(i, j)), submit.In(&scale[j]), submit.Out(&to[i*a.NT()+j]))
	}
	return p.tasks.Err
}

// Lag2d submits B = A·D or, if add is true, B = B + A·D, with A, B and D as [Lag2s] has them; here A
// must be used by no other Program of the job, nor by p as another operand.
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
		p.tasks.Submit(p.tasks.Ops.Lag2d, params, 0, submit.In(&from[i*b.NT()+j]), submit.In(&scale[j]), target)
	}
	return p.tasks.Err
}

// lag checks that a and b fit together, and returns D as data, by tile columns.
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

// foreign returns the tiles of a matrix of other elements than p's as data.
func foreign[T, U Element](p *Program[T], a *Matrix[U], written bool) []graph.Datum {
	a.Used(written)
	return p.tasks.Data(a, "single", a.MT(), a.NT(), func(i, j int) (versions.Value, int) {
		if !a.Stored(i, j) {
			return nil, 0
		}
		return a.Tile(i, j), a.NearestOwner(i, j)
	})
}
