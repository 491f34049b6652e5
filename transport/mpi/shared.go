package mpi

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

// shared is the common state of a process's nodes.
type shared struct {
	lib       *libmpi.World
	abandoned atomic.Int64 // operations that MPI will not complete
	maimed    atomic.Bool  // a rank was lost: MPI cannot be finalised
	over      atomic.Bool  // the world is closed

	once   sync.Once
	why    error         // why MPI cannot go on
	failed chan struct{} // closed when why is set
}

// broken notes that MPI cannot go on.
func (s *shared) broken(err error) {
	s.once.Do(func() {
		s.maimed.Store(true)
		s.why = err
		close(s.failed)
		s.lib.Wake()
	})
}

// name returns the name of a rank's node.
func (s *shared) name(rank int) string {
	for _, h := range s.lib.Hosts {
		if h != s.lib.Hosts[0] {
			return fmt.Sprintf("rank%d@%s", rank, s.lib.Hosts[rank])
		}
	}
	return fmt.Sprintf("rank%d", rank)
}
