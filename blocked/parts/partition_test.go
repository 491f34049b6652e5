package parts

import (
	"errors"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"pgregory.net/rapid"
)

func localRuntime(t testing.TB, workers int) exec.Runtime {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// located is a collection that lies where it is told, and counts how often it is asked.
type located struct {
	Lists[int]
	at    []int
	asked int
}

func (l *located) Locate(exec.Runtime) []int { l.asked++; return l.at }

// numbered returns items that hold their own numbers, in blocks of these sizes.
func numbered(sizes ...int) (l Lists[int]) {
	n := 0
	for _, s := range sizes {
		b := make([]int, s)
		for i := range b {
			b[i] = n
			n++
		}
		l = append(l, b)
	}
	return l
}

// TestSplit: blocks go where they lie, in as many partitions as is asked for, with one look-up.
func TestSplit(t *testing.T) {
	rt := localRuntime(t, 3) // all at location 0
	c := &located{Lists: numbered(4, 1, 3, 2, 2), at: []int{0, 0, 0, 0, 0}}
	for multiplicity, want := range map[int][][]int{
		0: {{0}, {1, 2}, {3, 4}}, 1: {{0, 1, 2, 3, 4}}, 2: {{0, 1}, {2, 3, 4}}, 9: {{0}, {1}, {2}, {3}, {4}},
	} {
		c.asked = 0
		ps := Split(rt, c, multiplicity)
		if c.asked != 1 {
			t.Errorf("%d look-ups", c.asked)
		}
		var got [][]int
		for _, p := range ps.Partitions() {
			got = append(got, p.Indexes())
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("multiplicity %d: %v, want %v", multiplicity, got, want)
		}
	}
	// Blocks of unlike places, of which one has no workers and one is not known.
	places := []place{{location: 3, workers: 2}, {location: 5, workers: 1}}
	sizes := []blockSize{{1, 8}, {1, 8}, {2, 16}, {0, 0}, {1, 8}, {1, 8}}
	ps := split(sizes, []int{5, 3, 5, 3, 9, -1}, places, 0)
	if len(ps.list) != 3 || ps.list[0].Location != 3 || ps.list[2].Location != 5 || !slices.Equal(ps.blocks, []int{1, 3, 4, 5, 0, 2}) {
		t.Errorf("%+v", ps)
	}
	if got := slices.Collect(ps.list[2].ItemIndexes()); !slices.Equal(got, []int{0, 2, 3}) {
		t.Error(got)
	}
	if got := ps.Parts(); !slices.Equal(got, []loop.Part{{Items: 2, Location: 3}, {Items: 1, Location: 3}, {Items: 3, Location: 5}}) {
		t.Error(got)
	}
	for name, f := range map[string]func(){
		"multiplicity": func() { Split(rt, c, -1) },
		"items":        func() { split([]blockSize{{-1, 0}}, []int{0}, places, 0) },
		"places":       func() { split(sizes, nil, places, 0) },
	} {
		if got := panicOf(f); got != blocked.ErrShape {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := panicOf(func() { ps.Spans(2, 7) }); got != blocked.ErrIndex {
		t.Error(got)
	}
	none := Split(rt, Lists[int]{}, 0)
	if none.Len() != 0 || len(none.Partitions()) != 0 {
		t.Errorf("%+v", none)
	}
	if err := loop.For(t.Context(), rt, 0, loop.Options{Parts: none.Parts()}, func(loop.Chunk) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// TestSplitProperties: each block is in one partition of its place, each item in one span, and
// partitions differ by little more than a block.
func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 40).Draw(t, "items")
		places := make([]place, rapid.IntRange(1, 4).Draw(t, "places"))
		for i := range places {
			places[i] = place{location: 2 * i, workers: rapid.IntRange(1, 5).Draw(t, "workers")}
		}
		sizes, at, total := make([]blockSize, len(items)), make([]int, len(items)), 0
		for b, n := range items {
			sizes[b], at[b] = blockSize{n, int64(8 * n)}, rapid.IntRange(-1, 7).Draw(t, "at")
			total += n
		}
		multiplicity := rapid.IntRange(0, 6).Draw(t, "multiplicity")
		ps := split(sizes, at, slices.Clone(places), multiplicity)
		seen, most := make([]int, len(items)), int64(8*9)
		byPlace := map[int][]int64{}
		var order []int
		for _, p := range ps.Partitions() {
			var bytes int64
			if len(p.Indexes()) == 0 || !slices.IsSorted(p.Indexes()) {
				t.Fatalf("%v", p.Indexes())
			}
			for _, b := range p.Indexes() {
				seen[b]++
				bytes += sizes[b].bytes
				if known := at[b] >= 0 && at[b]%2 == 0 && at[b]/2 < len(places); known && at[b] != p.Location {
					t.Fatalf("block %d of place %d is at %d", b, at[b], p.Location)
				}
			}
			byPlace[p.Location] = append(byPlace[p.Location], bytes)
			one := slices.Collect(p.ItemIndexes())
			if len(one) != p.Len() {
				t.Fatal(len(one), p.Len())
			}
			order = append(order, one...)
		}
		for b := range seen {
			if seen[b] != 1 {
				t.Fatalf("block %d is in %d partitions", b, seen[b])
			}
		}
		for l, all := range byPlace {
			n := multiplicity
			if n == 0 {
				n = places[l/2].workers
			}
			if len(all) > n {
				t.Fatalf("%d partitions at %d, multiplicity %d", len(all), l, multiplicity)
			}
			if slices.Max(all)-slices.Min(all) > 2*most {
				t.Fatalf("bytes %v", all)
			}
		}
		if ps.Len() != total {
			t.Fatal(ps.Len(), total)
		}
		// Spans of any cut go through the items in that order.
		cutAt := rapid.IntRange(0, total).Draw(t, "cut")
		var again []int
		for _, x := range [][2]int{{0, cutAt}, {cutAt, total}} {
			for s := range ps.Spans(x[0], x[1]) {
				if s.Lo >= s.Hi || s.Hi > items[s.Block] {
					t.Fatalf("%+v", s)
				}
				for i := range s.Hi - s.Lo {
					again = append(again, s.First+i)
				}
			}
		}
		if !slices.Equal(order, again) {
			t.Fatalf("%v, %v", order, again)
		}
		slices.Sort(order)
		for i, x := range order {
			if x != i {
				t.Fatalf("item %d: %d", i, x)
			}
		}
	})
}

// TestPartitionLoop: a loop over partitions meets each item once and with its number, in all
// collections, as they are, rechunked and materialised.
func TestPartitionLoop(t *testing.T) {
	rt := localRuntime(t, 3)
	lists := numbered(3, 0, 5, 1, 7)
	ps := Split(rt, lists, 2)
	sums := make([]int, ps.Len())
	if err := loop.For(t.Context(), rt, ps.Len(), loop.Options{Parts: ps.Parts()}, func(c loop.Chunk) error {
		for s := range ps.Spans(c.Lo, c.Hi) {
			for i, x := range lists[s.Block][s.Lo:s.Hi] {
				sums[s.First+i] += x + 1
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, x := range sums {
		if x != i+1 {
			t.Errorf("item %d: %d", i, x-1)
		}
	}
	again, err := lists.Rechunk(t.Context(), rt, 6)
	if err != nil || len(again) != 3 || len(again[2]) != 4 || !slices.Equal(slices.Concat(again...), slices.Concat(lists...)) {
		t.Error(again, err)
	}
	local, err := lists.Materialize(t.Context(), rt, ps)
	if err != nil || len(local) != 2 {
		t.Fatal(local, err)
	}
	for j, p := range ps.Partitions() {
		if !slices.Equal(local[j], slices.Collect(p.ItemIndexes())) {
			t.Errorf("partition %d: %v", j, local[j])
		}
	}
	if got := panicOf(func() { lists.Rechunk(t.Context(), rt, 0) }); got != blocked.ErrShape {
		t.Error(got)
	}
}

func TestRowBlocks(t *testing.T) {
	rt := localRuntime(t, 2)
	const n, d, ld = 23, 3, 5
	g := blocked.General[float64]{Rows: n, Cols: d, Stride: ld, Data: make([]float64, n*ld)}
	for i := range g.Data {
		g.Data[i] = math.NaN()
	}
	for i := range n {
		for j := range d {
			g.Set(i, j, float64(10*i+j))
		}
	}
	m := blocked.New[float64](blocked.Full, n, d, 4)
	m.CopyFrom(g, blocked.CopyOptions{})
	half := func(lo, hi int) blocked.General[float64] {
		return blocked.General[float64]{Rows: hi - lo, Cols: d, Stride: ld, Data: g.Data[lo*ld:]}
	}
	joined, err := JoinRows(half(0, 1), half(1, 1), half(1, 15), half(15, n))
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*RowBlocks[float64]{"joined": joined, "matrix": RowBlocksOf(m)} {
		if r, c := a.Dims(); r != n || c != d {
			t.Errorf("%s: %d×%d", name, r, c)
		}
		checkRows := func(what string, a *RowBlocks[float64], numbers []int) {
			i := 0
			for b := range a.Blocks() {
				if a.Bytes(b) != int64(8*d*a.Items(b)) {
					t.Errorf("%s, %s: block %d has %d bytes", name, what, b, a.Bytes(b))
				}
				for r := range a.Items(b) {
					for j := range d {
						if got := a.Block(b).At(r, j); got != float64(10*numbers[i]+j) {
							t.Fatalf("%s, %s: row %d of block %d: %v", name, what, r, b, got)
						}
					}
					i++
				}
			}
			if i != n {
				t.Errorf("%s, %s: %d rows", name, what, i)
			}
		}
		var numbers []int
		for i := range n {
			numbers = append(numbers, i)
		}
		checkRows("itself", a, numbers)
		again, err := a.Rechunk(t.Context(), rt, 10)
		if err != nil || again.Blocks() != 3 {
			t.Fatal(err, again.Blocks())
		}
		checkRows("rechunked", again, numbers)
		ps := split(sizesOf(a), []int{1, 0, 1, 0, 1, 0}[:a.Blocks()], []place{{location: 0, workers: 1}, {location: 1, workers: 1}}, 0)
		local, err := a.Materialize(t.Context(), rt, ps)
		if err != nil || local.Blocks() != 2 {
			t.Fatal(err, local.Blocks())
		}
		numbers = nil
		for _, p := range ps.Partitions() {
			numbers = slices.AppendSeq(numbers, p.ItemIndexes())
		}
		checkRows("materialised", local, numbers)
	}
	// Blocks are the memory that they were made of.
	if RowBlocksOf(m).Block(0).Set(0, 0, -2); m.At(0, 0) != -2 {
		t.Error("copied")
	}
	var se *blocked.StorageError
	if _, err := JoinRows(half(0, 2), blocked.General[float64]{Rows: 1, Cols: 2, Stride: 2, Data: make([]float64, 2)}); !errors.As(err, &se) || se.Cols != 2 {
		t.Error(err)
	}
	if _, err := JoinRows(blocked.General[float64]{Rows: 3, Cols: 2, Stride: 2, Data: make([]float64, 2)}); !errors.As(err, &se) {
		t.Error(err)
	}
	for want, f := range map[blocked.Error]func(){
		blocked.ErrShape: func() { RowBlocksOf(blocked.New[float64](blocked.Full, 3, 3, 2)) },
		blocked.ErrKind:  func() { RowBlocksOf(blocked.New[float64](blocked.SymLower, 2, 2, 2)) },
	} {
		if got := panicOf(f); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestNear: the kernel is asked once, if there is a choice; what it does not tell is not known.
func TestNear(t *testing.T) {
	memory := make([]float64, 1<<16)
	addresses := []unsafe.Pointer{middle(memory[:1<<15]), middle(memory[1<<15:]), middle(memory[:0])}
	var asked int
	ask := func(at []unsafe.Pointer) []int32 {
		asked++
		return []int32{8, 2, -14}[:len(at)]
	}
	workers := []exec.Worker{{Node: 2, Location: 0}, {Node: 8, Location: 1}, {Location: 2, Accelerator: "gpu"}, {Node: 9, Location: 7, Host: "b"}}
	if got := near(workers, addresses, ask); !slices.Equal(got, []int{1, 0, -1}) || asked != 1 {
		t.Error(got, asked)
	}
	if got := near(workers[:1], addresses, ask); !slices.Equal(got, []int{0, 0, 0}) || asked != 1 {
		t.Error(got, asked)
	}
	if got := near(workers, addresses, func([]unsafe.Pointer) []int32 { return nil }); !slices.Equal(got, []int{-1, -1, -1}) {
		t.Error(got)
	}
	memory[1<<14], memory[3<<14] = 1, 1
	if at := nodesAt(addresses); at != nil && (at[0] < 0 || at[1] < 0 || at[2] >= 0) {
		t.Errorf("nodes of touched pages, and of none: %v", at)
	} else if at == nil {
		t.Log("the kernel does not tell where pages are")
	}
}
