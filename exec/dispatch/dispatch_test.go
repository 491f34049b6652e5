package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec/graph"
)

type op struct{}

func (op) OpName() string { return "op" }

// makeTask returns a ready task with inputs of the given sizes at the given
// locations.
func makeTask(g *graph.Graph, priority int64, at map[int]int64) *graph.Task {
	s := graph.Spec{Op: op{}, Priority: priority}
	for loc, bytes := range at {
		d := &graph.Datum{Bytes: bytes}
		d.SetHome(loc)
		s.Operands = append(s.Operands, graph.Operand{Datum: d, Mode: graph.In})
	}
	t, ready := g.Add(&s)
	if !ready {
		panic("not ready")
	}
	return t
}

func ids(ts []*graph.Task) (ids []int) {
	for _, t := range ts {
		ids = append(ids, int(t.ID()))
	}
	return ids
}

// popAll empties p on behalf of a worker.
func popAll(p Policy, worker int) (order []*graph.Task) {
	for t := p.Pop(worker); t != nil; t = p.Pop(worker) {
		order = append(order, t)
	}
	return order
}

func TestOrder(t *testing.T) {
	g := &graph.Graph{}
	// Number, priority and where the input is.
	tasks := []*graph.Task{
		makeTask(g, 5, nil),                           // 1
		makeTask(g, 9, map[int]int64{0: 100}),         // 2
		makeTask(g, 5, map[int]int64{1: 50}),          // 3
		makeTask(g, -1, map[int]int64{0: 10, 1: 200}), // 4
		makeTask(g, 9, map[int]int64{0: 100}),         // 5
	}
	for _, c := range []struct {
		kind Kind
		want []int // order for worker 0
	}{
		{FIFO, []int{1, 2, 3, 4, 5}},
		{LIFO, []int{5, 4, 3, 2, 1}},
		{Priority, []int{2, 5, 1, 3, 4}},
		{Locality, []int{2, 5, 4, 1, 3}},
		{FIFOData, []int{2, 5, 4, 1, 3}},
		// Dealt to workers 0, 1, 0, 1, 0: the latest of its own, then the oldest
		// of the other's.
		{Steal, []int{5, 3, 1, 2, 4}},
		{StealRandom, []int{5, 3, 1, 2, 4}},
		{StealNUMA, []int{5, 3, 1, 2, 4}},
		{EarliestFinish, []int{2, 5, 1, 3, 4}}, // nothing is known: all to worker 0
	} {
		p := New(c.kind, Workers(2))
		p.Push(tasks, -1)
		if p.Len() != len(tasks) {
			t.Errorf("%v: Len %d", c.kind, p.Len())
		}
		if got := ids(popAll(p, 0)); !slices.Equal(got, c.want) {
			t.Errorf("%v: order %v, want %v", c.kind, got, c.want)
		}
	}
}

// TestPriorityExtremes: heaps of all small sizes, with the priorities at the ends of
// their range.
func TestPriorityExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	levels := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for n := range 100 {
		g := &graph.Graph{}
		var tasks []*graph.Task
		for range n {
			tasks = append(tasks, makeTask(g, levels[r.IntN(len(levels))], nil))
		}
		r.Shuffle(n, func(i, k int) { tasks[i], tasks[k] = tasks[k], tasks[i] })
		p := New(Priority, Workers(1))
		p.Push(tasks, -1)
		slices.SortFunc(tasks, func(a, b *graph.Task) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID(), b.ID()))
		})
		if got := popAll(p, 0); !slices.Equal(got, tasks) {
			t.Fatalf("%d tasks: order %v, want %v", n, ids(got), ids(tasks))
		}
	}
}

func TestFIFODataTakesWhatItFreed(t *testing.T) {
	g := &graph.Graph{}
	p := New(FIFOData, Workers(2))
	old := makeTask(g, 0, map[int]int64{0: 1000})
	p.Push([]*graph.Task{old}, -1)
	a, b := makeTask(g, 0, map[int]int64{1: 9}), makeTask(g, 0, nil)
	p.Push([]*graph.Task{a, b}, 0)
	if got := p.Pop(0); got != a {
		t.Fatalf("first is task %d, want the first one freed", got.ID())
	}
	// Worker 1 may take what worker 0 has freed; here by locality it is the
	// oldest one, then the other.
	if got := p.Pop(1); got != old {
		t.Fatalf("worker 1 got task %d, want the one ready for longest", got.ID())
	}
	c := makeTask(g, 0, map[int]int64{0: 5})
	p.Push([]*graph.Task{c}, -1)
	// The task that worker 0 ends now frees nothing: b is not its own any more.
	p.Push(nil, 0)
	if got := p.Pop(0); got != c {
		t.Fatalf("got task %d, want by locality", got.ID())
	}
	if got := p.Pop(0); got != b {
		t.Fatalf("got task %d, want what is left", got.ID())
	}
	if p.Pop(0) != nil || p.Pop(1) != nil || p.Len() != 0 {
		t.Error("not empty")
	}
}

// oracle says which tasks a policy may hand to a worker next, slowly.
func oracle(kind Kind, held []*graph.Task, since map[*graph.Task]int, freed []*graph.Task, worker int) *graph.Task {
	local := func(t *graph.Task) (n int64) {
		for i := range t.Len() {
			if o := t.Operand(i); o.Datum.Home() == worker {
				n += o.Datum.Bytes
			}
		}
		return n
	}
	if kind == FIFOData {
		for _, t := range freed {
			if slices.Contains(held, t) {
				return t
			}
		}
	}
	var best *graph.Task
	for _, t := range held {
		better := best == nil
		if !better {
			switch kind {
			case FIFO:
				better = since[t] < since[best]
			case LIFO:
				better = since[t] > since[best]
			case Priority:
				better = t.Priority > best.Priority || (t.Priority == best.Priority && t.ID() < best.ID())
			default:
				lt, lb := local(t), local(best)
				better = lt > lb || (lt == lb && since[t] < since[best])
			}
		}
		if better {
			best = t
		}
	}
	return best
}

