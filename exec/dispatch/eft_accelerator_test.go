package dispatch

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/exec/graph"
)

// TestEarliestFinishAccelerator has a worker on a core, and an accelerator that
// runs several tasks at once and is ten times as fast.
func TestEarliestFinishAccelerator(t *testing.T) {
	g := &graph.Graph{}
	p := New(EarliestFinish, Machine{Locations: []int{0, 0}, Accelerators: 1, Costs: speeds{func(_ *graph.Task, w int) float64 { return []float64{10, 1}[w] }}})
	var tasks []*graph.Task
	for range 12 {
		tasks = append(tasks, makeTask(g, 0, nil))
	}
	p.Push(tasks, -1)
	running := 0
	for ; running < 11; running++ {
		if p.Pop(1) == nil {
			t.Fatalf("the accelerator got %d tasks, want 11: its load is that of all it has taken", running)
		}
	}
	if p.Len() != 1 {
		t.Fatalf("%d tasks left, want one for the core", p.Len())
	}
	for range running {
		p.Push(nil, 1)
	}
	// By now the accelerator would do it sooner.
	if got := p.Pop(0); got != nil {
		t.Errorf("the core takes %v, which the accelerator would end sooner", got.ID())
	}
	if p.Pop(1) == nil || p.Len() != 0 {
		t.Error("the accelerator does not get it")
	}
	// While it is busy with as much as the core would take, the core helps.
	for range 12 {
		p.Push([]*graph.Task{makeTask(g, 0, nil)}, -1)
	}
	if p.Pop(0) == nil {
		t.Error("the core gets nothing although the accelerator has enough to do")
	}
}

// TestEarliestFinishUnknown: what nothing is known of goes where it is to be
// found out, and when it is known others help.
func TestEarliestFinishUnknown(t *testing.T) {
	g := &graph.Graph{}
	accelerator := 0.0 // unknown
	p := newEarliestFinish(2, 1, speeds{func(_ *graph.Task, w int) float64 { return []float64{10, accelerator}[w] }})
	var tasks []*graph.Task
	for range 20 {
		tasks = append(tasks, makeTask(g, 0, nil))
	}
	p.Push(tasks, 0)
	if got := p.Pop(0); got != nil {
		t.Errorf("the core takes %v before the accelerator has tried", got.ID())
	}
	if p.Pop(1) == nil {
		t.Fatal("the accelerator does not try")
	}
	accelerator = 100
	p.Push(nil, 1)
	took := 0
	for p.Pop(0) != nil {
		p.Push(nil, 0)
		took++
	}
	if took < 18 {
		t.Errorf("the core took %d of the 19 tasks that are with the slow accelerator", took)
	}
	if p.load[1] < 0 || p.unknown[1] != 0 {
		t.Errorf("load %v, %d unknown", p.load[1], p.unknown[1])
	}
}

// TestEarliestFinishPinned: tasks that only one kind can run stay off the other.
func TestEarliestFinishPinned(t *testing.T) {
	g := &graph.Graph{}
	p := New(EarliestFinish, Machine{Locations: []int{0, 0, 0}, Accelerators: 1, Costs: speeds{func(task *graph.Task, w int) float64 {
		if (w == 2) != (task.Priority == 1) {
			return math.Inf(1)
		}
		return 1
	}}})
	var tasks []*graph.Task
	for i := range 40 {
		tasks = append(tasks, makeTask(g, int64(i%2), nil))
	}
	p.Push(tasks, -1)
	for w := range 3 {
		for task := p.Pop(w); task != nil; task = p.Pop(w) {
			if (w == 2) != (task.Priority == 1) {
				t.Fatalf("worker %d got task %d of kind %d", w, task.ID(), task.Priority)
			}
		}
	}
	if p.Len() != 0 {
		t.Errorf("%d tasks left", p.Len())
	}
}
