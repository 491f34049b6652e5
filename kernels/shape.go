package kernels

import (
	"bytes"
	"fmt"

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
	return []error{&NotPositiveDefiniteError{}, &ValueError{}}
}

// Shape implements [versions.Shaped]: it is the header of what Encode writes.
func (t *Tile[T]) Shape() []byte { return t.header().bytes() }

// Reshape implements [versions.Shaped]. The error is a *[ValueError], or that of a shape
// that is cut short.
func (t *Tile[T]) Reshape(shape []byte) error {
	r := bytes.NewReader(shape)
	h, err := readHeader(r, tileValue, t.elementSize())
	switch {
	case err != nil:
		return err
	case h.info != 0 || r.Len() > 0:
		return &ValueError{tileValue.String(), fmt.Sprintf("a shape of %d bytes with info %d", len(shape), h.info)}
	}
	*t = Tile[T]{Rows: h.rows, Cols: h.cols, Stride: max(1, h.cols)}
	t.allocate()
	return nil
}

// Shape implements [versions.Shaped]: it is the header of what Encode writes.
func (v *Pivots) Shape() []byte {
	return header{kind: pivotsValue, size: 8, rows: len(v.Rows), cols: 1}.bytes()
}

// Reshape implements [versions.Shaped]. The error is a *[ValueError], or that of a shape
// that is cut short.
func (v *Pivots) Reshape(shape []byte) error {
	h, err := readHeader(bytes.NewReader(shape), pivotsValue, 8)
	switch {
	case err != nil:
		return err
	case h.cols != 1 || len(shape) != headerBytes:
		return &ValueError{pivotsValue.String(), fmt.Sprintf("a shape of %d bytes with %d columns", len(shape), h.cols)}
	}
	v.Rows, v.Info = make([]int, h.rows), 0
	return nil
}
