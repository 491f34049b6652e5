package topo

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	m := Read(machine(2, 4, 2).fs(), Identity{}, upTo(16))
	var got []int
	for _, s := range m.Spread(20) {
		if len(s) != 1 {
			t.Fatalf("place %v", s)
		}
		got = append(got, s[0])
	}
	// Nodes in turn; cores 0-7 before their siblings 8-15; then again.
	want := []int{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15, 0, 4, 1, 5}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("places (-want +got):\n%s", d)
	}
	if got := m.Spread(0); got != nil {
		t.Errorf("no workers at %v", got)
	}
}

func TestSpreadProperties(t *testing.T) {
	for _, shape := range [][3]int{{1, 1, 1}, {1, 2, 1}, {1, 4, 2}, {2, 8, 2}, {4, 3, 4}} {
		sockets, cores, threads := shape[0], shape[1], shape[2]
		m := Read(machine(sockets, cores, threads).fs(), Identity{}, upTo(sockets*cores*threads))
		for n := 1; n <= 2*len(m.Allowed)+1; n++ {
			cpu, core, node := map[int]int{}, map[int]int{}, map[int]int{}
			for _, s := range m.Spread(n) {
				cpu[s[0]]++
				core[s[0]%(sockets*cores)]++
				node[m.NodeOf(s[0])]++
			}
			for name, even := range map[string]bool{
				"CPUs":  balanced(cpu, len(m.Allowed)),
				"cores": balanced(core, len(m.Cores)),
				"nodes": balanced(node, len(m.Nodes)),
			} {
				if !even {
					t.Errorf("%v: %d workers do not load %s evenly: %v %v %v", shape, n, name, cpu, core, node)
				}
			}
		}
	}
}

// balanced reports whether the loads of n things differ by one at most.
func balanced(load map[int]int, n int) bool {
	least, most := 1<<30, 0
	for _, l := range load {
		least, most = min(least, l), max(most, l)
	}
	if len(load) < n {
		least = 0
	}
	return most-least <= 1
}

func TestSpreadUneven(t *testing.T) {
	// Affinity leaves one core with two threads of node 0, three cores of
	// node 1: distinct cores go before an even count per node.
	m := Read(machine(2, 4, 2).fs(), Identity{}, CPUSet{0, 4, 5, 6, 8})
	if got, want := fmt.Sprint(m.Spread(5)), "[0 4 5 6 8]"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
}

func TestSpreadCaches(t *testing.T) {
	// One node, two last-level caches: workers alternate between them.
	root := machine(1, 4, 1)
	for cpu := range 4 {
		root.cache(cpu, 3, 3, "Unified", "16M", CPUSet{cpu / 2 * 2, cpu/2*2 + 1})
	}
	m := Read(root.fs(), Identity{}, upTo(4))
	if got, want := fmt.Sprint(m.Spread(4)), "[0 2 1 3]"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
	// The CPUs of one worker share one.
	if got, want := fmt.Sprint(m.SpreadUnits(2, 2)), "[0-1 2-3]"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
}

func TestSpreadUnits(t *testing.T) {
	m := Read(machine(2, 4, 2).fs(), Identity{}, upTo(16))
	for _, test := range []struct {
		n, units int
		want     string
	}{
		{2, 4, "[0-3 4-7]"},
		{4, 2, "[0-1 4-5 2-3 6-7]"},
		{4, 4, "[0-3 4-7 8-11 12-15]"},
		{2, 8, "[0-3,8-11 4-7,12-15]"},
		{1, 10, "[0-5,8-11]"},  // more than a node has: the rest from the next
		{2, 99, "[0-15 0-15]"}, // more than the machine has
	} {
		if got := fmt.Sprint(m.SpreadUnits(test.n, test.units)); got != test.want {
			t.Errorf("%d workers of %d units: %s, want %s", test.n, test.units, got, test.want)
		}
	}
}

func TestSpreadUnitsWrap(t *testing.T) {
	// Three workers of six do not fit: some CPUs serve two workers, but no
	// worker leaves its node and none is served by more CPUs than need be.
	m := Read(machine(2, 4, 2).fs(), Identity{}, upTo(16))
	load := map[int]int{}
	for _, s := range m.SpreadUnits(3, 6) {
		if len(s) != 6 || m.NodeOf(s[0]) != m.NodeOf(s[5]) {
			t.Errorf("place %v is not 6 CPUs of one node", s)
		}
		for _, c := range s {
			load[c]++
		}
	}
	if len(load) != 14 {
		t.Errorf("18 units on %d CPUs, want 14: %v", len(load), load)
	}
}

func TestPin(t *testing.T) {
	m := Detect()
	before, err := Affinity()
	if err == ErrUnsupported {
		if Pin(0) != ErrUnsupported {
			t.Error("Pin works where Affinity does not")
		}
		release, err := Lock(0)
		release()
		if err != ErrUnsupported {
			t.Errorf("Lock: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	cpu := m.Allowed[len(m.Allowed)-1]
	release, err := Lock(cpu)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Affinity(); err != nil || !cmp.Equal(got, CPUSet{cpu}) {
		t.Errorf("pinned to %v (%v), want %d", got, err, cpu)
	}
	release()
	if got, err := Affinity(); err != nil || !cmp.Equal(got, before) {
		t.Errorf("released to %v (%v), want %v", got, err, before)
	}
	for _, bad := range [][]int{nil, {-1}, {1 << 30}, {maxCPU - 1}} {
		if Pin(bad...) == nil {
			t.Errorf("pinned to %v", bad)
		}
	}
}
