package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/versions"
)

// place is a tile's place in a file of a state: the parameter of ops "readstate", which
// overwrites a tile, and "writestate". Operand: the tile (out or in).
type place struct {
	Path         string // absolute
	Size, Offset int64  // of the file, and where the tile begins
	Row, Col     int    // of the tile, for errors
	Factor       bool   // it is factor Row of the rotations
}

// what names the tile.
func (p *place) what() string {
	if p.Factor {
		return fmt.Sprintf("factor %d", p.Row)
	}
	return fmt.Sprintf("tile (%d, %d)", p.Row, p.Col)
}

// Validate returns an error if a field is out of range.
func (p *place) Validate() error {
	if p.Offset < 0 || p.Size < p.Offset {
		return &versions.ParamsError{Op: "readstate", Field: "Offset, Size", Reason: "is out of range"}
	}
	return nil
}

// open opens the file of p, if it has the size that the driver has seen.
func (p *place) open(flag int) (*os.File, error) {
	f, err := os.OpenFile(p.Path, flag, 0)
	if err != nil {
		return nil, &AccessError{File: p.Path, Reason: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	if st, err := f.Stat(); err != nil || st.Size() != p.Size {
		f.Close()
		return nil, &AccessError{File: p.Path, Reason: "is another file than the driver has under that path: its size differs"}
	}
	return f, nil
}

// readingState is op "readstate", and writingState op "writestate".
var (
	readingState = sync.OnceValue(func() pair {
		return pair{newOp("readstate", "f32", newPlace, readPlace[float32]), newOp("readstate", "f64", newPlace, readPlace[float64])}
	})
	writingState = sync.OnceValue(func() pair {
		return pair{newOp("writestate", "f32", newPlace, writePlace[float32]), newOp("writestate", "f64", newPlace, writePlace[float64])}
	})
)

func stateOps() []*versions.Op {
	return []*versions.Op{readingState().f32, readingState().f64, writingState().f32, writingState().f64}
}

func newPlace() any { return new(place) }

// Final returns true, since another attempt to read the state finds the same error: see
// graph.Failure.
func (e *StateError) Final() bool { return true }

// WriteStateTiles writes to f, which is empty, what [WriteState] writes, the tiles by a task
// for each, executed by a node that has it: nodes share the file system in which f is, and
// list [Ops]. Run has tasks submitted to a job, and waits for its end, as la.Run does. Each
// task flushes what it has written to the device.
//
// The error is run's, with an *[AccessError] of a node that does not have the file, or that of
// the operating system.
func WriteStateTiles[T blocked.Element](f *os.File, s *State[T], run func(submit func(p *blocked.Program[T]) error) error) error {
	path, err := filepath.Abs(f.Name())
	if err != nil {
		return err
	}
	head, err := stateHead(s)
	if err != nil {
		return err
	}
	at, err := placesOf(s, path, int64(len(head)))
	if err != nil {
		return err
	}
	if _, err := f.Write(head); err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(at.size), f.Sync()); err != nil { // others are to see it
		return err
	}
	return run(func(p *blocked.Program[T]) error {
		err := p.Inspect(s.Matrix, of[T](writingState()), at.tile)
		if err == nil && s.Rotations != nil {
			err = qr.InspectFactors(p, s.Matrix, s.Rotations, s.Step, of[T](writingState()), at.factor)
		}
		return err
	})
}

// ReadStateHead reads the state in the file path but for its tiles and the T of rotations, which
// have no memory.
// The error is a *[StateError], or that of the operating system.
func ReadStateHead[T blocked.Element](path string) (*State[T], error) {
	s, _, err := openState[T](path)
	return s, err
}

// openState is ReadStateHead, and returns the places of tiles.
func openState[T blocked.Element](path string) (s *State[T], at *places, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var rotations *qr.RotationOptions
	var head int64
	st, err := f.Stat()
	if err == nil {
		s, rotations, err = readHead[T](f)
	}
	if err == nil {
		head, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		at, err = placesOf(s, path, head)
	}
	if err == nil && rotations != nil && at.size <= st.Size() { // so many tiles there are
		if s.Rotations, err = rotationsOf(s.Matrix, rotations, qr.OutlineRotations[T]); err == nil {
			at, err = placesOf(s, path, head)
		}
	}
	if err == nil && at.size != st.Size() {
		err = &StateError{fmt.Sprintf("it has %d bytes, want %d", st.Size(), at.size)}
	}
	if err != nil {
		return nil, nil, err
	}
	return s, at, nil
}

// ReadStateTiles overwrites A with the tiles of the state in the file path, whose matrix has
// the kind, shape and tile size of A, and q, if that is not nil, with its T, by a task for each,
// which the node executes that is to have it: nodes share the file system, and list [Ops]. Run
// is as in [WriteStateTiles]. The
// file must stay as it is as long as what is lost with a node may be made again from it.
//
// The error is run's, with a *[StateError] for a tile that is damaged, or an *[AccessError]
// of a node that does not have the file; A is then undefined. It panics with blocked.ErrShape
// if the matrices or rotations differ.
func ReadStateTiles[T blocked.Element](path string, a *blocked.Matrix[T], q *qr.Rotations[T], run func(submit func(p *blocked.Program[T]) error) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	s, at, err := openState[T](path)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	if rows, cols := s.Matrix.Dims(); m != rows || n != cols || a.Kind() != s.Matrix.Kind() || a.NB() != s.Matrix.NB() ||
		(q == nil) != (s.Rotations == nil) || q != nil && q.Options() != s.Rotations.Options() {
		panic(blocked.ErrShape)
	}
	return run(func(p *blocked.Program[T]) error {
		err := p.Generate(a, of[T](readingState()), at.tile)
		if err == nil && q != nil {
			err = qr.GenerateFactors(p, a, q, s.Step, of[T](readingState()), at.factor)
		}
		return err
	})
}

// places is where in a file the tiles and factors of a state begin.
type places struct {
	path    string
	size    int64 // of the file
	tiles   map[[2]int]int64
	factors []int64
}

func (p *places) tile(i, j int) any {
	return &place{Path: p.path, Size: p.size, Offset: p.tiles[[2]int{i, j}], Row: i, Col: j}
}

func (p *places) factor(n int) any {
	return &place{Path: p.path, Size: p.size, Offset: p.factors[n], Row: n, Factor: true}
}

// placesOf returns them for a state in the file path, behind so many bytes.
func placesOf[T blocked.Element](s *State[T], path string, head int64) (*places, error) {
	// Beside its elements each tile has a header and a checksum.
	one := blocked.Tile[T]{Rows: 1, Cols: 1, Stride: 1, Data: make([]T, 1)}
	var b bytes.Buffer
	if err := writeValue(&b, &one); err != nil {
		return nil, err
	}
	beside := int64(b.Len()) - one.Bytes()
	p := &places{path: path, size: head, tiles: map[[2]int]int64{}}
	for i, j := range s.Matrix.StoredTiles() {
		rows, cols := s.Matrix.TileDims(i, j)
		p.tiles[[2]int{i, j}] = p.size
		p.size += beside + int64(rows)*int64(cols)*one.Bytes()
	}
	for _, t := range s.factors() {
		p.factors = append(p.factors, p.size)
		p.size += beside + int64(t.Rows)*int64(t.Cols)*one.Bytes()
	}
	return p, nil
}

func readPlace[T blocked.Element](c *versions.Call) error {
	p, t := c.Params.(*place), c.Args[0].(*blocked.Tile[T])
	f, err := p.open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	return readValue(io.NewSectionReader(f, p.Offset, p.Size-p.Offset), t, p.what())
}

func writePlace[T blocked.Element](c *versions.Call) error {
	p, t := c.Params.(*place), c.Args[0].(*blocked.Tile[T])
	f, err := p.open(os.O_RDWR)
	if err != nil {
		return err
	}
	if err = writeValue(io.NewOffsetWriter(f, p.Offset), t); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return &AccessError{File: p.Path, Reason: err.Error()}
	}
	return nil
}
