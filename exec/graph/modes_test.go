package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// modesProgram is a random program with every access mode on data that may be
// renamed, and what the sequential program makes of it. Values are pairs: the
// number of the last task that overwrote the datum, and the sum of the numbers
// of those that have commuted or been reduced since.
type modesProgram struct {
	data  []*Datum
	specs []Spec
	sees  [][]pair // for operands that are read, what they must hold
	final []pair
}

type pair struct{ last, sum int }

func newModesProgram(r *rand.Rand, tasks, data int) *modesProgram {
	p := &modesProgram{final: make([]pair, data)}
	for i := range data {
		d := &Datum{Name: "d", Key: Key{I: int32(i)}, Bytes: 8, Value: new(pair)}
		if r.IntN(3) == 0 {
			d.SetRenaming(func() any { return new(pair) })
		}
		d.SetReduction(Reduction{
			New:     func() any { return new(pair) },
			Combine: func(dst, src any) { dst.(*pair).sum += src.(*pair).sum },
		})
		p.data = append(p.data, d)
	}
	modes := []Mode{In, In, Out, InOut, Commute, Commute, Commute, Reduce, Reduce, Reduce}
	for n := 1; n <= tasks; n++ {
		s := Spec{Op: op("task")}
		var sees []pair
		for _, k := range r.Perm(data)[:r.IntN(min(data, 5)+1)] {
			mode := modes[r.IntN(len(modes))]
			s.Operands = append(s.Operands, Operand{p.data[k], mode})
			sees = append(sees, p.final[k])
		}
		for _, o := range s.Operands {
			switch f := &p.final[o.Datum.I]; o.Mode {
			case Out, InOut:
				*f = pair{n, 0}
			case Commute, Reduce:
				f.sum += n
			}
		}
		p.specs = append(p.specs, s)
		p.sees = append(p.sees, sees)
	}
	return p
}

// run executes t.
func (p *modesProgram) run(t *Task) error {
	n := int(t.ID())
	for i := range t.Len() {
		v, want := t.Value(i).(*pair), p.sees[n-1][i]
		switch t.Operand(i).Mode {
		case In:
			if *v != want {
				return fmt.Errorf("task %d operand %d: sees %v, want %v", n, i, *v, want)
			}
		case InOut:
			if *v != want {
				return fmt.Errorf("task %d operand %d: sees %v, want %v", n, i, *v, want)
			}
			*v = pair{n, 0}
		case Out:
			*v = pair{n, 0}
		case Commute:
			if v.last != want.last {
				return fmt.Errorf("task %d operand %d: commutes on %v, want %v", n, i, *v, want)
			}
			v.sum += n
		case Reduce:
			v.sum += n
		}
	}
	return nil
}

func (p *modesProgram) check(t *testing.T, what string) {
	t.Helper()
	for k, d := range p.data {
		if got := *d.Latest().(*pair); got != p.final[k] {
			t.Fatalf("%s: datum %d is %v at the end, want %v", what, k, got, p.final[k])
		}
	}
}

func TestModesRandomOrder(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := newModesProgram(r, 1+r.IntN(200), 1+r.IntN(8))
		g := &Graph{}
		if seed%2 == 0 {
			g.Observer = &edges{}
		}
		var ready, running []*Task
		ended := 0
		step := func() {
			if len(ready) > 0 && (len(running) == 0 || r.IntN(2) == 0) {
				k := r.IntN(len(ready))
				task := ready[k]
				ready = slices.Delete(ready, k, k+1)
				if s := task.State(); s != Ready {
					t.Fatalf("seed %d: task %d is %v", seed, task.ID(), s)
				}
				// Values are taken when a task starts, as the runtime does.
				if err := p.run(task); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				running = append(running, task)
				return
			}
			k := r.IntN(len(running))
			task := running[k]
			running = slices.Delete(running, k, k+1)
			for i := range task.Len() {
				if r.IntN(4) == 0 {
					ready = g.Give(task, i, ready)
				}
			}
			ready = g.End(task, Done, nil, ready)
			ended++
		}
		for i := range p.specs {
			if task, ok := g.Add(&p.specs[i]); ok {
				ready = append(ready, task)
			}
			for len(ready)+len(running) > 0 && r.IntN(2) == 0 {
				step()
			}
		}
		if r.IntN(2) == 0 {
			g.Seal()
		}
		for len(ready)+len(running) > 0 {
			step()
		}
		g.Seal()
		if ended != len(p.specs) {
			t.Fatalf("seed %d: %d of %d tasks ended", seed, ended, len(p.specs))
		}
		p.check(t, fmt.Sprint("seed ", seed))
		renaming := int64(0)
		for _, d := range p.data {
			if d.special.value != nil && d.Latest() != d.Value {
				renaming++
			}
		}
		if n := g.Copies(); n.Live != renaming || n.Bytes != 8*renaming || n.Peak < n.Live || n.PeakBytes != 8*n.Peak {
			t.Fatalf("seed %d: %+v, want %d values in use", seed, n, renaming)
		}
		if len(g.groups.of)+len(g.groups.values)+len(g.groups.open) != 0 {
			t.Fatalf("seed %d: something is left: %v, %v, %v", seed, g.groups.of, g.groups.values, g.groups.open)
		}
	}
}

