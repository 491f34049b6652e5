package study

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Row is the value type of all tasks of a study. A node that writes a row must know its length. Parts of a row
// are rows.
type Row struct{ X []float64 }

// Bytes implements versions.Value, like the next four methods.
func (r *Row) Bytes() int64 { return int64(8 * len(r.X)) }

// Snapshot returns a copy.
func (r *Row) Snapshot() versions.Value { return &Row{slices.Clone(r.X)} }

// Restore restores a copy.
func (r *Row) Restore(s versions.Value) { copy(r.X, s.(*Row).X) }

// Encode writes the numbers.
func (r *Row) Encode(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r.X) }

// Decode reads as many numbers as the row has.
func (r *Row) Decode(from io.Reader) error { return binary.Read(from, binary.LittleEndian, r.X) }

// Shape implements versions.Shaped. It encodes the length.
func (r *Row) Shape() []byte { return binary.AppendUvarint(nil, uint64(len(r.X))) }

// Reshape makes a row of zeros of the encoded length.
func (r *Row) Reshape(shape []byte) error {
	n, size := binary.Uvarint(shape)
	if size != len(shape) || n > 1<<28 {
		return errors.New("this is no length of a row")
	}
	r.X = make([]float64, n)
	return nil
}

// Datum returns a datum whose value is the row x.
func Datum(x []float64) *graph.Datum {
	return &graph.Datum{Value: &Row{x}, Bytes: int64(8 * len(x))}
}

// In returns a datum as an operand that is read.
func In(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.In} }

// Out returns a datum as an operand that is written.
func Out(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.Out} }

// InOut returns a datum as an operand that is read and written.
func InOut(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// Op returns an op with one version, in Go. Its parameter is a P and its operands are rows.
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
