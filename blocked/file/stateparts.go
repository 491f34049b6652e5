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

// place says where a tile lies in a file of a state. It is the parameter of op "readstate", which
// overwrites a tile, and of op "writestate". Operand: the tile (out or in).
type place struct {
	Path         string // absolute
	Size, Offset int64  // of the file, and where the tile begins
	Row, Col     int    // of the tile, for errors
	Factor       bool   // the tile is factor Row of the rotations
}

// what returns the name of the tile for errors.
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

// open opens the file of p. The error is an *AccessError, also if the file does not have the size that the
// driver has seen.
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

// WriteStateTiles writes s to f in the format of [WriteState]. f must be empty. WriteStateTiles writes
// the head itself; for each tile it submits a task, which a node that has the tile executes. So all nodes
// must share the file system of f, and list [Ops]. run must call submit with a Program, and wait for the
// end of the tasks, as engine.Run does. Each task flushes its bytes to the device.
//
// The error is that of run or of the operating system. The error of run contains an *[AccessError] if a
// node does not find the file.
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
	if err := errors.Join(f.Truncate(at.size), f.Sync()); err != nil { // so that other nodes see the head and the size
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

// ReadStateHead reads the state in the file path without its tiles and the T of rotations: they have their
// shapes, but no memory. The error is a *[StateError], or that of the operating system.
func ReadStateHead[T blocked.Element](path string) (*State[T], error) {
	s, _, err := openState[T](path)
	return s, err
}

// openState is ReadStateHead that also returns where the tiles lie in the file.
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
	if err == nil && rotations != nil && at.size <= st.Size() { // the file has room for all the tiles that its header announces
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

// ReadStateTiles overwrites a with the tiles of the state in the file path, and q, if it is not nil, with
// the T of that state. It submits a task for each tile and each T; the node that owns the tile executes
// the task. So all nodes must share the file system, and list [Ops]. run is as in [WriteStateTiles].
//
// If a node is lost, the tasks that read its tiles run again on other nodes. So the file must stay
// unchanged until a, if it is distributed, is closed, and at least until the tasks have ended.
//
// The error is that of run, or a *[StateError] for the head of the file, or that of the operating system.
// The error of run contains a *[StateError] if a tile is damaged, and an *[AccessError] if a node does not
// find the file; a and q are then undefined. ReadStateTiles panics with blocked.ErrShape if a differs from
// the state's matrix in kind, shape or tile size, or if q has other options than the state's rotations.
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

// places says where in a file the tiles and factors of a state begin.
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

// placesOf returns the places for state s in the file path, whose head takes the given number of bytes.
func placesOf[T blocked.Element](s *State[T], path string, head int64) (*places, error) {
	// Each tile takes as many bytes beside its elements: a header and a checksum.
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
