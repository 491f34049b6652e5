package csr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/versions"
)

// A block is encoded as a header of 28 bytes, and its arrays:
//
//	0      3       4     12       20
//	'csr'  format  rows  columns  entries   rows+1 pointers   columns     elements
//	                                        of 8 bytes each   of 4 bytes  of 8 bytes
//
// Numbers are little-endian.

const (
	blockFormat = 1
	headerBytes = 28
)

// header returns what comes before the arrays.
func (s shape) header() []byte {
	b := append(make([]byte, 0, headerBytes), 'c', 's', 'r', blockFormat)
	for _, n := range [...]int{s.rows, s.cols, s.entries} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// readShape reads a header.
func readShape(r io.Reader) (s shape, err error) {
	var b [headerBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return s, err
	}
	switch {
	case string(b[:3]) != "csr":
		return s, &StructureError{-1, "no header of a block of rows"}
	case b[3] != blockFormat:
		return s, &StructureError{-1, fmt.Sprintf("a block of format %d, want %d", b[3], blockFormat)}
	}
	for i, p := range [...]*int{&s.rows, &s.cols, &s.entries} {
		n := int64(binary.LittleEndian.Uint64(b[4+8*i:]))
		if n < 0 || n > math.MaxInt32 { // what an int holds everywhere
			return s, &StructureError{-1, fmt.Sprintf("a number in the header of a block is out of range: %d", n)}
		}
		*p = int(n)
	}
	return s, s.check()
}

// Bytes implements [versions.Value]: also of a block that is not filled yet.
func (b *Block) Bytes() int64 { return b.bytes() }

// Snapshot implements [versions.Value].
func (b *Block) Snapshot() versions.Value {
	s := &Block{shape: b.shape}
	s.Restore(b)
	return s
}

// Restore implements [versions.Value]. It panics with [ErrShape] if the snapshot is no block of
// the same shape.
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

// Shape implements [versions.Shaped]: it is the header of what Encode writes.
func (b *Block) Shape() []byte { return b.header() }

// Reshape implements [versions.Shaped]. A block gets its memory when it is filled. The error is
// a *[StructureError], or that of a shape that is cut short.
func (b *Block) Reshape(header []byte) error {
	s, err := readShape(bytes.NewReader(header))
	switch {
	case err != nil:
		return err
	case len(header) != headerBytes:
		return &StructureError{-1, fmt.Sprintf("a shape of %d bytes", len(header))}
	}
	*b = Block{shape: s}
	return nil
}

// Encode implements [versions.Value]. A block that is not filled is a *[StructureError].
func (b *Block) Encode(w io.Writer) error {
	if b.ia == nil {
		return errUnfilled()
	}
	if _, err := w.Write(b.header()); err != nil {
		return err
	}
	if err := writeAll(w, b.ia, func(buf []byte, x []int) []byte {
		for _, n := range x {
			buf = binary.LittleEndian.AppendUint64(buf, uint64(n))
		}
		return buf
	}); err != nil {
		return err
	}
	if err := writeAll(w, b.ja, appendNumbers); err != nil {
		return err
	}
	return writeAll(w, b.data, appendNumbers)
}

func errUnfilled() error { return &StructureError{-1, "a block that is not filled yet"} }

// atLeast is the size in bytes up to which a block with a shape gets its memory before its entries
// are there. That shape may have come from another node, too.
const atLeast = 16 << 20

// atOnce is how many numbers are encoded, or decoded, at once.
const atOnce = 1 << 13

// writeAll writes numbers, as encode appends them to what it is given.
func writeAll[E any](w io.Writer, x []E, encode func([]byte, []E) []byte) error {
	buf := make([]byte, 0, 8*min(len(x), atOnce))
	for part := range slices.Chunk(x, atOnce) {
		if _, err := w.Write(encode(buf, part)); err != nil {
			return err
		}
	}
	return nil
}

func appendNumbers[E int32 | float64](buf []byte, x []E) []byte {
	buf, _ = binary.Append(buf, binary.LittleEndian, x) // numbers of a fixed size
	return buf
}

// Decode implements [versions.Value]. A block without a shape takes the one that was sent. A large one,
// and one without a shape, takes memory as entries come, no more than twice theirs. Pointers and columns are checked, so a block
// that was decoded is a matrix. The error is a *[StructureError], or r's; b is then as it was.
func (b *Block) Decode(r io.Reader) error {
	s, err := readShape(r)
	switch {
	case err != nil:
		return err
	case b.shape != shape{} && b.shape != s:
		return &StructureError{-1, fmt.Sprintf("a block of %d×%d with %d entries was sent, want %d×%d with %d", s.rows, s.cols, s.entries, b.rows, b.cols, b.entries)}
	}
	x := Block{shape: s}
	if b.shape == s && b.Bytes() <= atLeast { // or else only a header says how many entries come
		x.ia, x.ja, x.data = make([]int, 0, s.rows+1), make([]int32, s.entries), make([]float64, s.entries)
		pages.Large(x.ja)
		pages.Large(x.data)
		x.ja, x.data = x.ja[:0], x.data[:0]
	}
	before := int64(0)
	if err := readAll(r, s.rows+1, func(part []int64) error {
		for _, n := range part {
			if n < before || n > int64(s.entries) || len(x.ia) == 0 && n != 0 {
				return &StructureError{len(x.ia), fmt.Sprintf("begins at entry %d of %d, after one that begins at %d", n, s.entries, before)}
			}
			x.ia, before = append(x.ia, int(n)), n
		}
		return nil
	}); err != nil {
		return err
	}
	if before != int64(s.entries) {
		return &StructureError{-1, fmt.Sprintf("the rows of a block have %d entries, want %d", before, s.entries)}
	}
	if err := readAll(r, s.entries, func(part []int32) error {
		for _, j := range part {
			if uint(j) >= uint(s.cols) {
				return &StructureError{-1, fmt.Sprintf("column %d of %d", j, s.cols)}
			}
		}
		x.ja = append(x.ja, part...)
		return nil
	}); err != nil {
		return err
	}
	if err := readAll(r, s.entries, func(part []float64) error {
		x.data = append(x.data, part...)
		return nil
	}); err != nil {
		return err
	}
	*b = x
	return nil
}

// readAll reads n numbers, and hands them on in parts.
func readAll[E int32 | int64 | float64](r io.Reader, n int, take func([]E) error) error {
	part := make([]E, min(n, atOnce))
	buf := make([]byte, binary.Size(part))
	for n > 0 {
		part = part[:min(n, len(part))]
		b := buf[:binary.Size(part)]
		if _, err := io.ReadFull(r, b); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // the header was there
			}
			return err
		}
		if _, err := binary.Decode(b, binary.LittleEndian, part); err != nil {
			return err
		}
		if err := take(part); err != nil {
			return err
		}
		n -= len(part)
	}
	return nil
}
