package scalapack

import (
	"fmt"
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Process is a process of a grid, with the local arrays that it shares. It is safe for concurrent use.
type Process struct {
	grid Grid
	rank int
	own  []*versions.Op // ops that only this process can execute

	mu     sync.Mutex              // a leaf
	arrays map[string]any          // *Array[T] by name
	others map[string]*versions.Op // ops of other processes, by name
}

// Errors returns an error of each type that these ops return, for programs of several nodes.
func Errors() []error { return []error{&ArrayError{}} }

// ArrayError says that a process does not share an array with the name, type and descriptor that a task
// needs. The *exec.TaskError around the ArrayError names the node.
type ArrayError struct {
	Array   string
	Process int // number of the process in the grid
	Reason  string
}

func (e *ArrayError) Error() string {
	return fmt.Sprintf("scalapack: process %d: array %s: %s", e.Process, e.Array, e.Reason)
}

// Final returns true, since another attempt finds the same error: see graph.Failure.
func (e *ArrayError) Final() bool { return true }

// Array is a matrix in local arrays, one on each process of the grid.
type Array[T kernels.Element] struct {
	process *Process
	name    string
	desc    Desc
	local   []T
}

// Share lets tasks use the local array of this process by the given name. It replaces an array that had the
// name. local has LLD·(cols−1)+rows elements or more, column-major, for the rows and cols of [Desc.Local].
// All processes of the grid must call Share with the same name and the same descriptor, except CTXT_ and LLD,
// before one of them calls [Array.Load] or [Array.Store]. A process that is not in the grid passes a nil
// array, and its descriptor needs neither CTXT_ nor LLD.
//
// The error is a *[DescError] that lists everything that is wrong.
func Share[T kernels.Element](s *Process, name string, desc Desc, local []T) (*Array[T], error) {
	p, q, there := s.grid.place(s.rank)
	if err := desc.check(name, s.grid, p, q, there, len(local)); err != nil {
		return nil, err
	}
	a := &Array[T]{s, name, desc, local}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrays[name] = a
	return a, nil
}

// Close makes the process forget the array. It does nothing if another array has taken the name.
func (x *Array[T]) Close() {
	x.process.mu.Lock()
	defer x.process.mu.Unlock()
	if x.process.arrays[x.name] == any(x) {
		delete(x.process.arrays, x.name)
	}
}

// array returns the array of s that x names. The error is an *ArrayError.
func array[T kernels.Element](s *Process, x *part) (*Array[T], error) {
	s.mu.Lock()
	found := s.arrays[x.Array]
	s.mu.Unlock()
	wrong := func(reason string) (*Array[T], error) { return nil, &ArrayError{x.Array, s.rank, reason} }
	a, ok := found.(*Array[T])
	switch {
	case found == nil:
		return wrong("it is not shared")
	case !ok:
		return wrong(fmt.Sprintf("its elements are not of %d bytes", scalar.Size[T]()))
	case a.desc.whole(s.grid) != x.Whole:
		return wrong(fmt.Sprintf("its descriptor is %+v, and the driver has another one", a.desc))
	}
	return a, nil
}
