package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// part is what data of a Program are made of once: a matrix, its pivots, or what
// of rotations has that name.
type part struct {
	of   any
	name string
}

// data returns the values of x as data, those of rows×cols elements. The same x
// gives the same data, so that dependencies carry over from algorithm to algorithm.
func (p *Program[T]) data(x part, rows, cols int, value func(i, j int) (v versions.Value, owner int)) []graph.Datum {
	d, ok := p.known[x]
	if !ok {
		d = p.newData(x.name, rows, cols, value)
		p.known[x] = d
	}
	return d
}

// newData returns values, by rows, as data that nobody else has; where value
// returns nil there is none. Their keys have a number of their own, the next one.
func (p *Program[T]) newData(name string, rows, cols int, value func(i, j int) (v versions.Value, owner int)) []graph.Datum {
	p.matrices++
	data := make([]graph.Datum, rows*cols)
	for k := range data {
		i, j := k/cols, k%cols
		if v, owner := value(i, j); v != nil {
			setDatum(&data[k], name, p.matrices, i, j, owner, v)
		}
	}
	return data
}

// datum returns v as one datum of its own.
func (p *Program[T]) datum(name string, v versions.Value) *graph.Datum {
	p.matrices++
	d := new(graph.Datum)
	setDatum(d, name, p.matrices, 0, 0, 0, v)
	return d
}

func setDatum(d *graph.Datum, name string, matrix uint32, i, j, owner int, v versions.Value) {
	d.Value, d.Bytes, d.Owner = v, v.Bytes(), int32(owner)
	d.Name, d.Key = name, graph.Key{Matrix: matrix, I: int32(i), J: int32(j)}
}

// operand is a Matrix as data of tasks.
type operand[T Element] struct {
	*Matrix[T]
	data []graph.Datum
}

// operand returns a, which tasks may write, as data.
func (p *Program[T]) operand(a *Matrix[T]) *operand[T] { return p.operandOf(a, true) }

// reads returns a, which tasks will only read, as data.
func (p *Program[T]) reads(a *Matrix[T]) *operand[T] { return p.operandOf(a, false) }

func (p *Program[T]) operandOf(a *Matrix[T], written bool) *operand[T] {
	a.Used(written)
	if a.IsView() && a.Rows() > 0 && a.Cols() > 0 {
		p.alone(a, a.Tile(0, 0), a.Rows(), a.Cols(), written)
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
			setDatum(&data[a.Spot(i, j)], name, p.matrices, i, j, a.NearestOwner(i, j), a.Tile(i, j))
		}
		p.known[x] = data
	}
	return &operand[T]{a, p.known[x]}
}

// Operand returns tile (i, j) of a as an operand of a task of the program's own, which it submits
// to the job itself, in the order of the Program's. It panics as [Matrix.Tile] does.
func (p *Program[T]) Operand(a *Matrix[T], i, j int, mode graph.Mode) graph.Operand {
	return graph.Operand{Datum: p.operandOf(a, mode != graph.In).tile(i, j), Mode: mode}
}

// Data returns values as data for operands of such tasks, which are told to people by a name, and
// belong to the process of that number.
func (p *Program[T]) Data(name string, owner int, values ...versions.Value) []graph.Datum {
	return p.newData(name, 1, len(values), func(_, j int) (versions.Value, int) { return values[j], owner })
}

// tile returns tile (i, j) as a datum.
func (o *operand[T]) tile(i, j int) *graph.Datum {
	o.Tile(i, j) // panics unless it is stored
	return &o.data[o.Spot(i, j)]
}

func in(d *graph.Datum) graph.Operand    { return graph.Operand{Datum: d, Mode: graph.In} }
func out(d *graph.Datum) graph.Operand   { return graph.Operand{Datum: d, Mode: graph.Out} }
func inout(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }
