package kernels

import (
	"bytes"
	"fmt"

	"github.com/tessera-la/tessera/internal/wire"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
)

// Values returns a value of each type that operands of this package's ops have, without
// memory: by them another node knows what it is sent.
func Values() []versions.Value {
	return []versions.Value{
		&Tile[float32]{}, &Tile[float64]{}, &Pivots{}, &Candidates[float32]{}, &Candidates[float64]{},
	}
}

// Errors returns an error of each type that ops of this package return, by pointer: so
// that one which comes from another node can be what it was.
func Errors() []error {
	return []error{&NotPositiveDefiniteError{}, &OverflowError{}, &ValueError{}, &tridiag.ConvergenceError{}}
}

// Shape implements [versions.Shaped]: it is the header of what Encode writes.
func (t *Tile[T]) Shape() []byte { return t.header().bytes() }

// shapeOf reads a shape.
func (t *Tile[T]) shapeOf(shape []byte) (h header, err error) {
	r := bytes.NewReader(shape)
	h, err = readHeader(r, tileValue, t.elementSize())
	if err == nil && (h.info != 0 || r.Len() > 0) {
		err = &ValueError{tileValue.String(), fmt.Sprintf("a shape of %d bytes with info %d", len(shape), h.info)}
	}
	return h, err
}

// Measure implements [versions.Measured].
func (t *Tile[T]) Measure(shape []byte) (int64, error) {
	h, err := t.shapeOf(shape)
	return int64(h.rows) * int64(h.cols) * int64(h.size), err
}

// Reshape implements [versions.Shaped]. The error is a *[ValueError], or that of a shape
// that is cut short.
func (t *Tile[T]) Reshape(shape []byte) error {
	h, err := t.shapeOf(shape)
	if err != nil {
		return err
	}
	*t = Tile[T]{Rows: h.rows, Cols: h.cols, Stride: max(1, h.cols)}
	t.allocate()
	return nil
}

// Shape implements [versions.Shaped]: it is the header of what Encode writes.
func (v *Pivots) Shape() []byte {
	return header{kind: pivotsValue, size: 8, rows: len(v.Rows), cols: 1}.bytes()
}

// shapeOf reads a shape.
func (v *Pivots) shapeOf(shape []byte) (h header, err error) {
	h, err = readHeader(bytes.NewReader(shape), pivotsValue, 8)
	if err == nil && (h.cols != 1 || len(shape) != wire.HeaderBytes) {
		err = &ValueError{pivotsValue.String(), fmt.Sprintf("a shape of %d bytes with %d columns", len(shape), h.cols)}
	}
	return h, err
}

// Measure implements [versions.Measured].
func (v *Pivots) Measure(shape []byte) (int64, error) {
	h, err := v.shapeOf(shape)
	return 8 * int64(h.rows), err
}

// Reshape implements [versions.Shaped]. The error is a *[ValueError], or that of a shape
// that is cut short.
func (v *Pivots) Reshape(shape []byte) error {
	h, err := v.shapeOf(shape)
	if err != nil {
		return err
	}
	v.Rows, v.Info = make([]int, h.rows), 0
	return nil
}
