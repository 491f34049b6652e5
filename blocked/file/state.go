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

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// State is a factorization between two of its steps: what a checkpoint keeps.
type State[T blocked.Element] struct {
	Op        string // as "potrf", "getrf", "calu" or "geqrf"
	Step      int    // the next one
	Input     uint64 // the [Fingerprint] of what is factored
	Matrix    *blocked.Matrix[T]
	Pivots    *lu.Pivots       // of getrf and calu; else nil
	Rotations *qr.Rotations[T] // of geqrf; else nil: the T of the columns before Step
}

// factors returns what of the rotations is kept.
func (s *State[T]) factors() []*blocked.Tile[T] {
	if s.Rotations == nil {
		return nil
	}
	return s.Rotations.Factors(s.Step)
}

// stateMagic begins a file of a State, and formerMagic began one whose tiles were no
// values.
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
	// Rotations come behind the tiles.
	Rotations *qr.RotationOptions `json:"rotations,omitempty"`
}

// StateError reports a state that cannot be read: a file that is not one, or
// that is damaged or cut off.
type StateError struct{ Reason string }

func (e *StateError) Error() string { return "file: state of a factorization: " + e.Reason }

// maxStateHeader bounds what is read before the checksum is known to be right.
const maxStateHeader = 1 << 16

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
	return scalar.Of[T]().String()
}

// WriteState writes s: a line of identification, the length of a header, the header as
// JSON, its CRC-32C, and then values as versions.Value.Encode writes them, each followed
// by its CRC-32C: the pivots, if there are any, the stored tiles, and the T of rotations. An
// error of w is returned as it is.
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

// stateHead returns what stands before the tiles.
func stateHead[T blocked.Element](s *State[T]) ([]byte, error) {
	a := s.Matrix
	m, n := a.Dims()
	h := stateHeader{Op: s.Op, Type: typeName[T](), Step: s.Step, Input: s.Input, Kind: a.Kind(), Rows: m, Cols: n, NB: a.NB(), Pivots: s.Pivots != nil}
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

// ReadState reads what [WriteState] has written. The error is a *StateError for
// what is no state on T, or a damaged one, or that of r.
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
	// Only now: so many tiles there are.
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

// rotationsOf makes room for the rotations of a that a header describes.
func rotationsOf[T blocked.Element](a *blocked.Matrix[T], opt *qr.RotationOptions,
	room func(m, n, nb int, opt qr.RotationOptions) *qr.Rotations[T],
) (q *qr.Rotations[T], err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &StateError{fmt.Sprintf("its rotations make no sense: %v", v)}
		}
	}()
	m, n := a.Dims()
	return room(m, n, a.NB(), *opt), nil
}

// readHead reads what stands before the tiles. The tiles of the matrix have no memory, and
// rotations are described only, if there are any.
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
	head, err := io.ReadAll(io.LimitReader(br, int64(n))) // grows with what is there, whatever n says
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

// summed is a reader that takes the checksum of what passes through it.
type summed struct {
	r   io.Reader
	sum hash.Hash32
	err error // of r, but for its end
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

// readPivots reads the interchanges of s.
func readPivots[T blocked.Element](r io.Reader, s *State[T]) (err error) {
	var swaps kernels.Pivots
	if err := readValue(r, &swaps, "the pivots"); err != nil {
		return err
	}
	m, n := s.Matrix.Dims()
	defer func() {
		if v := recover(); v != nil {
			err = &StateError{fmt.Sprintf("its pivots make no sense: %v", v)}
		}
	}()
	if len(swaps.Rows) != min(m, n) {
		panic(blocked.ErrShape)
	}
	s.Pivots = lu.NewPivots(m, n, s.Matrix.NB())
	s.Pivots.SetSwaps(swaps.Rows, swaps.Info)
	return nil
}

// readTile reads tile (i, j) of a. One of more than direct elements, padding of its
// rows included, is put together first, in memory that grows with what is there.
func readTile[T blocked.Element](r io.Reader, a *blocked.Matrix[T], i, j, direct int) error {
	what := fmt.Sprintf("tile (%d, %d)", i, j)
	rows, cols := a.TileDims(i, j)
	if int64(rows) <= int64(direct)/(int64(cols)+16) {
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

// newState makes what the header describes, of the matrix all but the tiles'
// memory.
func newState[T blocked.Element](h *stateHeader) (s *State[T], err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, &StateError{fmt.Sprintf("its header makes no sense: %v", v)}
		}
	}()
	if h.NB > 0 {
		const most = min(maxStateTiles, mostBytes/256) // a quarter of the memory, where an int has 32 bits
		if float64(h.Rows)/float64(h.NB)*(float64(h.Cols)/float64(h.NB)) > most {
			panic(blocked.ErrShape)
		}
		m, n := int64(min(h.NB, h.Rows)), int64(min(h.NB, h.Cols)) // of the largest tile
		if max(m, n) > maxDim || storedBytes[T](blocked.Full, m, n, max(m, n, 1)) > mostBytes {
			panic(blocked.ErrShape)
		}
	}
	s = &State[T]{Op: h.Op, Step: h.Step, Input: h.Input, Matrix: tiles.Outline[T](h.Kind, h.Rows, h.Cols, h.NB)}
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

// sampled is how many tiles of a distributed matrix are fetched for its [Fingerprint] at least: up
// to half as many more, and all of up to 23.
const sampled = 12

// Fingerprint returns a number that depends on the shape, the kind, the tile
// size and every stored element of a: two CRC-32C. Of a distributed matrix with more than
// 23 tiles it depends on the elements of 12 to 18 tiles only, which are fetched. Matrices
// that differ have different ones but for bad luck; it protects against mistakes, not
// against intent.
func Fingerprint[T blocked.Element](a *blocked.Matrix[T]) uint64 {
	m, n := a.Dims()
	sums := [2]hash.Hash32{castagnoli(), castagnoli()}
	var w [2]*bufio.Writer
	for i := range w {
		w[i] = bufio.NewWriterSize(sums[i], fileBuffer)
	}
	fmt.Fprint(w[0], typeName[T](), a.Kind(), m, n, a.NB())
	uplo := a.Kind().Uplo()
	every, k := 1, 0
	if a.IsDistributed() {
		tiles := 0
		for range a.StoredTiles() {
			tiles++
		}
		every = max(1, tiles/sampled)
	}
	for i, j := range a.StoredTiles() {
		if k++; (k-1)%every != 0 {
			continue
		}
		t := a.Read(i, j)
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
