//go:build !(mpi && linux && cgo)

package libmpi

import "time"

// World is the processes that were started together, of which this one is Rank.
type World struct {
	Rank, Size int
	Hosts      []string // of all ranks
	Multiple   bool     // several threads may call MPI at once
}

// Open returns a *BuildError.
func Open(time.Duration, bool) (*World, error) {
	return nil, &BuildError{"this program was built without MPI: build it on Linux with -tags mpi (Open MPI) or -tags mpi,mpich (MPICH), and CGO_ENABLED=1"}
}

// What follows has no World to be called of.

// Close ends the use of MPI.
func (*World) Close(bool) error { return nil }

// Abort ends all processes of the world.
func (*World) Abort(int) {}

// Gather returns what each rank has given it.
func (*World) Gather(string) ([]string, error) { return nil, nil }

// Near reports whether a process is on this machine and can be woken.
func (*World) Near(int) bool { return false }

// Turn returns what Nap is told.
func (*World) Turn() uint32 { return 0 }

// Nap returns after a time, or when it is woken.
func (*World) Nap(uint32, time.Duration) {}

// Wake ends a nap.
func (*World) Wake() {}

// Comm is a communicator of the first ranks of a world.
type Comm struct{}

// Comm makes a communicator.
func (*World) Comm(int) (*Comm, error) { return nil, nil }

// Send sends b.
func (*Comm) Send([]byte, int, int, func(*Op)) *Op { return nil }

// Receive receives a message into b.
func (*Comm) Receive([]byte, int, int, func(*Op)) *Op { return nil }

// Found is a message that was found.
type Found struct{ From, Size int }

// Probe looks for a message of a tag.
func (*Comm) Probe(int, *Found) (bool, error) { return false, nil }

// Receive receives the message into b.
func (*Found) Receive([]byte, func(*Op)) *Op { return nil }

// Cancel gives up a message that is to be received.
func (*World) Cancel(*Op) {}

// Progress has MPI get on.
func (*World) Progress() (ended, left int, err error) { return 0, 0, nil }

// Group is a communicator of some ranks.
type Group struct{}

// Group makes a communicator of some ranks.
func (*World) Group([]int, int) (*Group, error) { return nil, nil }

// Fortran returns the handle of the communicator in Fortran.
func (*Group) Fortran() int32 { return 0 }

// Agree returns the smallest of the numbers that the ranks pass.
func (*Group) Agree(int, string) (int, string, error) { return 0, "", nil }

// Free frees the communicator.
func (*Group) Free() error { return nil }
