package core

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// web is nodes of which some pairs cannot pass values to each other, in a time of its own: it asks for
// supplies as a driver does, and fetches as nodes do.
type web struct {
	*NodeTable
	t    *testing.T
	cut  map[path]bool // what is cut in fact
	now  time.Duration
	from map[path]int // how often a value came over a path
}

func newWeb(t *testing.T, nodes int) *web {
	w := &web{NodeTable: &NodeTable{paths: &paths{}}, t: t, cut: map[path]bool{}, from: map[path]int{}}
	for i := range nodes {
		w.Nodes = append(w.Nodes, nodeState{memory: &Memory{Node: i}})
	}
	return w
}

// cuts has no value go from giver to reader any more, or back either.
func (w *web) cuts(reader, giver int, both bool) {
	w.cut[path{reader, giver}] = true
	if both {
		w.cut[path{giver, reader}] = true
	}
}

// datum returns a datum that a node has.
func (w *web) datum(holders ...int) *Entry {
	e := newEntry(1, transport.Ref{Job: 1, I: 1})
	e.Version, e.Holders = 1, append(e.Holders, holders...)
	e.Label.Bytes = 1 << 20
	return e
}

// fetch has a node fetch from the first of some nodes that can give a datum, and reports whether it
// has it then.
func (w *web) fetch(e *Entry, reader int, from []int) bool {
	for _, g := range from {
		if w.cut[path{reader, g}] {
			w.paths.NoteFailure(reader, g, At(w.now))
			continue
		}
		if e.Has(g) {
			w.from[path{reader, g}]++
			w.paths.NoteSuccess(reader, g)
			e.AddHolder(reader)
			return true
		}
	}
	e.CancelFetch(reader)
	return false
}

// get has a node get a datum, and returns after how many attempts and pauses it has, -1 and the nodes
// that are given up if it cannot.
func (w *web) get(e *Entry, reader int) (tries int, lost []int) {
	for tries := 1; ; tries++ {
		if tries > 100 {
			w.t.Fatalf("node %d does not get what %v have", reader, e.Holders)
		}
		w.paths.Begin(At(w.now))
		if !w.CanSupply(e, reader) {
			v := w.NoRoute(e, reader)
			if v.Lost != nil {
				return -1, v.Lost
			}
			if !v.At.After(At(w.now)) {
				w.t.Fatalf("nothing is tried, and nothing waited for")
			}
			w.now = v.At.Sub(At(0))
			continue
		}
		x := w.Supply(e, reader, true)
		if len(x.From) == 0 {
			w.t.Fatal("supplies says that there is something, and supply finds nothing")
		}
		if x.Relay >= 0 {
			w.fetch(e, x.Relay, x.Through)
			e.CancelFetch(x.Relay)
		}
		if w.fetch(e, reader, x.From) {
			return tries, nil
		}
	}
}

// TestPaths: a value goes by way of an agent that both reach, of the driver at worst; a path that is
// cut is tried again after longer and longer pauses; and when it heals values come directly.
func TestPaths(t *testing.T) {
	w := newWeb(t, 4)
	w.cuts(1, 2, true)
	if tries, _ := w.get(w.datum(2), 1); tries != 2 || w.from[path{1, 3}] != 1 || w.from[path{3, 2}] != 1 {
		t.Errorf("%d tries, values came over %v", tries, w.from)
	}
	for range 100 { // within the pause nobody tries
		if tries, _ := w.get(w.datum(2), 1); tries != 1 {
			t.Errorf("%d tries", tries)
		}
	}
	if w.from[path{1, 0}] > 0 {
		t.Error("the driver had to help though an agent could")
	}
	// With two agents only the driver is left.
	two := newWeb(t, 3)
	two.cuts(1, 2, false)
	if tries, _ := two.get(two.datum(2), 1); tries != 2 || two.from[path{1, 0}] != 1 {
		t.Errorf("%d tries, values came over %v", tries, two.from)
	}
	if tries, _ := two.get(two.datum(1), 2); tries != 1 || two.from[path{2, 1}] != 1 {
		t.Errorf("the other way is cut, too: %v", two.from)
	}
	// A minute of one value each tenth of a second: trials are few.
	failed := 0
	for range 600 {
		two.now += time.Second / 10
		if tries, _ := two.get(two.datum(2), 1); tries > 1 {
			failed++
		}
	}
	if failed < 4 || failed > 7 { // after 1, 2, 4, 8, 16 and 32 s
		t.Errorf("%d trials in a minute", failed)
	}
	delete(two.cut, path{1, 2})
	for range 330 {
		two.now += time.Second / 10
		two.get(two.datum(2), 1)
	}
	if n := two.from[path{1, 2}]; n == 0 || len(two.paths.Cut) > 0 {
		t.Errorf("after it has healed, %d values came over the path", n)
	}
}

// TestPathsDead: who is given up is the one that nobody reaches: the holder, or the node that is to have
// the value. Neither is as long as there is another way.
func TestPathsDead(t *testing.T) {
	alone := func(node int) *web {
		w := newWeb(t, 4)
		for i := range 4 {
			if i != node {
				w.cuts(node, i, true)
			}
		}
		return w
	}
	for _, x := range []struct{ holder, reader int }{{2, 1}, {2, 0}, {1, 2}, {0, 2}} {
		w := alone(2)
		if _, lost := w.get(w.datum(x.holder), x.reader); !slices.Equal(lost, []int{2}) {
			t.Errorf("from %d to %d: %v are given up, want node 2", x.holder, x.reader, lost)
		}
	}
	// A value that two have, one of whom nobody reaches.
	w := alone(2)
	if tries, lost := w.get(w.datum(2, 3), 1); lost != nil || w.from[path{1, 3}] != 1 {
		t.Errorf("%d tries, %v are given up", tries, lost)
	}
}

// TestPathsRandom: whatever is cut, a node gets what it needs if one node at most is between, and no node
// is given up that the driver reaches, and that reaches the driver.
func TestPathsRandom(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 14))
		n := 2 + rng.IntN(5)
		w := newWeb(t, n)
		for i := range n {
			for j := range n {
				if i != j && rng.IntN(3) == 0 {
					w.cuts(i, j, false)
				}
			}
		}
		for range 20 {
			holder, reader := rng.IntN(n), rng.IntN(n)
			if holder == reader {
				continue
			}
			way := !w.cut[path{reader, holder}]
			for k := range n {
				way = way || k != reader && k != holder && !w.cut[path{reader, k}] && !w.cut[path{k, holder}]
			}
			e := w.datum(holder)
			tries, lost := w.get(e, reader)
			if way && tries < 0 { // there may be one by way of two nodes
				t.Fatalf("seed %d: from %d to %d there is a way, and %v are given up", seed, holder, reader, lost)
			}
			for _, i := range lost {
				if i == 0 || !e.Has(i) && i != reader {
					t.Fatalf("seed %d: from %d to %d, and node %d is given up", seed, holder, reader, i)
				}
			}
			w.now += time.Duration(rng.IntN(5000)) * time.Millisecond
		}
	}
}
