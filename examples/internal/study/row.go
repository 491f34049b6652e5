package study

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Row is all values that the tasks of a study use. A node that is to write one has to know its
// length, and parts of a row are rows.
type Row struct{ X []float64 }

// Bytes implements versions.Value, as the next ones do.
func (r *Row) Bytes() int64 { return int64(8 * len(r.X)) }

// Snapshot returns a copy.
func (r *Row) Snapshot() versions.Value { return &Row{slices.Clone(r.X)} }

// Restore copies a copy back.
func (r *Row) Restore(s versions.Value) { copy(r.X, s.(*Row).X) }

// Encode writes the numbers.
func (r *Row) Encode(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r.X) }

// Decode reads as many as there are to be.
func (r *Row) Decode(from io.Reader) error { return binary.Read(from, binary.LittleEndian, r.X) }

// Shape implements versions.Shaped: the length.
func (r *Row) Shape() []byte { return binary.AppendUvarint(nil, uint64(len(r.X))) }

// Reshape makes a row of zeros of that length.
func (r *Row) Reshape(shape []byte) error {
	n, size := binary.Uvarint(shape)
	if size != len(shape) || n > 1<<28 {
		return errors.New("this is no length of a row")
	}
	r.X = make([]float64, n)
	return nil
}

// Datum returns numbers as a datum.
func Datum(x []float64) *graph.Datum {
	return &graph.Datum{Value: &Row{x}, Bytes: int64(8 * len(x))}
}

// In returns a datum as an operand that is read.
func In(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.In} }

// Out returns a datum as an operand that is written.
func Out(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.Out} }

// InOut returns a datum as an operand that is read and written.
func InOut(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// Op returns an op with one version, in Go, whose parameter is a P and whose operands are rows.
func Op[P any](name string, run func(c *versions.Call, p *P, args [][]float64) error) *versions.Op {
	return &versions.Op{Name: name, NewParams: func() any { return new(P) }, Versions: []versions.Version{{
		Name: "go", Run: func(c *versions.Call) error {
			args := make([][]float64, len(c.Args))
			for i, a := range c.Args {
				args[i] = a.(*Row).X
			}
			return run(c, c.Params.(*P), args)
		}}}}
}
