package tiles

import (
	"fmt"
	"sync"

	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/internal/topo"
)

const (
	// placedBytes is the size from which a tile has a place: 16 pages, of which
	// at least 15 are its own.
	placedBytes = 64 << 10
	// touchBytes is the smallest page of the systems that Tessera runs on: one
	// element in each is touched.
	touchBytes = 4 << 10
)

// nodes holds the NUMA nodes for the memory of tiles, and the system calls for it.
type nodes struct {
	cpus  []topo.CPUSet // of each node; tiles have a place if there are two or more
	why   string        // the reason if not
	lock  func(cpus ...int) (release func(), err error)
	renew func(memory []byte) // gives whole pages back to the kernel
	touch func(memory []byte) // makes the kernel put every page on the node of this thread
}

// thisMachine returns the nodes of this machine.
var thisMachine = sync.OnceValue(func() *nodes {
	_, unsupported := topo.Affinity()
	return nodesOf(topo.Here(), unsupported)
})

// nodesOf returns the nodes of m, on which threads cannot be pinned if
// unsupported is not nil.
func nodesOf(m *topo.Machine, unsupported error) *nodes {
	n := &nodes{lock: topo.Lock, renew: pages.Renew, touch: touch}
	switch {
	case len(m.Nodes) < 2:
		n.why = "there is one NUMA node"
	case unsupported != nil:
		n.why = fmt.Sprintf("there are %d NUMA nodes, but %v", len(m.Nodes), unsupported)
	default:
		for _, node := range m.Nodes {
			n.cpus = append(n.cpus, node.CPUs)
		}
	}
	return n
}

// FirstTouch returns the number of NUMA nodes over which this machine spreads the
// tiles of a large matrix and, if it is 1, why.
func FirstTouch() (nodes int, why string) {
	n := thisMachine()
	return max(1, len(n.cpus)), n.why
}

// touch writes a zero to each page of memory, which is zero.
func touch(memory []byte) {
	for i := 0; i < len(memory); i += touchBytes {
		memory[i] = 0
	}
	if len(memory) > 0 {
		memory[len(memory)-1] = 0
	}
}
