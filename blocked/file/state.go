package file

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
)

// State is a factorization between two of its steps: what a checkpoint keeps.
type State[T blocked.Element] struct {
	Op     string // "potrf" or "getrf"
	Step   int    // the next one
	Input  uint64 // the [Fingerprint] of what is factored
	Matrix *blocked.Matrix[T]
	Pivots *blocked.Pivots // of getrf; else nil
}

// stateMagic begins a file of a State.
const stateMagic = "tessera state 1\n"

// stateHeader is the second part of the file, as JSON.
type stateHeader struct {
	Op     string       `json:"op"`
	Type   string       `json:"type"`
	Step   int          `json:"step"`
	Input  uint64       `json:"input"`
	Kind   blocked.Kind `json:"kind"`
	Rows   int          `json:"rows"`
	Cols   int          `json:"cols"`
	NB     int          `json:"nb"`
	Pivots []int        `json:"pivots,omitempty"`
	Info   int          `json:"info,omitempty"`
}

// StateError reports a state that cannot be read: a file that is not one, or
// that is damaged or cut off.
type StateError struct{ Reason string }

func (e *StateError) Error() string { return "file: state of a factorization: " + e.Reason }

// maxStateHeader bounds what is read before the checksum is known to be right:
// it is room for the interchanges of a matrix of 10⁷ rows.
const maxStateHeader = 128 << 20

// What is allocated for a matrix before any of its elements is read: the
// descriptions of so many tiles, and a tile of so many elements. That is virtual
// memory, which a file that ends early does not touch.
const (
	maxStateTiles = 1 << 26
	directTile    = 1 << 24
)

// castagnoli is the polynomial for which processors have an instruction.
func castagnoli() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// typeName returns "f32" or "f64".
func typeName[T blocked.Element]() string {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return "f32"
	}
	return "f64"
}

// WriteState writes s: a line of identification, the length of a header, the
// header as JSON, its CRC-32C, then the stored tiles row by row in little-endian
// order, each followed by its CRC-32C. An error of w is returned as it is.
func WriteState[T blocked.Element](w io.Writer, s *State[T]) error {
	a := s.Matrix
	m, n := a.Dims()
	h := stateHeader{Op: s.Op, Type: typeName[T](), Step: s.Step, Input: s.Input, Kind: a.Kind(), Rows: m, Cols: n, NB: a.NB()}
	if s.Pivots != nil {
		h.Pivots, h.Info = make([]int, s.Pivots.Len()), s.Pivots.Info()
		s.Pivots.Swaps(h.Pivots)
	}
	head, err := json.Marshal(&h)
	if err != nil {
		return err
	}
	sum := castagnoli()
	bw := bufio.NewWriterSize(w, fileBuffer)
	bw.WriteString(stateMagic)
	bw.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(head))))
	bw.Write(head)
	sum.Write(head)
	bw.Write(sum.Sum(nil))
	for i, j := range a.StoredTiles() {
		t := a.Tile(i, j)
		sum.Reset()
		both := bufio.NewWriterSize(io.MultiWriter(bw, sum), fileBuffer)
		for i := range t.Rows {
			if err := writeElements(both, t.Row(i)); err != nil {
				return err
			}
		}
		if err := both.Flush(); err != nil {
			return err
		}
		bw.Write(sum.Sum(nil))
	}
	return bw.Flush()
}

