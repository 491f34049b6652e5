package dispatch

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/heap"
)

// speeds are costs by worker and task; moving a byte takes a second.
type speeds struct {
	run func(t *graph.Task, worker int) float64
}

func (s speeds) Run(t *graph.Task, worker int) float64 { return s.run(t, worker) }

func (speeds) Move(t *graph.Task, to int) (seconds float64) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 && o.Datum.At() != 0 && !o.Datum.At().Has(to) {
			seconds += float64(o.Datum.Bytes)
		}
	}
	return seconds
}

// TestEarliestFinish has a worker that is ten times as fast as the other one.
func TestEarliestFinish(t *testing.T) {
	g := &graph.Graph{}
	p := New(EarliestFinish, Machine{Locations: []int{0, 0}, Costs: speeds{func(_ *graph.Task, w int) float64 { return []float64{10, 1}[w] }}})
	var tasks []*graph.Task
	for range 13 {
		tasks = append(tasks, makeTask(g, 0, nil))
	}
	p.Push(tasks, -1)
	// The tenth would end at 10 on either; then the slow one has two.
	slow := p.Pop(0)
	if slow == nil {
		t.Fatal("nothing for the slow worker although the fast one has more than it can do meanwhile")
	}
	fast := 0
	for p.Len() > 0 {
		if p.Pop(1) == nil {
			t.Fatal("the fast worker gets nothing")
		}
		p.Push(nil, 1)
		fast++
	}
	if fast != 12 {
		t.Errorf("the fast worker ran %d tasks, want 12", fast)
	}
	p.Push(nil, 0)

	// Of few tasks the slow worker gets none, as the fast one ends them sooner;
	// but where a task can run only on it, it does, and data weigh.
	p.Push(tasks[:3], -1)
	if got := p.Pop(0); got != nil {
		t.Errorf("the slow worker takes %v, which it would hold up", got.ID())
	}
	popAll(p, 1)
	p = New(EarliestFinish, Machine{Locations: []int{0, 0}, Costs: speeds{func(task *graph.Task, w int) float64 {
		if w == 1 && task.Priority == 7 {
			return math.Inf(1)
		}
		return []float64{10, 1}[w]
	}}})
	only := makeTask(g, 7, nil)
	near := makeTask(g, 1, map[int]int64{0: 100})
	p.Push([]*graph.Task{only, near}, 1)
	if p.Pop(1) != nil || p.Pop(0) != only || p.Pop(0) != near {
		t.Error("tasks went to a worker that cannot run them, or that is far from their data")
	}
}

// TestEarliestFinishRandom: every task comes out once, to a worker that can run
// it; a worker that has tasks of its own gets the first of them by priority; and
// when all workers ask, somebody gets one.
func TestEarliestFinishRandom(t *testing.T) {
	const workers = 3
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := &graph.Graph{}
		cost := map[*graph.Task][workers]float64{}
		p := newEarliestFinish(workers, workers, speeds{func(task *graph.Task, w int) float64 { return cost[task][w] }})
		held := map[*graph.Task]bool{}
		var running [workers]bool
		for range 400 {
			w := r.IntN(workers)
			if r.IntN(2) == 0 {
				var batch []*graph.Task
				for range r.IntN(4) {
					task := makeTask(g, int64(r.IntN(4)), nil)
					var c [workers]float64
					for k := range c {
						if c[k] = float64(r.IntN(5)); r.IntN(4) == 0 && k > 0 {
							c[k] = math.Inf(1)
						}
					}
					cost[task] = c
					held[task] = true
					batch = append(batch, task)
				}
				from := -1
				if running[w] {
					from, running[w] = w, false
				}
				p.Push(batch, from)
				continue
			}
			if running[w] {
				p.Push(nil, w)
				running[w] = false
			}
			var first *graph.Task
			if q := p.queue[w].At; len(q) > 0 {
				first = slices.MinFunc(q, func(a, b heap.Item[int64, costed]) int {
					x, y := a.Value.task, b.Value.task
					return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.ID(), y.ID()))
				}).Value.task
			}
			got := p.Pop(w)
			switch {
			case got == nil && first != nil, first != nil && got != first:
				t.Fatalf("seed %d: got %v although its own first is %v", seed, got, first)
			case got == nil:
				idle := true
				for k := range workers {
					idle = idle && !running[k]
				}
				if idle && len(held) > 0 {
					some := false
					for k := range workers {
						some = some || len(p.queue[k].At) > 0
					}
					if !some {
						t.Fatalf("seed %d: %d tasks are held by nobody", seed, len(held))
					}
				}
				continue
			case !held[got] || math.IsInf(cost[got][w], 1):
				t.Fatalf("seed %d: worker %d got a task that is not held, or that it cannot run", seed, w)
			}
			delete(held, got)
			running[w] = true
			if p.Len() != len(held) {
				t.Fatalf("seed %d: Len %d, want %d", seed, p.Len(), len(held))
			}
		}
		for w := range workers {
			for p.Pop(w) != nil {
			}
			if p.load[w] < 0 || len(p.queue[w].At) > 0 {
				t.Fatalf("seed %d: worker %d: load %v, %d tasks left", seed, w, p.load[w], len(p.queue[w].At))
			}
		}
		if p.Len() != 0 {
			t.Fatalf("seed %d: %d tasks left", seed, p.Len())
		}
	}
}

// TestByOwner: tasks stay with their owners but for those that a worker with nothing to do ends
// so much sooner that their data may be moved there and back meanwhile.
func TestByOwner(t *testing.T) {
	for _, c := range []struct {
		bytes  int64 // that a task reads, at worker 0; each takes a second to move
		known  bool
		free   bool
		others int // tasks that worker 1 takes of ten
	}{{0, true, true, 5}, {3, true, true, 1}, {5, true, true, 0}, {0, false, true, 0}, {0, true, false, 0}} {
		g := &graph.Graph{}
		p := ByOwner(Machine{Locations: []int{0, 1}, Costs: speeds{func(*graph.Task, int) float64 {
			if c.known {
				return 1
			}
			return 0
		}}}, func(t *graph.Task) int { return int(t.Priority) % 2 }, func(int) bool { return c.free })
		for i := range 10 {
			p.Push([]*graph.Task{makeTask(g, int64(2*i), map[int]int64{0: c.bytes})}, -1)
		}
		got := 0
		for p.Pop(1) != nil { // and ends none of them
			got++
		}
		if got != c.others {
			t.Errorf("%+v: worker 1 has taken %d", c, got)
		}
		last := int64(100)
		for range 10 - got {
			x := p.Pop(0)
			if x == nil || x.Priority >= last {
				t.Fatalf("%+v: after a task of priority %d worker 0 got %v", c, last, x)
			}
			last = x.Priority
		}
		if p.Len() != 0 {
			t.Errorf("%+v: %d are left", c, p.Len())
		}
	}
}
