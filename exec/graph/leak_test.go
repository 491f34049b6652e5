package graph

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"
	"weak"
)

// TestSizes: the parts of a task and of a datum that different goroutines are at
// fill cache lines, without remainder. A few bytes more would cost a line for each
// task.
func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return
	}
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"a task", unsafe.Sizeof(Task{}), 6 * 64},
		{"what a queue sees of it", unsafe.Offsetof(Task{}.extras), 64},
		{"a task without its operands", unsafe.Offsetof(Task{}.own), 2 * 64},
		{"an operand", unsafe.Sizeof(use{}), 64},
		{"a datum", unsafe.Sizeof(Datum{}), 2 * 64},
		{"what workers see of it", unsafe.Offsetof(Datum{}.Name), 64},
	} {
		if x.got != x.want {
			t.Errorf("%s takes %d bytes, want %d", x.what, x.got, x.want)
		}
	}
}

// gone reports whether the collector takes what p points to.
func gone[T any](p weak.Pointer[T]) bool {
	for range 10 {
		runtime.GC()
		if p.Value() == nil {
			return true
		}
	}
	return false
}

// TestPhasesKeepNothing: a datum that goes from phase to phase keeps neither the
// fences of phases that are over nor the copies of a reduction that is.
func TestPhasesKeepNothing(t *testing.T) {
	g := &Graph{}
	type big struct{ x [1 << 16]byte }
	var copied weak.Pointer[big]
	x := &Datum{Name: "x", Value: new(big)}
	x.SetReduction(Reduction{
		New:     func() any { c := new(big); copied = weak.Make(c); return c },
		Combine: func(dst, src any) {},
	})
	spec := Spec{Op: op("t"), Operands: []Operand{{x, Reduce}}}
	member, _ := g.Add(&spec)
	member.Value(0)
	g.End(member, Done, nil, nil)
	g.Seal()
	if !gone(copied) {
		t.Error("the copy of a reduction that is over is kept")
	}
	fence := weak.Make(x.current.task)
	for range 3 {
		for _, m := range []Mode{Commute, In} {
			task, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, m}}})
			g.End(task, Done, nil, nil)
		}
	}
	if !gone(fence) {
		t.Error("the fence of a phase that is over is kept")
	}
	runtime.KeepAlive(x)
}

// TestSpecialBesideWorkers: a datum becomes uncommon while tasks on it run.
func TestSpecialBesideWorkers(t *testing.T) {
	g := &Graph{}
	x := &Datum{Name: "x", Value: new(int)}
	y := &Datum{Name: "y", Value: new(int)}
	task, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{y, Commute}, {x, In}}})
	over := make(chan []*Task)
	go func() {
		task.Value(1)
		over <- g.End(task, Done, nil, nil)
	}()
	next, ready := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, Commute}}})
	freed := <-over
	if !ready && (len(freed) != 1 || freed[0] != next) {
		t.Errorf("ready %v, freed %v", ready, freed)
	}
}

// TestRenewPanics: the task whose value cannot be made is tainted, and with it
// the readers of what it would have written; the graph goes on.
func TestRenewPanics(t *testing.T) {
	bad := errors.New("bad")
	var told string
	g := &Graph{Failed: func(what string, _ *Fault) { told = what }}
	x := &Datum{Name: "x", Value: new(int)}
	x.SetRenaming(func() any { panic(bad) })
	w, ready := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, Out}}})
	if f := w.Tainted(); !ready || f == nil || f.Err != bad || f.Task != w.ID() || told != "renaming" {
		t.Fatalf("ready %v, tainted by %v, told of %q", ready, f, told)
	}
	r, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, In}}})
	next := g.End(w, Cancelled, w.Tainted(), nil)
	if len(next) != 1 || next[0] != r || r.Tainted() == nil {
		t.Errorf("%v became ready", next)
	}
	g.End(r, Cancelled, r.Tainted(), nil)
	if c := g.Copies(); c != (Copies{}) {
		t.Errorf("%+v", c)
	}
}

// TestCopiesOfSeveralGraphs: each graph counts the values that it has made.
func TestCopiesOfSeveralGraphs(t *testing.T) {
	x := &Datum{Name: "x", Value: new(int), Bytes: 8}
	x.SetRenaming(func() any { return new(int) })
	var g [2]Graph
	for i := range g {
		task, _ := g[i].Add(&Spec{Op: op("t"), Operands: []Operand{{x, Out}}})
		g[i].End(task, Done, nil, nil)
	}
	if a, b := g[0].Copies(), g[1].Copies(); a != (Copies{0, 1, 0, 8}) || b != (Copies{1, 1, 8, 8}) {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestGiveTwice: of two that give the same operand at once one is refused.
func TestGiveTwice(t *testing.T) {
	for range 200 {
		g := &Graph{}
		x := &Datum{Name: "x"}
		task, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, Out}, {x, Out}}})
		reader, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, In}}})
		freed := make(chan int)
		for i := range 2 {
			go func() {
				defer func() {
					if recover() != nil {
						freed <- 0
					}
				}()
				freed <- len(g.Give(task, i, nil))
			}()
		}
		if n := <-freed + <-freed; n != 1 || !task.Given(0) || !task.Given(1) {
			t.Fatalf("freed %d times, given %v %v", n, task.Given(0), task.Given(1))
		}
		g.End(task, Done, nil, nil)
		g.End(reader, Done, nil, nil)
	}
}

// TestCommuteManyWaiters: the end of a member costs the same however many wait.
func TestCommuteManyWaiters(t *testing.T) {
	const n = 50000
	g := &Graph{}
	x := &Datum{Name: "x", Value: new(int)}
	spec := Spec{Op: op("t"), Operands: []Operand{{x, Commute}}}
	task, _ := g.Add(&spec)
	for range n {
		g.Add(&spec)
	}
	for ended := 1; task != nil; ended++ {
		next := g.End(task, Done, nil, nil)
		task = nil
		if len(next) == 1 {
			task = next[0]
		} else if ended != n+1 {
			t.Fatalf("%d became ready after %d", len(next), ended)
		}
	}
}