func TestModesConcurrent(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		p := newModesProgram(r, 1500, 1+r.IntN(10))
		concurrently(t, p.specs, p.run)
		p.check(t, fmt.Sprint("seed ", seed))
	}
}

// TestCommuteOneAtATime: members are ready one after the other, in any order,
// and a task with two such data takes both or none.
func TestCommuteOneAtATime(t *testing.T) {
	g := &Graph{}
	x, y := &Datum{Name: "x", Value: new(int)}, &Datum{Name: "y", Value: new(int)}
	add := func(ops ...Operand) (*Task, bool) { return g.Add(&Spec{Op: op("t"), Operands: ops}) }
	a, ready := add(Operand{x, Commute})
	if !ready {
		t.Fatal("the first is not ready")
	}
	b, ready := add(Operand{x, Commute}, Operand{y, Commute})
	if ready {
		t.Fatal("the second is ready although the first holds x")
	}
	c, ready := add(Operand{y, Commute})
	if !ready {
		t.Fatal("the third is not ready although the second holds nothing")
	}
	d, ready := add(Operand{x, In})
	if ready {
		t.Fatal("a reader is ready before the group has ended")
	}
	if next := g.End(a, Done, nil, nil); len(next) != 0 {
		t.Fatalf("%v became ready although y is held", next)
	}
	if next := g.End(c, Done, nil, nil); len(next) != 1 || next[0] != b {
		t.Fatalf("%v became ready, want the second", next)
	}
	if next := g.End(b, Done, nil, nil); len(next) != 1 || next[0] != d {
		t.Fatalf("%v became ready, want the reader", next)
	}
}

// TestReduceAtOnce: members of a reduction run at once, on copies of their own,
// which are used again.
func TestReduceAtOnce(t *testing.T) {
	g := &Graph{}
	made := 0
	x := &Datum{Name: "x", Value: new(int)}
	x.SetReduction(Reduction{New: func() any { made++; return new(int) }, Combine: func(dst, src any) { *dst.(*int) += *src.(*int) }})
	var tasks []*Task
	for range 4 {
		task, ready := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, Reduce}}})
		if !ready {
			t.Fatal("a member waits")
		}
		tasks = append(tasks, task)
	}
	for i, task := range tasks[:2] {
		*task.Value(0).(*int) += i + 1
		if task.Value(0) != task.Value(0) {
			t.Error("a task gets another copy each time")
		}
	}
	if tasks[0].Value(0) == tasks[1].Value(0) {
		t.Error("two tasks share a copy")
	}
	for _, task := range tasks[:2] {
		g.End(task, Done, nil, nil)
	}
	for _, task := range tasks[2:] {
		*task.Value(0).(*int) += 10
		g.End(task, Done, nil, nil)
	}
	if *x.Value.(*int) != 0 {
		t.Error("combined too early")
	}
	g.Seal()
	if *x.Value.(*int) != 23 || made != 2 {
		t.Errorf("sum %d from %d copies, want 23 from 2", *x.Value.(*int), made)
	}
}

