package submit

import (
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Data returns the part of of that has the given name as data, rows×cols of them, made by value as
// [Tasks.NewData] says. Later calls with the same of and name return the same data, so that
// dependencies carry over from algorithm to algorithm.
func (p *Tasks[T]) Data(of any, name string, rows, cols int, value func(i, j int) (v versions.Value, owner int)) []graph.Datum {
	x := part{of, name}
	d, ok := p.known[x]
	if !ok {
		d = p.NewData(name, rows, cols, value)
		p.known[x] = d
	}
	return d
}

// NewData returns new data of rows×cols values, by rows. value returns the value and
// the owner of element (i, j); if the value is nil, the caller sets it later. The keys get
// the next matrix number.
func (p *Tasks[T]) NewData(name string, rows, cols int, value func(i, j int) (v versions.Value, owner int)) []graph.Datum {
	p.matrices++
	data := make([]graph.Datum, rows*cols)
	for k := range data {
		i, j := k/cols, k%cols
		data[k].Name, data[k].Key = name, graph.Key{Matrix: p.matrices, I: int32(i), J: int32(j)}
		if v, owner := value(i, j); v != nil {
			SetValue(&data[k], v, owner)
		}
	}
	return data
}

// Datum returns v as a new datum with a matrix number of its own.
func (p *Tasks[T]) Datum(name string, v versions.Value) *graph.Datum {
	return &p.NewData(name, 1, 1, func(int, int) (versions.Value, int) { return v, 0 })[0]
}

// Empty returns a tile without elements. A product with such operands only scales its
// result.
func (p *Tasks[T]) Empty(rows, cols int) *graph.Datum {
	return p.Datum("empty", &tiles.Tile[T]{Rows: rows, Cols: cols, Stride: max(1, cols)})
}

// SetDatum makes d the datum of v, tile (i, j) of the matrix with that number.
func SetDatum(d *graph.Datum, name string, matrix uint32, i, j, owner int, v versions.Value) {
	d.Name, d.Key = name, graph.Key{Matrix: matrix, I: int32(i), J: int32(j)}
	SetValue(d, v, owner)
}

// SetValue makes v, which the process with that number owns, the value of d.
func SetValue(d *graph.Datum, v versions.Value, owner int) {
	d.Value, d.Bytes, d.Owner = v, v.Bytes(), int32(owner)
}

// Operand is a Matrix with its tiles as data of tasks.
type Operand[T tiles.Element] struct {
	*tiles.Matrix[T]
	Data []graph.Datum
}

// Operand returns a as data that tasks may write.
func (p *Tasks[T]) Operand(a *tiles.Matrix[T]) *Operand[T] { return p.OperandOf(a, true) }

// Reads returns a as data that tasks only read.
func (p *Tasks[T]) Reads(a *tiles.Matrix[T]) *Operand[T] { return p.OperandOf(a, false) }

// OperandOf returns a as data, which tasks may write if written is true. It panics with
// ErrOverlap as [Tasks.Alone] says.
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
		p.matrices++
		data := make([]graph.Datum, a.MT()*a.NT())
		for i, j := range a.StoredTiles() {
			SetDatum(&data[a.Spot(i, j)], name, p.matrices, i, j, a.NearestOwner(i, j), a.Tile(i, j))
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