// steal is the oracle of the stealing policies: the last task of the thief's
// own deque, or the first one of the first victim that has any.
func steal(held []*graph.Task, owner, at map[*graph.Task]int, thief int, order []int) *graph.Task {
	for _, v := range order {
		var best *graph.Task
		for _, t := range held {
			if owner[t] == v && (best == nil || (v == thief) == (at[t] > at[best])) {
				best = t
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// TestVictims: whoever steals tries everyone once.
func TestVictims(t *testing.T) {
	nodes := []int{0, 1, 0, 1, 2}
	for _, v := range []victims{sequential(5), newRandom(5), newNUMAFirst(nodes)} {
		for thief := -1; thief < 5; thief++ {
			var tried []int
			for i := range 5 {
				tried = append(tried, v.victim(thief, i))
			}
			if _, ok := v.(*numaFirst); ok && thief >= 0 {
				for i, w := range tried {
					if near := nodes[w] == nodes[thief]; near != (i < len(slices.DeleteFunc(slices.Clone(nodes), func(n int) bool { return n != nodes[thief] }))) {
						t.Errorf("thief %d tries %v", thief, tried)
					}
				}
			}
			slices.Sort(tried)
			if !slices.Equal(tried, []int{0, 1, 2, 3, 4}) {
				t.Errorf("%T: thief %d tries %v", v, thief, tried)
			}
		}
	}
}

// TestAgainstOracle drives every policy with random operations.
func TestAgainstOracle(t *testing.T) {
	const workers = 3
	nodes := []int{0, 1, 0}
	for _, kind := range Kinds() {
		if kind == EarliestFinish {
			continue // TestEarliestFinishRandom
		}
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, uint64(kind)))
			g := &graph.Graph{}
			p := New(kind, Machine{Nodes: nodes})
			var held []*graph.Task
			since := map[*graph.Task]int{}
			var freed [workers][]*graph.Task
			dealt := 0
			owner := map[*graph.Task]int{}
			at := map[*graph.Task]int{} // place in its owner's deque
			thefts := newRandom(workers)
			for range 300 {
				if r.IntN(2) == 0 {
					from := r.IntN(workers+1) - 1
					var batch []*graph.Task
					for range r.IntN(4) {
						at := map[int]int64{}
						for range r.IntN(3) {
							at[r.IntN(workers+1)-1] = int64(r.IntN(4))
						}
						task := makeTask(g, int64(r.IntN(5)), at)
						batch = append(batch, task)
						since[task] = len(since)
					}
					p.Push(batch, from)
					for i, task := range batch {
						owner[task], at[task] = from, 1000*len(since)-i
						if from < 0 {
							owner[task], at[task] = dealt%workers, 1000*len(since)+i
							dealt++
						}
					}
					held = append(held, batch...)
					if from >= 0 {
						freed[from] = batch
					}
					continue
				}
				w := r.IntN(workers)
				want := oracle(kind, held, since, freed[w], w)
				switch kind {
				case Steal:
					want = steal(held, owner, at, w, []int{w, (w + 1) % 3, (w + 2) % 3})
				case StealRandom:
					order := []int{w}
					if i := slices.IndexFunc(held, func(t *graph.Task) bool { return owner[t] == w }); i < 0 && len(held) > 0 {
						first := thefts.victim(w, 0)
						order = append(order, first, (first+1)%3, (first+2)%3)
					}
					want = steal(held, owner, at, w, order)
				case StealNUMA:
					want = steal(held, owner, at, w, [][]int{{0, 2, 1}, {1, 2, 0}, {2, 0, 1}}[w])
				}
				got := p.Pop(w)
				if got != want {
					t.Fatalf("%v, seed %d: got %v, want %v", kind, seed, got, want)
				}
				if i := slices.Index(held, got); i >= 0 {
					held = slices.Delete(held, i, i+1)
				}
				if p.Len() != len(held) {
					t.Fatalf("%v, seed %d: Len %d, want %d", kind, seed, p.Len(), len(held))
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, k := range Kinds() {
		if got, err := Parse(k.String()); got != k || err != nil {
			t.Errorf("Parse(%q) = %v, %v", k, got, err)
		}
	}
	var unknown *UnknownKindError
	if _, err := Parse("best"); !errors.As(err, &unknown) || unknown.Word != "best" {
		t.Errorf("%v", err)
	}
}

// BenchmarkPushPop is the cost of handing one task through a policy that
// already holds others.
func BenchmarkPushPop(b *testing.B) {
	for _, kind := range Kinds() {
		for _, n := range []int{10, 1000, 100000} {
			b.Run(fmt.Sprintf("%v/held=%d", kind, n), func(b *testing.B) {
				g := &graph.Graph{}
				p := New(kind, Workers(2))
				r := rand.New(rand.NewPCG(1, 1))
				for range n {
					p.Push([]*graph.Task{makeTask(g, int64(r.IntN(1000)), map[int]int64{r.IntN(2): int64(r.IntN(3))})}, -1)
				}
				one := []*graph.Task{p.Pop(0)}
				b.ReportAllocs()
				for b.Loop() {
					p.Push(one, 0)
					one[0] = p.Pop(0)
				}
			})
		}
	}
}
