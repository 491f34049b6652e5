package csr

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/internal/wire"
	"github.com/tessera-la/tessera/versions"
)

// A block is encoded as a header of 28 bytes, and its arrays:
//
//	0      3       4     12       20
//	'csr'  format  rows  columns  entries   rows+1 pointers   columns     elements
//	                                        of 8 bytes each   of 4 bytes  of 8 bytes
//
// Numbers are little-endian.

const blockFormat = 1

// header returns the header of the encoding.
func (s shape) header() []byte {
	return wire.Header([4]byte{'c', 's', 'r', blockFormat}, s.rows, s.cols, s.entries)
}

// readShape reads a header.
func readShape(r io.Reader) (s shape, err error) {
	b, numbers, err := wire.ReadHeader(r)
	if err != nil {
		return s, err
	}
	switch {
	case string(b[:3]) != "csr":
		return s, &StructureError{-1, "no header of a block of rows"}
	case b[3] != blockFormat:
		return s, &StructureError{-1, fmt.Sprintf("a block of format %d, want %d", b[3], blockFormat)}
	}
	for i, p := range [...]*int{&s.rows, &s.cols, &s.entries} {
		n := numbers[i]
		if n < 0 || n > math.MaxInt32 { // an int may have 32 bits
			return s, &StructureError{-1, fmt.Sprintf("a number in the header of a block is out of range: %d", n)}
		}
		*p = int(n)
	}
	return s, s.check()
}

// Bytes implements [versions.Value]. It returns the size of the filled block, even if the block is not filled
// yet.
func (b *Block) Bytes() int64 { return b.bytes() }

// Snapshot implements [versions.Value].
func (b *Block) Snapshot() versions.Value {
	s := &Block{shape: b.shape}
	s.Restore(b)
	return s
}

// Restore implements [versions.Value]. It panics with [ErrShape] if the snapshot is not a block of the same
// shape.
func (b *Block) Restore(snapshot versions.Value) {
	s, ok := snapshot.(*Block)
	if !ok || s.shape != b.shape {
		panic(ErrShape)
	}
	if s.ia == nil {
		b.ia, b.ja, b.data = nil, nil, nil
		return
	}
	b.ia, b.ja, b.data = append(b.ia[:0], s.ia...), append(b.ja[:0], s.ja...), append(b.data[:0], s.data...)
}

// Shape implements [versions.Shaped]. It returns the header that Encode writes.
func (b *Block) Shape() []byte { return b.header() }

// Reshape implements [versions.Shaped]. The block gets its memory later, when it is filled. The error is a
// *[StructureError], or io.ErrUnexpectedEOF or io.EOF if the header is cut short.
func (b *Block) Reshape(header []byte) error {
	s, err := readShape(bytes.NewReader(header))
	switch {
	case err != nil:
		return err
	case len(header) != wire.HeaderBytes:
		return &StructureError{-1, fmt.Sprintf("a shape of %d bytes", len(header))}
	}
	*b = Block{shape: s}
	return nil
}

// Encode implements [versions.Value]. It returns a *[StructureError] if the block is not filled.
func (b *Block) Encode(w io.Writer) error {
	if b.ia == nil {
		return errUnfilled()
	}
	if _, err := w.Write(b.header()); err != nil {
		return err
	}
	ia := make([]int64, len(b.ia))
	for i, n := range b.ia {
		ia[i] = int64(n)
	}
	if err := wire.Write(w, ia); err != nil {
		return err
	}
	if err := wire.Write(w, b.ja); err != nil {
		return err
	}
	return wire.Write(w, b.data)
}

// errUnfilled returns the error of an operation that needs a filled block.
func errUnfilled() error { return &StructureError{-1, "a block that is not filled yet"} }

// atLeast is the size in bytes up to which Decode allocates all memory of a block before its entries have
// come. It is bounded because the shape may have come from another node, too.
const atLeast = 16 << 20

// Decode implements [versions.Value]. A block without a shape takes the shape that was sent. If the block is
// large or has no shape, Decode allocates memory as entries come, at most twice the size of those that have
// come. Decode checks pointers and columns, so a decoded block is a valid matrix. The error is a
// *[StructureError], or that of r; b is then unchanged.
func (b *Block) Decode(r io.Reader) error {
	sent, err := readShape(r)
	switch {
	case err != nil:
		return err
	case b.shape != shape{} && b.shape != sent:
		return &StructureError{-1, fmt.Sprintf("a block of %d×%d with %d entries was sent, want %d×%d with %d", sent.rows, sent.cols, sent.entries, b.rows, b.cols, b.entries)}
	}
	x := Block{shape: sent}
	if b.shape == sent && b.Bytes() <= atLeast { // otherwise only a header says how many entries come
		x.ja, x.data = make([]int32, sent.entries), make([]float64, sent.entries)
		pages.Large(x.ja)
		pages.Large(x.data)
		x.ja, x.data = x.ja[:0], x.data[:0]
	}
	ia, err := wire.ReadMore[int64](r, nil, sent.rows+1)
	if err != nil {
		return err
	}
	before := int64(0)
	x.ia = make([]int, len(ia))
	for i, n := range ia {
		if n < before || n > int64(sent.entries) || i == 0 && n != 0 {
			return &StructureError{i, fmt.Sprintf("begins at entry %d of %d, after one that begins at %d", n, sent.entries, before)}
		}
		x.ia[i], before = int(n), n
	}
	if before != int64(sent.entries) {
		return &StructureError{-1, fmt.Sprintf("the rows of a block have %d entries, want %d", before, sent.entries)}
	}
	if x.ja, err = wire.ReadMore(r, x.ja, sent.entries); err != nil {
		return err
	}
	for _, j := range x.ja {
		if uint(j) >= uint(sent.cols) {
			return &StructureError{-1, fmt.Sprintf("column %d of %d", j, sent.cols)}
		}
	}
	if x.data, err = wire.ReadMore(r, x.data, sent.entries); err != nil {
		return err
	}
	*b = x
	return nil
}
