package submit

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// part is what data of a Program are made of once: a matrix, its pivots, or what
// of rotations has that name.
type part struct {
	of   any
	name string
}

// Data returns the values of x, or what of it has that name, as data: those of rows×cols
// elements. The same gives the same data, so that dependencies carry over from algorithm to algorithm.
func (p *Tasks[T]) Data(of any, name string, rows, cols int, value func(i, j int) (v versions.Value, owner int)) []graph.Datum {
	x := part{of, name}
	d, ok := p.known[x]
	if !ok {
		d = p.NewData(name, rows, cols, value)
		p.known[x] = d
	}
	return d
}

// NewData returns values, by rows, as data that nobody else has; where value
// returns nil there is none. Their keys have a number of their own, the next one.
func (p *Tasks[T]) NewData(name string, rows, cols int, value func(i, j int) (v versions.Value, owner int)) []graph.Datum {
	p.Matrices++
	data := make([]graph.Datum, rows*cols)
	for k := range data {
		i, j := k/cols, k%cols
		if v, owner := value(i, j); v != nil {
			SetDatum(&data[k], name, p.Matrices, i, j, owner, v)
		}
	}
	return data
}

// Datum returns v as one datum of its own.
func (p *Tasks[T]) Datum(name string, v versions.Value) *graph.Datum {
	p.Matrices++
	d := new(graph.Datum)
	SetDatum(d, name, p.Matrices, 0, 0, 0, v)
	return d
}

// SetDatum makes d the datum of v, tile (i, j) of the matrix with that number.
func SetDatum(d *graph.Datum, name string, matrix uint32, i, j, owner int, v versions.Value) {
	d.Value, d.Bytes, d.Owner = v, v.Bytes(), int32(owner)
	d.Name, d.Key = name, graph.Key{Matrix: matrix, I: int32(i), J: int32(j)}
}

// Operand is a Matrix as data of tasks.
type Operand[T tiles.Element] struct {
	*tiles.Matrix[T]
	Data []graph.Datum
}

// Operand returns a, which tasks may write, as data.
func (p *Tasks[T]) Operand(a *tiles.Matrix[T]) *Operand[T] { return p.OperandOf(a, true) }

// Reads returns a, which tasks will only read, as data.
func (p *Tasks[T]) Reads(a *tiles.Matrix[T]) *Operand[T] { return p.OperandOf(a, false) }

// OperandOf returns a, which tasks may write if written is set, as data.
func (p *Tasks[T]) OperandOf(a *tiles.Matrix[T], written bool) *Operand[T] {
	a.Used(written)
	if a.IsView() && a.Rows() > 0 && a.Cols() > 0 {
		p.Alone(a, a.Tile(0, 0), a.Rows(), a.Cols(), written)
	}
	x := part{of: a, name: "matrix"}
	if _, ok := p.known[x]; !ok {
		name := x.name
		if p.named < 26 {
			name = string(rune('A' + p.named))
		}
		p.named++
		p.Matrices++
		data := make([]graph.Datum, a.MT()*a.NT())
		for i, j := range a.StoredTiles() {
			SetDatum(&data[a.Spot(i, j)], name, p.Matrices, i, j, a.NearestOwner(i, j), a.Tile(i, j))
		}
		p.known[x] = data
	}
	return &Operand[T]{Matrix: a, Data: p.known[x]}
}

// Tile returns tile (i, j) as a datum.
func (o *Operand[T]) Tile(i, j int) *graph.Datum {
	o.Matrix.Tile(i, j) // panics unless it is stored
	return &o.Data[o.Spot(i, j)]
}

// In returns d as an operand that a task reads.
func In(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.In} }

// Out returns d as an operand that a task overwrites.
func Out(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.Out} }

// InOut returns d as an operand that a task updates.
func InOut(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }
