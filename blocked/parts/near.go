package parts

import (
	"unsafe"

	"github.com/tessera-la/tessera/exec"
)

// Near returns, for each address in the memory of this process, the exec.Worker.Location of the
// workers on the NUMA node that holds its page. The location is −1 if no such worker exists, or if
// the page's node is not known: the page has not been touched yet, or the kernel does not say. On Linux
// that is also so while automatic NUMA balancing has taken access to the page away, to see which node
// comes for it: move_pages does not find it then, and get_mempolicy would move it to the caller's node.
//
// Near asks the kernel once for all addresses. If all workers on cores have one location, Near
// returns that location for each address without asking. A [Collection] calls it in Locate.
func Near(rt exec.Runtime, addresses []unsafe.Pointer) []int {
	return near(rt.Workers(), addresses, nodesAt)
}

// near is Near for these workers. ask returns the NUMA node of each address, or a negative number if
// the node is not known.
func near(workers []exec.Worker, addresses []unsafe.Pointer, ask func([]unsafe.Pointer) []int32) []int {
	locations := make(map[int]int) // by node
	last, several := -1, false     // last is the location of the worker before
	for _, w := range workers {
		if w.Accelerator != "" || w.Host != "" {
			continue
		}
		if _, known := locations[w.Node]; !known {
			locations[w.Node] = w.Location
		}
		several = several || last >= 0 && w.Location != last
		last = w.Location
	}
	at := make([]int, len(addresses))
	if !several {
		for i := range at {
			at[i] = last
		}
		return at
	}
	nodes := ask(addresses)
	for i := range at {
		at[i] = -1
		if i < len(nodes) {
			if l, known := locations[int(nodes[i])]; known {
				at[i] = l
			}
		}
	}
	return at
}

// middle returns an address in the middle of a block of memory, or nil for an empty one. Near is
// asked about the middle because a block may share its first page with the block before.
func middle[E any](block []E) unsafe.Pointer {
	if len(block) == 0 {
		return nil
	}
	return unsafe.Pointer(&block[len(block)/2])
}
