package parts_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/topo"
)

// TestTilesOnNodes: on a machine with several NUMA nodes, the memory of a tile lies on the node that its place in the
// matrix gives it, as the kernel says of its page and of the process as a whole; and partitions are at the workers of
// that node.
func TestTilesOnNodes(t *testing.T) {
	m := topo.Here()
	nodes := len(m.Nodes)
	if nodes < 2 {
		t.Skip("this machine has one NUMA node")
	}
	if n, why := tiles.FirstTouch(); n != nodes {
		t.Fatalf("tiles are spread over %d nodes: %s", n, why)
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 2 * nodes})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	location := map[int]int{} // by node
	for _, w := range rt.Workers() {
		location[w.Node] = w.Location
	}
	const nb, nt = 256, 8 // tiles of 0.5 MiB, 32 MiB in all
	var kept []*blocked.Matrix[float64]
	for _, home := range []blocked.Layout{nil, tiles.LayoutFunc(func(_, j int) int { return j })} {
		before := pagesByNode(t)
		a := tiles.NewOn[float64](blocked.Full, nt*nb, nt*nb, nb, home)
		after := pagesByNode(t)
		kept = append(kept, a) // its memory is not that of the next one
		blocks := parts.TileBlocksOf(a)
		at := blocks.Locate(rt)
		elsewhere, unknown := 0, 0
		for b := range at {
			i, j := blocks.Index(b)
			owner := i + j
			if home != nil {
				owner = home.Owner(i, j)
			}
			switch {
			case at[b] < 0:
				unknown++ // the kernel is looking who comes for its pages
			case at[b] != location[m.Nodes[owner%nodes].ID]:
				elsewhere++
			}
		}
		t.Logf("of %d tiles, %d lie on other nodes than theirs, and %d at places unknown", len(at), elsewhere, unknown)
		// A large page of 2 MiB may have tiles of two nodes, and they meet at some places of the heap.
		if elsewhere > len(at)/8 || unknown == len(at) {
			t.Error("tiles do not lie on their nodes")
		}
		for _, n := range m.Nodes {
			got, want := (after[n.ID]-before[n.ID])<<12, a.Bytes()/int64(nodes)
			if got < want/2 || got > want*2 { // other memory of the process comes and moves, too
				t.Errorf("node %d has %d bytes more, want %d", n.ID, got, want)
			}
		}
		for _, p := range parts.Split(rt, blocks, 0).Partitions() {
			for _, b := range p.Indexes() {
				if at[b] >= 0 && p.Location != at[b] {
					t.Errorf("tile %d, at %d, is in a partition at %d", b, at[b], p.Location)
				}
			}
		}
	}
	runtime.KeepAlive(kept)
}

// pagesByNode returns how many pages of 4 KiB this process has on each node: /proc/self/numa_maps counts them by
// mapping, as in "N0=513 N1=2 kernelpagesize_kB=4".
func pagesByNode(t *testing.T) map[int]int64 {
	text, err := os.ReadFile("/proc/self/numa_maps")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[int]int64{}
	for _, count := range regexp.MustCompile(`\bN(\d+)=(\d+)`).FindAllStringSubmatch(string(text), -1) {
		node, errNode := strconv.Atoi(count[1])
		n, err := strconv.ParseInt(count[2], 10, 64)
		if err != nil || errNode != nil {
			t.Fatal(fmt.Errorf("%q: %v, %v", count[0], errNode, err))
		}
		pages[node] += n
	}
	return pages
}