// TestRenamingWaitsForNobody: a task that overwrites a renamed datum is ready
// while another one still writes it and readers wait.
func TestRenamingWaitsForNobody(t *testing.T) {
	g := &Graph{}
	x := &Datum{Name: "x", Value: new(int), Bytes: 8}
	x.SetRenaming(func() any { return new(int) })
	add := func(m Mode) (*Task, bool) { return g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, m}}}) }
	a, _ := add(Out)
	r1, ready := add(In)
	if ready {
		t.Fatal("a reader is ready before its writer has ended")
	}
	b, ready := add(Out)
	if !ready {
		t.Fatal("a writer waits for another one")
	}
	r2, _ := add(In)
	*a.Value(0).(*int), *b.Value(0).(*int) = 1, 2
	if next := g.End(b, Done, nil, nil); len(next) != 1 || next[0] != r2 || *r2.Value(0).(*int) != 2 {
		t.Fatalf("after the second writer: %v", next)
	}
	if next := g.End(a, Done, nil, nil); len(next) != 1 || next[0] != r1 || *r1.Value(0).(*int) != 1 {
		t.Fatalf("after the first writer: %v", next)
	}
	if n := g.Copies(); n != (Copies{2, 2, 16, 16}) {
		t.Errorf("%+v", n)
	}
	g.End(r1, Done, nil, nil)
	g.End(r2, Done, nil, nil)
	if n := g.Copies(); n != (Copies{1, 2, 8, 16}) {
		t.Errorf("at the end: %+v", n)
	}
	if *x.Latest().(*int) != 2 {
		t.Errorf("the latest value is %d", *x.Latest().(*int))
	}
}

// TestModesFaults: a member that fails taints what the group makes, not the
// other members; a Combine that panics taints as well.
func TestModesFaults(t *testing.T) {
	bad := errors.New("bad")
	for _, mode := range []Mode{Commute, Reduce} {
		g := &Graph{}
		x := &Datum{Name: "x", Value: new(int)}
		x.SetReduction(Reduction{New: func() any { return new(int) }, Combine: func(dst, src any) {}})
		a, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, mode}}})
		b, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, mode}}})
		r, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, In}}})
		g.End(a, Failed, &Fault{a.ID(), bad}, nil)
		if b.Tainted() != nil {
			t.Errorf("%v: the other member is tainted", mode)
		}
		next := g.End(b, Done, nil, nil)
		if len(next) != 1 || next[0] != r || r.Tainted() == nil || r.Tainted().Err != bad {
			t.Errorf("%v: %v, tainted by %v", mode, next, r.Tainted())
		}
	}
	var told *Fault
	g := &Graph{Failed: func(_ string, f *Fault) { told = f }}
	x := &Datum{Name: "x", Value: new(int)}
	x.SetReduction(Reduction{New: func() any { return new(int) }, Combine: func(dst, src any) { panic(bad) }})
	a, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, Reduce}}})
	a.Value(0)
	r, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, In}}})
	g.End(a, Done, nil, nil)
	if f := r.Tainted(); f == nil || f.Err != bad || f.Task != 1 || told != f {
		t.Errorf("tainted by %v, told of %v", f, told)
	}
}

// TestModesEdges: an observer sees edges between tasks, not those of fences.
func TestModesEdges(t *testing.T) {
	e := &edges{}
	g := &Graph{Observer: e}
	x := &Datum{Name: "x", Value: new(int)}
	for _, m := range []Mode{Out, In, Commute, Commute, In, Out} {
		g.Add(&Spec{Op: op("t"), Operands: []Operand{{x, m}}})
	}
	var got []string
	for _, l := range e.lines {
		got = append(got, strings.Join(strings.Fields(l)[:4], " "))
	}
	want := []string{"1 -> 2 RAW", "2 -> 3 RAW", "1 -> 3 RAW", "2 -> 4 RAW", "1 -> 4 RAW", "3 -> 5 RAW", "4 -> 5 RAW", "3 -> 6 WAW", "4 -> 6 WAW", "5 -> 6 WAR"}
	if !slices.Equal(got, want) {
		t.Errorf("edges\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestModesMisuse(t *testing.T) {
	x := &Datum{Name: "x", Value: new(int)}
	y := &Datum{Name: "y", Value: new(int)}
	y.SetReduction(Reduction{New: func() any { return new(int) }, Combine: func(dst, src any) {}})
	for _, ops := range [][]Operand{{{x, Reduce}}, {{x, 4}}, {{x, 8 | In}}, {{x, 15}}, {{y, Reduce}, {y, Commute}}} {
		func() {
			defer func() {
				if v := recover(); v != ErrMode {
					t.Errorf("%v: %v", ops, v)
				}
			}()
			(&Spec{Op: op("t"), Operands: ops}).Check()
		}()
	}
}