// ReadState reads what [WriteState] has written. The error is a *StateError for
// what is no state on T, or a damaged one, or that of r.
func ReadState[T blocked.Element](r io.Reader) (*State[T], error) {
	br := bufio.NewReaderSize(r, fileBuffer)
	var start [len(stateMagic) + 4]byte
	if err := readFull(br, start[:]); err != nil {
		return nil, err
	}
	if string(start[:len(stateMagic)]) != stateMagic {
		return nil, &StateError{"it does not begin as one"}
	}
	n := binary.LittleEndian.Uint32(start[len(stateMagic):])
	if n > maxStateHeader {
		return nil, &StateError{fmt.Sprintf("a header of %d bytes", n)}
	}
	head, err := io.ReadAll(io.LimitReader(br, int64(n))) // grows with what is there, whatever n says
	if err != nil {
		return nil, err
	}
	sum := castagnoli()
	sum.Write(head)
	if len(head) < int(n) {
		return nil, &StateError{"it is cut off"}
	}
	if err := checkSum(br, sum, "the header"); err != nil {
		return nil, err
	}
	var h stateHeader
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, &StateError{"header: " + err.Error()}
	}
	if h.Type != typeName[T]() {
		return nil, &StateError{fmt.Sprintf("its elements are %s, want %s", h.Type, typeName[T]())}
	}
	s, err := newState[T](&h)
	if err != nil {
		return nil, err
	}
	a := s.Matrix
	for i, j := range a.StoredTiles() {
		sum.Reset()
		if err := readTile(br, sum, a, i, j, directTile); err != nil {
			return nil, err
		}
		if err := checkSum(br, sum, fmt.Sprintf("tile (%d, %d)", i, j)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readTile reads tile (i, j) of a. One of more than direct elements is put
// together first, in memory that grows with what is there.
func readTile[T blocked.Element](r io.Reader, sum hash.Hash32, a *blocked.Matrix[T], i, j, direct int) error {
	rows, cols := a.TileDims(i, j)
	var all []T
	if rows > direct/cols {
		if rows > math.MaxInt/cols {
			return &StateError{"its header makes no sense: such a large tile"}
		}
		for n := rows * cols; len(all) < n; {
			part := make([]T, min(direct, n-len(all)))
			if err := readRow(r, sum, part); err != nil {
				return err
			}
			all = append(all, part...)
		}
	}
	t := a.MakeTile(i, j)
	for i := range rows {
		if all != nil {
			copy(t.Row(i), all[i*cols:])
		} else if err := readRow(r, sum, t.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// newState makes what the header describes, of the matrix all but the tiles'
// memory.
func newState[T blocked.Element](h *stateHeader) (s *State[T], err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, &StateError{fmt.Sprintf("its header makes no sense: %v", v)}
		}
	}()
	if h.NB > 0 && float64(h.Rows)/float64(h.NB)*(float64(h.Cols)/float64(h.NB)) > maxStateTiles {
		panic(blocked.ErrShape)
	}
	s = &State[T]{Op: h.Op, Step: h.Step, Input: h.Input, Matrix: blocked.Outline[T](h.Kind, h.Rows, h.Cols, h.NB)}
	if h.Pivots != nil {
		if len(h.Pivots) != min(h.Rows, h.Cols) {
			panic(blocked.ErrShape)
		}
		s.Pivots = blocked.NewPivots(h.Rows, h.Cols, h.NB)
		s.Pivots.SetSwaps(h.Pivots, h.Info)
	}
	if h.Step < 0 || h.Step > min(s.Matrix.Tiles()) {
		panic(blocked.ErrIndex)
	}
	return s, nil
}

// readFull fills b. What ends early is a *StateError.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &StateError{"it is cut off"}
	}
	return err
}

// checkSum reads a checksum and compares.
func checkSum(r io.Reader, sum hash.Hash32, what string) error {
	var want [4]byte
	if err := readFull(r, want[:]); err != nil {
		return err
	}
	if string(sum.Sum(nil)) != string(want[:]) {
		return &StateError{what + " is damaged: its checksum is wrong"}
	}
	return nil
}

// readRow reads a row of elements and adds its bytes to sum.
func readRow[T blocked.Element](r io.Reader, sum hash.Hash32, row []T) error {
	if littleEndian() {
		b := elementBytes(row)
		if err := readFull(r, b); err != nil {
			return err
		}
		sum.Write(b)
		return nil
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	b := make([]byte, len(row)*size)
	if err := readFull(r, b); err != nil {
		return err
	}
	sum.Write(b)
	for i := range row {
		if size == 4 {
			row[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			row[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}
	return nil
}

// Fingerprint returns a number that depends on the shape, the kind, the tile
// size and every stored element of a: two CRC-32C. Matrices that differ have
// different ones but for bad luck; it protects against mistakes, not against
// intent.
func Fingerprint[T blocked.Element](a *blocked.Matrix[T]) uint64 {
	m, n := a.Dims()
	sums := [2]hash.Hash32{castagnoli(), castagnoli()}
	var w [2]*bufio.Writer
	for i := range w {
		w[i] = bufio.NewWriterSize(sums[i], fileBuffer)
	}
	fmt.Fprint(w[0], typeName[T](), a.Kind(), m, n, a.NB())
	uplo := a.Kind().Uplo()
	for i, j := range a.StoredTiles() {
		t := a.Tile(i, j)
		for r := range t.Rows {
			lo, hi := 0, t.Cols
			switch { // the other triangle means nothing
			case i == j && uplo == blas.Lower:
				hi = r + 1
			case i == j && uplo == blas.Upper:
				lo = r
			}
			writeElements(w[(i+j)%2], t.Row(r)[lo:hi]) // sums do not fail
		}
	}
	w[0].Flush()
	w[1].Flush()
	return uint64(sums[0].Sum32())<<32 | uint64(sums[1].Sum32())
}
