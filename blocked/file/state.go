package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/words"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// State is a factorization between two of its steps. A checkpoint keeps a State.
type State[T blocked.Element] struct {
	Algorithm Algorithm
	Step      int                // number of the next step
	Input     uint64             // the [Fingerprint] of the matrix before the first step
	Matrix    *blocked.Matrix[T] // factored by the steps before Step
	Pivots    *lu.Pivots         // of getrf and calu; else nil
	Rotations *qr.Rotations[T]   // of geqrf: the T of the tile columns before Step; else nil
}

// Algorithm is an algorithm of which a [State] can be kept. It is named after the LAPACK routine.
type Algorithm uint8

// The algorithms.
const (
	Potrf Algorithm = iota // Cholesky factorization
	Getrf                  // LU factorization with partial pivoting
	Calu                   // LU factorization with tournament pivoting
	Geqrf                  // QR factorization
)

var algorithms = words.Of[Algorithm]{"potrf", "getrf", "calu", "geqrf"}

func (a Algorithm) String() string { return algorithms.Name(a) }

// factors returns the T that a file of s keeps. It is nil if s has no rotations.
func (s *State[T]) factors() []*blocked.Tile[T] {
	if s.Rotations == nil {
		return nil
	}
	return s.Rotations.Factors(s.Step)
}

// stateMagic begins a file of a State. formerMagic began files of format 1, which stored tiles in
// another encoding than that of versions.Value.
const (
	stateMagic  = "tessera state 2\n"
	formerMagic = "tessera state 1\n"
)

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
	Pivots bool         `json:"pivots,omitempty"` // they come before the tiles
	// Rotations describes the T, which follow the tiles; nil if there are none.
	Rotations *qr.RotationOptions `json:"rotations,omitempty"`
}

// maxStateHeader bounds the header, in bytes: its length is read before its checksum is checked.
const maxStateHeader = 1 << 16

// Before any element is read, the reader allocates at most the descriptions of maxStateTiles tiles, and
// one tile of directTile elements. That is virtual memory, which a file that ends early does not touch.
const (
	maxStateTiles = 1 << 26
	directTile    = 1 << 24
)

// castagnoli returns a hash for CRC-32C, which processors compute with an instruction.
func castagnoli() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// typeName returns "f32" or "f64".
func typeName[T blocked.Element]() string {
	return scalar.Of[T]().String()
}

// WriteState writes s to w:
//
//	a line of identification, the length of the header, the header as JSON, its CRC-32C
//	the pivots, if there are any
//	the stored tiles
//	the T of the rotations, if there are any
//
// versions.Value.Encode writes the pivots, each tile and each T, and the CRC-32C of its bytes follows.
// WriteState returns an error of w unchanged.
func WriteState[T blocked.Element](w io.Writer, s *State[T]) error {
	head, err := stateHead(s)
	if err != nil {
		return err
	}
	bw := bufio.NewWriterSize(w, fileBuffer)
	bw.Write(head)
	for i, j := range s.Matrix.StoredTiles() {
		if err := writeValue(bw, s.Matrix.Read(i, j)); err != nil {
			return err
		}
	}
	for _, t := range s.factors() {
		if err := writeValue(bw, t); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// stateHead returns the bytes before the tiles.
func stateHead[T blocked.Element](s *State[T]) ([]byte, error) {
	a := s.Matrix
	m, n := a.Dims()
	h := stateHeader{Op: s.Algorithm.String(), Type: typeName[T](), Step: s.Step, Input: s.Input, Kind: a.Kind(), Rows: m, Cols: n, NB: a.NB(), Pivots: s.Pivots != nil}
	if s.Rotations != nil {
		opt := s.Rotations.Options()
		h.Rotations = &opt
	}
	head, err := json.Marshal(&h)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(stateMagic)
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(head))))
	b.Write(head)
	sum := castagnoli()
	sum.Write(head)
	b.Write(sum.Sum(nil))
	if s.Pivots != nil {
		swaps := &kernels.Pivots{Rows: make([]int, s.Pivots.Len()), Info: s.Pivots.Info()}
		s.Pivots.Swaps(swaps.Rows)
		err = writeValue(&b, swaps)
	}
	return b.Bytes(), err
}

