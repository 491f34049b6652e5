package kernels

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/wire"
	"github.com/tessera-la/tessera/versions"
)

// What ops take as operands is a [versions.Value]. It is encoded as a header of 28
// bytes and the elements:
//
//	0     1       2     3                     4     12       20
//	'T'   format  kind  bytes of an element   rows  columns  info   elements …
//
// Numbers are little-endian. Padding is neither sent nor overwritten.

const (
	valueFormat = 1

	// buffered is the size of the buffer of a tile whose rows are apart.
	buffered = 1 << 16

	// mostBytes is the largest value: an int counts its bytes, and a slice can have them.
	mostBytes = min(math.MaxInt, 1<<47)
	// trusted is up to how many bytes a tile with a shape gets its memory before its elements
	// are there. That shape may have come from another node, too.
	trusted = 64 << 20
)

// valueKind says what a value is.
type valueKind byte

const (
	tileValue valueKind = 1 + iota
	pivotsValue
	candidatesValue
)

func (k valueKind) String() string {
	names := [...]string{tileValue: "tile", pivotsValue: "pivots", candidatesValue: "candidates"}
	if k > 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("value of kind %d", byte(k))
}

// ValueError says why a value cannot be encoded, or what is wrong with what is to be
// decoded.
type ValueError struct {
	Value  string // "tile", "pivots" or "candidates"
	Reason string
}

func (e *ValueError) Error() string { return "kernels: " + e.Value + ": " + e.Reason }

// header is what comes before the elements of a value.
type header struct {
	kind       valueKind
	size       int // of an element
	rows, cols int
	info       int
}

func (h header) bytes() []byte {
	return wire.Header([4]byte{'T', valueFormat, byte(h.kind), byte(h.size)}, h.rows, h.cols, h.info)
}

func (h header) write(w io.Writer) error {
	_, err := w.Write(h.bytes())
	return err
}

// readHeader reads the header of a value of that kind and element size. The shape is
// checked to be one: its bytes are at most mostBytes.
func readHeader(r io.Reader, kind valueKind, size int) (h header, err error) {
	b, numbers, err := wire.ReadHeader(r)
	if err != nil {
		return h, err
	}
	wrong := func(format string, args ...any) (header, error) {
		return h, &ValueError{kind.String(), fmt.Sprintf(format, args...)}
	}
	switch {
	case b[0] != 'T':
		return wrong("no header of a value")
	case b[1] != valueFormat:
		return wrong("format %d, want %d", b[1], valueFormat)
	case valueKind(b[2]) != kind:
		return wrong("a %v was sent", valueKind(b[2]))
	case int(b[3]) != size:
		return wrong("elements of %d bytes, want %d", b[3], size)
	}
	h = header{kind: kind, size: size}
	for i, p := range [...]*int{&h.rows, &h.cols, &h.info} {
		n := numbers[i]
		if n < 0 || n > 1<<31-1 {
			return wrong("a number in the header is out of range: %d", n)
		}
		*p = int(n)
	}
	if int64(h.rows) > mostBytes/int64(size)/(int64(h.cols)+64/int64(size)) { // a row may be padded to cache lines
		return wrong("%d×%d is too large", h.rows, h.cols)
	}
	return h, nil
}

// readInts reads n numbers that are not negative.
func readInts(r io.Reader, kind valueKind, n int) ([]int, error) {
	x, err := wire.ReadMore[int64](r, nil, n)
	if err != nil {
		return nil, err
	}
	rows := make([]int, n)
	for i, v := range x {
		if v < 0 || v > math.MaxInt {
			return nil, &ValueError{kind.String(), fmt.Sprintf("row %d is out of range", v)}
		}
		rows[i] = int(v)
	}
	return rows, nil
}

func writeInts(w io.Writer, rows []int) error {
	x := make([]int64, len(rows))
	for i, r := range rows {
		x[i] = int64(r)
	}
	return wire.Write(w, x)
}

// snapshotOf returns a snapshot as *V, or panics with [ErrArgs].
func snapshotOf[V any](s versions.Value) *V {
	v, ok := s.(any).(*V)
	if !ok {
		panic(ErrArgs)
	}
	return v
}

