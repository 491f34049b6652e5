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

// workers returns the machine of n workers at one location.
func workers(n int) Machine { return Machine{Locations: make([]int, n)} }

type op struct{}

func (op) OpName() string { return "op" }

// makeTask returns a ready task with inputs of the given sizes at the given
// locations.
func makeTask(g *graph.Graph, priority int64, at map[int]int64) *graph.Task {
	s := graph.Spec{Op: op{}, Priority: priority}
	for loc, bytes := range at {
		d := &graph.Datum{Bytes: bytes}
		if loc >= 0 {
			d.SetAt(1 << loc)
		}
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

// each makes the policies that the tests drive: all kinds, and one of a program.
func each(m Machine, f func(name string, p Policy)) {
	for _, kind := range Kinds() {
		f(kind.String(), New(kind, m))
	}
	f("score", ByScore(oddest)(m))
}

// oddest is a score of which all kinds of numbers come out.
func oddest(t *graph.Task, location int) float64 {
	switch (int(t.ID()) + location) % 5 {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(-1)
	case 2:
		return math.Inf(1)
	}
	return float64(int(t.ID())*(location+1)%3) - 1
}

func TestOrder(t *testing.T) {
	for name, want := range map[string][3][]int{ // order for worker 0, if nobody or worker 0 or worker 1 has freed them
		"priority": {{2, 5, 1, 3, 4}, {2, 5, 1, 3, 4}, {2, 5, 1, 3, 4}},
		"fifo":     {{1, 2, 3, 4, 5}, {2, 5, 1, 3, 4}, {2, 5, 1, 3, 4}},
		"lifo":     {{5, 4, 3, 2, 1}, {2, 5, 1, 3, 4}, {2, 5, 1, 3, 4}},
		"locality": {{2, 5, 4, 1, 3}, {2, 5, 4, 1, 3}, {2, 5, 4, 1, 3}},
		"fifodata": {{2, 5, 4, 1, 3}, {2, 5, 1, 3, 4}, {2, 5, 4, 1, 3}},
		// Dealt to workers 0, 1, 0, 1, 0: the latest of its own, then the oldest
		// of the other's, which is the last in order.
		"steal": {{5, 3, 1, 2, 4}, {2, 5, 1, 3, 4}, {4, 3, 1, 5, 2}},
		"eft":   {{2, 5, 1, 3, 4}, {2, 5, 1, 3, 4}, nil}, // nothing is known: all to one worker
		"score": {{2, 4, 3, 5, 1}, {2, 4, 3, 5, 1}, {2, 4, 3, 5, 1}},
	} {
		for from, want := range want {
			each(Machine{Locations: []int{0, 1}}, func(kind string, p Policy) {
				if kind != name || want == nil {
					return
				}
				g := &graph.Graph{}
				// Number, priority and where the input is.
				tasks := []*graph.Task{
					makeTask(g, 5, nil),                           // 1
					makeTask(g, 9, map[int]int64{0: 100}),         // 2
					makeTask(g, 5, map[int]int64{1: 50}),          // 3
					makeTask(g, -1, map[int]int64{0: 10, 1: 200}), // 4
					makeTask(g, 9, map[int]int64{0: 100}),         // 5
				}
				p.Push(tasks, from-1)
				if p.Len() != len(tasks) {
					t.Errorf("%v: Len %d", name, p.Len())
				}
				if got := ids(popAll(p, 0)); !slices.Equal(got, want) {
					t.Errorf("%v, freed by %d: order %v, want %v", name, from-1, got, want)
				}
			})
		}
	}
}

// TestOneLocation: where all workers are at one location, locality is priority.
func TestOneLocation(t *testing.T) {
	g := &graph.Graph{}
	low, high := makeTask(g, 1, map[int]int64{0: 100}), makeTask(g, 2, nil)
	for _, kind := range []Kind{Locality, FIFOData} {
		p := New(kind, workers(3))
		p.Push([]*graph.Task{low, high}, -1)
		if got := popAll(p, 2); !slices.Equal(got, []*graph.Task{high, low}) {
			t.Errorf("%v: order %v", kind, ids(got))
		}
	}
}

// TestReplicas: a copy counts as the value does, until somebody writes the value;
// and memory that a host has stays where it is.
func TestReplicas(t *testing.T) {
	const node0, node1, device = 0, 1, 2
	const host = graph.Locations(1<<node0 | 1<<node1)
	g := &graph.Graph{}
	d := &graph.Datum{Bytes: 8}
	use := func(mode graph.Mode, at int, fixed graph.Locations) {
		task, _ := g.Add(&graph.Spec{Op: op{}, Operands: []graph.Operand{{Datum: d, Mode: mode}}})
		task.Used(at, fixed)
		g.End(task, graph.Done, nil, nil)
	}
	for i, step := range []struct {
		mode  graph.Mode
		at    int
		fixed graph.Locations
		want  graph.Locations
	}{
		{graph.In, node1, host, 1 << node1},           // touched there first
		{graph.Out, node0, host, 1 << node1},          // and there its memory stays
		{graph.In, device, 0, 1<<node1 | 1<<device},   // a copy
		{graph.InOut, node0, host, 1 << node1},        // that is old now
		{graph.InOut, device, 0, 1 << device},         // the host's is
		{graph.In, node0, host, 1<<node0 | 1<<device}, // comes back
		{graph.In, 77, 0, 1<<node0 | 1<<device},       // where nobody counts
	} {
		if use(step.mode, step.at, step.fixed); d.At() != step.want {
			t.Fatalf("step %d: at %b, want %b", i, d.At(), step.want)
		}
	}
	task, _ := g.Add(&graph.Spec{Op: op{}, Operands: []graph.Operand{{Datum: d, Mode: graph.In}, {Datum: d, Mode: graph.In}, {Datum: &graph.Datum{Bytes: 100}, Mode: graph.In}}})
	if task.BytesAt(device) != 8 || task.BytesAt(node1) != 0 || task.BytesAt(99) != 0 {
		t.Errorf("%d bytes on the device, %d on node 1", task.BytesAt(device), task.BytesAt(node1))
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
		p := New(Priority, workers(1))
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
	p := New(FIFOData, Machine{Locations: []int{0, 1}})
	old := makeTask(g, 0, map[int]int64{0: 1000})
	p.Push([]*graph.Task{old}, -1)
	a, b := makeTask(g, 0, map[int]int64{1: 9}), makeTask(g, 0, nil)
	p.Push([]*graph.Task{a, b}, 0)
	if got := p.Pop(0); got != a {
		t.Fatalf("first is task %d, want the first one freed", got.ID())
	}
	// Worker 1 may take what worker 0 has freed; here, where none of its data are, it
	// is the oldest one, then the other.
	if got := p.Pop(1); got != old {
		t.Fatalf("worker 1 got task %d, want the first in order", got.ID())
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

// held is a task in a policy, as the oracle sees it.
type held struct {
	task  *graph.Task
	batch int // when it became ready
	owner int // who has freed it; -1 if it comes from elsewhere
	dealt int // who was dealt it, or has freed it
}

// oracle says which task a policy must hand to a worker next, slowly.
func oracle(kind string, all []held, freed int, locations []int, worker int) *graph.Task {
	score := func(h held) float64 { return 0 }
	switch local := func(h held) float64 { return float64(h.task.BytesAt(locations[worker])) }; kind {
	case "fifo":
		score = func(h held) float64 { return -float64(h.batch) }
	case "lifo":
		score = func(h held) float64 { return float64(h.batch) }
	case "locality":
		score = local
	case "fifodata":
		score = func(h held) float64 {
			if h.owner == worker && h.batch == freed {
				return math.Inf(1)
			}
			return local(h)
		}
	case "score":
		score = func(h held) float64 {
			if s := oddest(h.task, locations[worker]); s == s {
				return s
			}
			return math.Inf(-1)
		}
	case "steal":
		n := len(locations)
		for _, far := range []bool{false, true} {
			for i := range n {
				victim := (worker + i) % n
				if far == (locations[victim] == locations[worker]) || !slices.ContainsFunc(all, func(h held) bool { return h.dealt == victim }) {
					continue
				}
				all = slices.DeleteFunc(slices.Clone(all), func(h held) bool { return h.dealt != victim })
				if victim == worker {
					return oracle("lifo", all, freed, locations, worker)
				}
				// The oldest, and of those freed at once the one that would come last.
				slices.SortFunc(all, func(a, b held) int {
					return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.task.Priority, b.task.Priority), cmp.Compare(b.task.ID(), a.task.ID()))
				})
				return all[0].task
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b held) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(b.task.Priority, a.task.Priority), cmp.Compare(a.task.ID(), b.task.ID()))
	}).task
}

// TestAgainstOracle drives every policy with random operations.
func TestAgainstOracle(t *testing.T) {
	for _, locations := range [][]int{{0, 0, 0}, {0, 1, 0}, {0, 1, 2, 3, 4, 5, 1}} {
		for seed := range uint64(50) {
			each(Machine{Locations: locations}, func(kind string, p Policy) {
				if kind == "eft" {
					return // TestEarliestFinishRandom
				}
				if locations[1] == 0 && kind == "locality" {
					kind = "priority"
				}
				againstOracle(t, kind, seed, p, locations)
			})
		}
	}
}

func againstOracle(t *testing.T, kind string, seed uint64, p Policy, locations []int) {
	workers := len(locations)
	r := rand.New(rand.NewPCG(seed, uint64(len(kind))))
	g := &graph.Graph{}
	var all []held
	freed := make([]int, workers) // the last batch of each
	batch, dealt := 0, 0
	for range 300 {
		if r.IntN(2) == 0 {
			from := r.IntN(workers+1) - 1
			if batch++; from >= 0 {
				freed[from] = batch
			}
			var tasks []*graph.Task
			for range r.IntN(4) {
				at := map[int]int64{}
				for range r.IntN(3) {
					at[r.IntN(workers+1)-1] = int64(r.IntN(4))
				}
				if kind == "fifodata" && locations[1] == 0 {
					at = nil // where there is one location it makes no difference
				}
				h := held{task: makeTask(g, int64(r.IntN(5)), at), batch: batch, owner: from, dealt: from}
				if tasks = append(tasks, h.task); from < 0 {
					h.dealt = dealt % workers
					dealt++
					batch++
				}
				all = append(all, h)
			}
			p.Push(tasks, from)
			continue
		}
		w := r.IntN(workers)
		want, got := oracle(kind, all, freed[w], locations, w), p.Pop(w)
		if got != want {
			t.Fatalf("%v on %v, seed %d: got %v, want %v", kind, locations, seed, got, want)
		}
		all = slices.DeleteFunc(all, func(h held) bool { return h.task == got })
		if p.Len() != len(all) {
			t.Fatalf("%v, seed %d: Len %d, want %d", kind, seed, p.Len(), len(all))
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
				p := New(kind, Machine{Locations: []int{0, 1}})
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

// TestByKind: workers get what their kind can run, what the fewest can run first,
// in the order of the policy within; and tasks of which nobody can run any go to
// any worker that asks.
func TestByKind(t *testing.T) {
	g := &graph.Graph{}
	task := func(able int64) *graph.Task { return makeTask(g, able, nil) }
	p := ByKind(workers(3), []int{0, 0, 1}, func(t *graph.Task) uint64 { return uint64(t.Priority) }, func(m Machine) Policy { return New(FIFO, m) }).(Reserver)
	const first, second, both = 1, 2, 3
	tasks := []*graph.Task{task(both), task(first), task(both), task(first), task(0)}
	p.Push(slices.Clone(tasks), -1)
	if p.Len() != 5 || !p.Wants(2) || p.Pop(2) != tasks[0] || p.Pop(1) != tasks[1] || p.Pop(2) != tasks[2] || p.Pop(2) != tasks[4] {
		t.Error("not in order")
	}
	if p.Wants(2) || p.Pop(2) != nil || !p.Wants(0) || p.Len() != 1 || p.Pop(0) != tasks[3] {
		t.Error("worker 2 does not leave alone what it cannot run")
	}
	p.Push([]*graph.Task{task(second)}, 1)
	if p.Wants(0) || p.Wants(1) || p.Pop(1) != nil || p.Pop(2) == nil || p.Len() != 0 {
		t.Error("a worker of the other kind has freed a task, and nobody gets it")
	}
}