// writeValue writes a value and its checksum.
func writeValue(w io.Writer, v versions.Value) error {
	sum := castagnoli()
	if err := v.Encode(io.MultiWriter(w, sum)); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// ReadState reads a state that [WriteState] has written. The error is a *StateError if the content is no
// state with elements of type T, or is damaged or cut off. ReadState returns an error of r unchanged.
func ReadState[T blocked.Element](r io.Reader) (*State[T], error) {
	br := bufio.NewReaderSize(r, fileBuffer)
	s, rotations, err := readHead[T](br)
	if err != nil {
		return nil, err
	}
	a := s.Matrix
	for i, j := range a.StoredTiles() {
		if err := readTile(br, a, i, j, directTile); err != nil {
			return nil, err
		}
	}
	if rotations == nil {
		return s, nil
	}
	// The T get memory only now: the tiles have shown that the file is as large as its header says.
	if s.Rotations, err = rotationsOf(a, rotations, qr.NewRotations[T]); err != nil {
		return nil, err
	}
	for n, t := range s.factors() {
		if err := readValue(br, t, fmt.Sprintf("factor %d", n)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// rotationsOf returns room for the rotations of a that a header describes by opt. A *StateError replaces
// the panic of the function room if opt does not fit the matrix.
func rotationsOf[T blocked.Element](a *blocked.Matrix[T], opt *qr.RotationOptions,
	room func(m, n, nb int, opt qr.RotationOptions) *qr.Rotations[T],
) (q *qr.Rotations[T], err error) {
	defer refuse("its rotations make no sense", &err)
	m, n := a.Dims()
	return room(m, n, a.NB(), *opt), nil
}

// readHead reads the part before the tiles. The tiles of the matrix have no memory, and State.Rotations
// is nil: the second result describes the rotations, nil if there are none.
func readHead[T blocked.Element](br io.Reader) (*State[T], *qr.RotationOptions, error) {
	var start [len(stateMagic) + 4]byte
	if err := readFull(br, start[:]); err != nil {
		return nil, nil, err
	}
	switch string(start[:len(stateMagic)]) {
	case stateMagic:
	case formerMagic:
		return nil, nil, &StateError{"it is of format 1, which an earlier version has written; this one reads format 2"}
	default:
		return nil, nil, &StateError{"it does not begin as one"}
	}
	n := binary.LittleEndian.Uint32(start[len(stateMagic):])
	if n > maxStateHeader {
		return nil, nil, &StateError{fmt.Sprintf("a header of %d bytes", n)}
	}
	head, err := io.ReadAll(io.LimitReader(br, int64(n))) // allocates for the bytes that arrive, whatever n says
	if err != nil {
		return nil, nil, err
	}
	sum := castagnoli()
	sum.Write(head)
	if len(head) < int(n) {
		return nil, nil, &StateError{"it is cut off"}
	}
	if err := checkSum(br, sum, "the header"); err != nil {
		return nil, nil, err
	}
	var h stateHeader
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, nil, &StateError{"header: " + err.Error()}
	}
	if h.Type != typeName[T]() {
		return nil, nil, &StateError{fmt.Sprintf("its elements are %s, want %s", h.Type, typeName[T]())}
	}
	s, err := newState[T](&h)
	if err == nil && h.Pivots {
		err = readPivots(br, s)
	}
	return s, h.Rotations, err
}

// readValue reads a value and its checksum.
func readValue(r io.Reader, v versions.Value, what string) error {
	in := &summed{r: r, sum: castagnoli()}
	err := v.Decode(in)
	switch {
	case in.err != nil:
		return in.err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &StateError{"it is cut off"}
	case err != nil:
		return &StateError{fmt.Sprintf("%s: %v", what, err)}
	}
	return checkSum(r, in.sum, what)
}

// summed is a reader that adds the bytes that pass through it to a checksum.
type summed struct {
	r   io.Reader
	sum hash.Hash32
	err error // of r, other than io.EOF
}

// Read implements [io.Reader].
func (s *summed) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.sum.Write(b[:n])
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// readPivots reads the pivots and stores them in s.
func readPivots[T blocked.Element](r io.Reader, s *State[T]) (err error) {
	var swaps kernels.Pivots
	if err := readValue(r, &swaps, "the pivots"); err != nil {
		return err
	}
	m, n := s.Matrix.Dims()
	defer refuse("its pivots make no sense", &err)
	s.Pivots = lu.NewPivots(m, n, s.Matrix.NB())
	s.Pivots.SetSwaps(swaps.Rows, swaps.Info)
	return nil
}

// readTile reads tile (i, j) of a. If the tile may take more than direct elements with the padding of its
// rows, readTile first decodes it into another tile, whose memory grows with the bytes that arrive. So a
// short file cannot make it allocate a large tile.
func readTile[T blocked.Element](r io.Reader, a *blocked.Matrix[T], i, j, direct int) error {
	what := fmt.Sprintf("tile (%d, %d)", i, j)
	rows, cols := a.TileDims(i, j)
	const padding = 16 // elements: about what alignment adds to a row of a tile
	if int64(rows) <= int64(direct)/(int64(cols)+padding) {
		return readValue(r, a.MakeTile(i, j), what)
	}
	var all blocked.Tile[T]
	if err := readValue(r, &all, what); err != nil {
		return err
	}
	if all.Rows != rows || all.Cols != cols {
		return &StateError{fmt.Sprintf("%s is %d×%d, want %d×%d", what, all.Rows, all.Cols, rows, cols)}
	}
	t := a.MakeTile(i, j)
	for r := range rows {
		copy(t.Row(r), all.Row(r))
	}
	return nil
}

// newState returns the state that h describes, without its pivots and rotations. The tiles of its matrix
// have no memory. The error is a *StateError if the header makes no sense.
func newState[T blocked.Element](h *stateHeader) (s *State[T], err error) {
	algorithm, ok := algorithms.Find(h.Op)
	if !ok {
		return nil, &StateError{fmt.Sprintf("it is of the algorithm %q, want %s", h.Op, strings.Join(algorithms, ", "))}
	}
	const senseless = "its header makes no sense"
	defer refuse(senseless, &err)
	if h.NB > 0 {
		const maxTiles = min(maxStateTiles, mostBytes/256)         // descriptions take a quarter of the memory, where an int has 32 bits
		m, n := int64(min(h.NB, h.Rows)), int64(min(h.NB, h.Cols)) // of the largest tile
		if float64(tiles.Count(h.Rows, h.NB))*float64(tiles.Count(h.Cols, h.NB)) > maxTiles ||
			max(m, n) > maxDim || tiles.Bytes[T](blocked.Full, m, n, max(m, n, 1)) > mostBytes {
			return nil, &StateError{senseless + ": it is of a matrix that is too large"}
		}
	}
	a := tiles.Outline[T](h.Kind, h.Rows, h.Cols, h.NB)
	if h.Step < 0 || h.Step > min(a.Tiles()) {
		return nil, &StateError{fmt.Sprintf("%s: its step is %d", senseless, h.Step)}
	}
	return &State[T]{Algorithm: algorithm, Step: h.Step, Input: h.Input, Matrix: a}, nil
}

// refuse replaces a panic with one of the constants of package blocked by a *StateError. A deferred
// function, it passes all other panics on.
func refuse(reason string, err *error) {
	switch v := recover().(type) {
	case nil:
	case blocked.Error:
		*err = &StateError{fmt.Sprintf("%s: %v", reason, v)}
	default:
		panic(v)
	}
}

// readFull fills b. The error is a *StateError if r ends before that.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &StateError{"it is cut off"}
	}
	return err
}

// checkSum reads a checksum and compares it with sum. what names the checked part in an error.
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