func (t *Tile[T]) elementSize() int { return scalar.Size[T]() }

func (t *Tile[T]) header() header {
	return header{kind: tileValue, size: t.elementSize(), rows: t.Rows, cols: t.Cols}
}

// unfilled reports whether t has a shape, but no memory.
func (t *Tile[T]) unfilled() bool { return t.Data == nil && t.Rows > 0 && t.Cols > 0 }

// Bytes implements [versions.Value]. It counts the elements of a tile without memory.
func (t *Tile[T]) Bytes() int64 { return int64(t.Rows) * int64(t.Cols) * int64(t.elementSize()) }

// Snapshot implements [versions.Value]. That of a tile without memory has none.
func (t *Tile[T]) Snapshot() versions.Value {
	s := &Tile[T]{Rows: t.Rows, Cols: t.Cols, Stride: t.Cols}
	if t.Data != nil {
		s.Data = make([]T, t.Rows*t.Cols)
		pages.Large(s.Data)
		s.Restore(t)
	}
	return s
}

// Restore implements [versions.Value]. It panics with [ErrArgs] or [ErrShape].
func (t *Tile[T]) Restore(snapshot versions.Value) {
	s := snapshotOf[Tile[T]](snapshot)
	if s.Rows != t.Rows || s.Cols != t.Cols {
		panic(ErrShape)
	}
	if s.Data == nil {
		t.Data = nil
		return
	}
	t.allocate()
	for i := range t.Rows {
		copy(t.Row(i), s.Row(i))
	}
}

// allocate gives t memory if it has none.
func (t *Tile[T]) allocate() {
	if t.Data == nil {
		t.Stride = max(t.Stride, t.Cols)
		t.Data = make([]T, t.Rows*t.Stride)
		pages.Large(t.Data)
	}
}

// Encode implements [versions.Value]. A tile that has a shape but no memory yet is a
// *[ValueError].
func (t *Tile[T]) Encode(w io.Writer) error {
	if t.unfilled() {
		return &ValueError{tileValue.String(), "it has no elements yet"}
	}
	if err := t.header().write(w); err != nil {
		return err
	}
	return t.writeRows(w)
}

