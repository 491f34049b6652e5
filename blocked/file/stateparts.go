package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/qr"
)

// WriteStateTiles writes s to f in the format of [WriteState]. f must be empty. WriteStateTiles writes
// the head itself, and submits a task for each tile; a node that has the tile executes the task. So all nodes
// must share the file system of f, and list [Ops]. run must call submit with a Program, and wait for the
// tasks to end, as engine.Run does. Each task flushes its bytes to the device.
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
	at := placesOf(s, path, int64(len(head)))
	if _, err := f.Write(head); err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(at.size), f.Sync()); err != nil { // so that other nodes see the head and the size
		return err
	}
	return run(func(p *blocked.Program[T]) error {
		err := p.Inspect(s.Matrix, opOf[T](writingState()), at.tile)
		if err == nil && s.Rotations != nil {
			err = qr.InspectFactors(p, s.Matrix, s.Rotations, s.Step, opOf[T](writingState()), at.factor)
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
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	s, rotations, err := readHead[T](f)
	if err != nil {
		return nil, nil, err
	}
	head, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, nil, err
	}
	at = placesOf(s, path, head)
	// Only a file with room for its tiles gets descriptions of rotations: its header may announce any number.
	if rotations != nil && at.size <= st.Size() {
		if s.Rotations, err = rotationsOf(s.Matrix, rotations, qr.OutlineRotations[T]); err != nil {
			return nil, nil, err
		}
		at = placesOf(s, path, head)
	}
	if at.size != st.Size() {
		return nil, nil, &StateError{fmt.Sprintf("it has %d bytes, want %d", st.Size(), at.size)}
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
		err := p.Generate(a, opOf[T](readingState()), at.tile)
		if err == nil && q != nil {
			err = qr.GenerateFactors(p, a, q, s.Step, opOf[T](readingState()), at.factor)
		}
		return err
	})
}
