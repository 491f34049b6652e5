package blocked

import (
	"unsafe"

	"github.com/tessera-la/tessera/exec"
)

// Near returns, for each address in the memory of this process, the location of the workers to
// which it is near, as exec.Worker.Location: those on the NUMA node that has its page. −1 says
// that this is not known, because nobody has touched the page yet or the kernel does not
// tell, or that there are no workers there. It asks the kernel once for all addresses, and not
// at all if the workers on cores are all at one location. It is for the Locate of a
// [Collection].
func Near(rt exec.Runtime, addresses []unsafe.Pointer) []int {
	return near(rt.Workers(), addresses, nodesAt)
}

// near is Near for these workers; ask returns the NUMA node of each address, or a negative
// number.
func near(workers []exec.Worker, addresses []unsafe.Pointer, ask func([]unsafe.Pointer) []int32) []int {
	locations := make(map[int]int) // by node
	first, several := -1, false
	for _, w := range workers {
		if w.Accelerator != "" || w.Host != "" {
			continue
		}
		if _, known := locations[w.Node]; !known {
			locations[w.Node] = w.Location
		}
		several = several || first >= 0 && w.Location != first
		first = w.Location
	}
	at := make([]int, len(addresses))
	if !several {
		for i := range at {
			at[i] = first
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

// middle returns an address in the middle of a block of memory, whose first page it may share
// with other blocks; nil if there is none.
func middle[E any](block []E) unsafe.Pointer {
	if len(block) == 0 {
		return nil
	}
	return unsafe.Pointer(&block[len(block)/2])
}