func (t *Tile[T]) writeRows(w io.Writer) error {
	if t.Stride == t.Cols || t.Rows == 1 {
		return wire.Write(w, t.Data[:t.Rows*t.Cols])
	}
	b := bufio.NewWriterSize(w, buffered)
	for i := range t.Rows {
		if err := wire.Write(b, t.Row(i)); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Decode implements [versions.Value]. A tile of 0×0 elements without memory takes the
// shape that was sent. The error is a *[ValueError], or r's.
func (t *Tile[T]) Decode(r io.Reader) error {
	h, err := readHeader(r, tileValue, t.elementSize())
	if err != nil {
		return err
	}
	if h.info != 0 {
		return &ValueError{tileValue.String(), "a tile has no info"}
	}
	empty := t.Rows == 0 && t.Cols == 0 && t.Data == nil
	if !empty && (h.rows != t.Rows || h.cols != t.Cols) {
		return &ValueError{tileValue.String(), fmt.Sprintf("%d×%d elements were sent, want %d×%d", h.rows, h.cols, t.Rows, t.Cols)}
	}
	if empty || t.Data == nil && t.Bytes() > trusted {
		x, err := wire.ReadMore[T](r, nil, h.rows*h.cols)
		if err == nil {
			*t = Tile[T]{Rows: h.rows, Cols: h.cols, Stride: h.cols, Data: x}
		}
		return err
	}
	t.allocate()
	if t.Stride == t.Cols || t.Rows == 1 {
		return wire.Read(r, t.Data[:t.Rows*t.Cols])
	}
	b := bufio.NewReaderSize(io.LimitReader(r, t.Bytes()), buffered)
	for i := range t.Rows {
		if err := wire.Read(b, t.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// Bytes implements [versions.Value].
func (v *Pivots) Bytes() int64 { return 8 * int64(len(v.Rows)) }

// Snapshot implements [versions.Value].
func (v *Pivots) Snapshot() versions.Value {
	return &Pivots{Rows: slices.Clone(v.Rows), Info: v.Info}
}

// Restore implements [versions.Value]. It panics with [ErrArgs].
func (v *Pivots) Restore(snapshot versions.Value) {
	s := snapshotOf[Pivots](snapshot)
	v.Rows, v.Info = append(v.Rows[:0], s.Rows...), s.Info
}

// Encode implements [versions.Value].
func (v *Pivots) Encode(w io.Writer) error {
	h := header{kind: pivotsValue, size: 8, rows: len(v.Rows), cols: 1, info: v.Info}
	if err := h.write(w); err != nil {
		return err
	}
	return writeInts(w, v.Rows)
}

// Decode implements [versions.Value]: v takes the length that was sent. The error is a
// *[ValueError], or r's; v is then as it was.
func (v *Pivots) Decode(r io.Reader) error {
	h, err := readHeader(r, pivotsValue, 8)
	if err != nil {
		return err
	}
	if h.cols != 1 {
		return &ValueError{pivotsValue.String(), fmt.Sprintf("%d columns were sent, want 1", h.cols)}
	}
	rows, err := readInts(r, pivotsValue, h.rows)
	if err != nil {
		return err
	}
	v.Rows, v.Info = append(v.Rows[:0], rows...), h.info
	return nil
}

// Bytes implements [versions.Value].
func (c *Candidates[T]) Bytes() int64 { return 8*int64(len(c.Rows)) + c.Tile.Bytes() }

// Snapshot implements [versions.Value].
func (c *Candidates[T]) Snapshot() versions.Value {
	s := &Candidates[T]{}
	s.Restore(c)
	return s
}

// Restore implements [versions.Value]. It panics with [ErrArgs].
func (c *Candidates[T]) Restore(snapshot versions.Value) {
	s := snapshotOf[Candidates[T]](snapshot)
	c.set(s.Rows, &s.Tile, s.Info)
}

// set makes c a copy of these candidates, in its memory.
func (c *Candidates[T]) set(rows []int, t *Tile[T], info int) {
	c.Resize(t.Rows, t.Cols)
	c.Rows, c.Info = append(c.Rows[:0], rows...), info
	for i := range t.Rows {
		copy(c.Tile.Row(i), t.Row(i))
	}
}

// Encode implements [versions.Value].
func (c *Candidates[T]) Encode(w io.Writer) error {
	h := header{kind: candidatesValue, size: c.Tile.elementSize(), rows: len(c.Rows), cols: c.Tile.Cols, info: c.Info}
	if len(c.Rows) != c.Tile.Rows || c.Tile.unfilled() {
		return &ValueError{candidatesValue.String(), fmt.Sprintf("%d row numbers do not fit its tile", len(c.Rows))}
	}
	if err := h.write(w); err != nil {
		return err
	}
	if err := writeInts(w, c.Rows); err != nil {
		return err
	}
	return c.Tile.writeRows(w)
}

// Decode implements [versions.Value]: c takes the number of rows that was sent, and
// that of columns if it has none. The error is a *[ValueError], or r's; c is then as it
// was.
func (c *Candidates[T]) Decode(r io.Reader) error {
	h, err := readHeader(r, candidatesValue, c.Tile.elementSize())
	if err != nil {
		return err
	}
	if c.Tile.Cols != 0 && h.cols != c.Tile.Cols {
		return &ValueError{candidatesValue.String(), fmt.Sprintf("%d columns were sent, want %d", h.cols, c.Tile.Cols)}
	}
	rows, err := readInts(r, candidatesValue, h.rows)
	if err != nil {
		return err
	}
	data, err := wire.ReadMore[T](r, nil, h.rows*h.cols)
	if err != nil {
		return err
	}
	c.set(rows, &Tile[T]{Rows: h.rows, Cols: h.cols, Stride: h.cols, Data: data}, h.info)
	return nil
}
