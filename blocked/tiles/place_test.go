package tiles

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/topo"
)

// described returns a machine of two NUMA nodes with a CPU each that this process
// may use, so that threads can be pinned to them.
func described(t *testing.T) *topo.Machine {
	cpus, err := topo.Affinity()
	if err != nil {
		t.Skipf("threads cannot be pinned: %v", err)
	}
	if len(cpus) < 2 {
		t.Skip("needs two CPUs, to tell them apart")
	}
	return &topo.Machine{Nodes: []topo.Node{{ID: 0, CPUs: cpus[:1]}, {ID: 3, CPUs: cpus[1:2]}}}
}

// TestFirstTouch: each tile is touched by a thread that is pinned to the cores of
// its node, after its pages have been given back, from the first element to the
// last; and the threads are free again afterwards.
func TestFirstTouch(t *testing.T) {
	m := described(t)
	const nb = 96 // 72 KiB
	for _, home := range []Layout{nil, LayoutFunc(func(i, j int) int { return j / 2 }), LayoutFunc(func(i, j int) int { return -i })} {
		n := nodesOf(m, nil)
		var lock sync.Mutex
		touched := map[*byte]topo.CPUSet{}
		renewed := map[*byte]bool{}
		locked := 0
		var errs []error
		really := *n
		n.lock = func(cpus ...int) (func(), error) {
			release, err := really.lock(cpus...)
			lock.Lock()
			locked++
			errs = append(errs, err)
			lock.Unlock()
			return func() {
				release()
				lock.Lock()
				locked--
				lock.Unlock()
			}, err
		}
		n.renew = func(memory []byte) {
			lock.Lock()
			renewed[&memory[0]] = true
			lock.Unlock()
			really.renew(memory)
		}
		n.touch = func(memory []byte) {
			cpus, err := topo.Affinity()
			lock.Lock()
			errs = append(errs, err)
			touched[&memory[0]] = cpus
			if !renewed[&memory[0]] {
				errs = append(errs, errors.New("touched before it was given back"))
			}
			lock.Unlock()
			really.touch(memory)
		}
		a := Outline[float64](SymLower, 5*nb+7, 5*nb+7, nb)
		kept := NewTile[float64](a.TileDims(1, 0)) // what has memory keeps it
		kept.Data[3] = 5
		a.tiles[a.nt] = kept
		a.allocate(n, home)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if locked != 0 {
			t.Errorf("%d threads are still pinned", locked)
		}
		for i := range a.mt {
			for j := range a.nt {
				tile := &a.tiles[i*a.nt+j]
				if !a.Stored(i, j) {
					if tile.Data != nil {
						t.Errorf("tile (%d, %d) has memory", i, j)
					}
					continue
				}
				want := NewTile[float64](a.TileDims(i, j))
				if i == 1 && j == 0 {
					want = kept
				}
				if tile.Rows != want.Rows || tile.Cols != want.Cols || tile.Stride != want.Stride || !slices.Equal(tile.Data, want.Data) {
					t.Fatalf("tile (%d, %d) is %d×%d, stride %d", i, j, tile.Rows, tile.Cols, tile.Stride)
				}
				node := (i + j) % 2
				if home != nil {
					node = (home.Owner(i, j)%2 + 2) % 2
				}
				cpus, ok := touched[(*byte)(unsafe.Pointer(unsafe.SliceData(tile.Data)))]
				placed := len(tile.Data)*8 >= placedBytes && !(i == 1 && j == 0)
				if ok != placed || ok && !slices.Equal(cpus, m.Nodes[node].CPUs) {
					t.Errorf("tile (%d, %d): touched %v, by a thread on %v, want %v, on %v", i, j, ok, cpus, placed, m.Nodes[node].CPUs)
				}
			}
		}
	}
}

// TestFirstTouchFails: where no thread can be pinned the tiles have memory all the
// same.
func TestFirstTouchFails(t *testing.T) {
	n := nodesOf(&topo.Machine{Nodes: []topo.Node{{CPUs: topo.CPUSet{0}}, {CPUs: topo.CPUSet{1}}}}, nil)
	n.lock = func(...int) (func(), error) { return func() {}, errors.New("no") }
	a := Outline[float32](Full, 300, 310, 150)
	a.allocate(n, nil)
	for k := range a.tiles {
		if a.tiles[k].Data == nil {
			t.Errorf("tile %d has no memory", k)
		}
	}
}

// TestNodesOf says why tiles have no place.
func TestNodesOf(t *testing.T) {
	two := &topo.Machine{Nodes: []topo.Node{{CPUs: topo.CPUSet{0}}, {CPUs: topo.CPUSet{1}}}}
	for _, c := range []struct {
		m           *topo.Machine
		unsupported error
		nodes       int
		why         string
	}{
		{&topo.Machine{Nodes: two.Nodes[:1]}, nil, 0, "one NUMA node"},
		{two, topo.ErrUnsupported, 0, "affinity is not supported"},
		{two, nil, 2, ""},
	} {
		n := nodesOf(c.m, c.unsupported)
		if len(n.cpus) != c.nodes || (n.why == "") != (c.why == "") || !strings.Contains(n.why, c.why) {
			t.Errorf("%d nodes, %q; want %d, %q", len(n.cpus), n.why, c.nodes, c.why)
		}
	}
	if n, why := FirstTouch(); n < 1 || (n == 1) != (why != "") {
		t.Errorf("%d nodes, %q", n, why)
	}
}
