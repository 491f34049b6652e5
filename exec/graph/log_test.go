package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// touch is what a task does with a datum; task 0 is the end of a group.
type touch struct {
	task TaskID
	mode Mode
}

// needs says by what sequence of touches on a datum, which may be renamed, its last
// touch depends on which tasks: it looks back through the sequence for them.
func needs(seq []touch, renamed bool) (edges []string) {
	end := len(seq) - 1
	t := seq[end]
	i := end - 1
	// The members of t's own group do not matter to it.
	if t.mode > InOut {
		for i >= 0 && seq[i].mode == t.mode && seq[i].task != 0 {
			i--
		}
	} else if renamed && t.mode == Out {
		return nil
	}
	var readers, makers []TaskID
	for ; i >= 0 && seq[i].mode <= In; i-- {
		if seq[i].task != 0 {
			readers = append(readers, seq[i].task)
		}
	}
	if i >= 0 {
		makers = append(makers, seq[i].task)
		if m := seq[i].mode; m > InOut {
			for i--; i >= 0 && seq[i].mode == m && seq[i].task != 0; i-- {
				makers = append(makers, seq[i].task)
			}
		}
	}
	slices.Reverse(readers)
	slices.Reverse(makers)
	say := func(tasks []TaskID, kind Dependence) {
		for _, on := range tasks {
			edges = append(edges, fmt.Sprint(on, t.task, kind))
		}
	}
	switch t.mode {
	case In:
		say(makers, RAW)
	case Out:
		say(makers, WAW)
		say(readers, WAR)
	case InOut:
		say(makers, RAW)
		say(readers, WAR)
	default: // a group comes after readers, too, by what they hand to it
		say(readers, RAW)
		say(makers, RAW)
	}
	return edges
}

// lines is an Observer that notes edges as needs does.
type lines []string

func (l *lines) Depends(on, task TaskID, kind Dependence, _ *Datum, _ uint32) {
	*l = append(*l, fmt.Sprint(on, task, kind))
}

func (l *lines) edge(on, task TaskID, kind Dependence, _ int64) { l.Depends(on, task, kind, nil, 0) }

// TestLog holds the edges that follow from a log, and those that an observer is
// told of, to what a look back at the whole program says: for random programs with
// all modes and renamed data, whose tasks hand operands on and end at any time and
// whose memory is used again, and for data that come from another graph.
func TestLog(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := newModesProgram(r, 1+r.IntN(150), 1+r.IntN(8))
		for i := range p.specs { // some data occur twice
			if o := p.specs[i].Operands; len(o) > 0 && o[0].Mode <= InOut && r.IntN(4) == 0 {
				p.specs[i].Operands = append(o, Operand{o[0].Datum, In})
			}
		}
		var pool Pool
		for round := range 2 { // the second graph goes on with the data
			begun := 0
			var seen lines
			g := &Graph{Pool: &pool, Observer: &seen, Log: &Log{Begun: func() { begun++ }, Whole: true}}
			var want, got lines
			history := make([][]touch, len(p.data))
			forget := r.IntN(2 * len(p.specs))
			var running []*Task
			for i := range p.specs {
				if i == forget {
					g.Log.Edges(got.edge)
					checkProgram(t, g.Log, p.specs[:i], 0)
					g.Log.Forget()
				}
				s := &p.specs[i]
				seal := r.IntN(20) == 0
				if seal {
					g.Seal()
				}
				for k := range history {
					if seal {
						history[k] = append(history[k], touch{})
					}
				}
				task, ok := g.Add(s)
				if ok {
					running = append(running, task)
				}
				for k, o := range s.Operands {
					if k > 0 && o.Datum == s.Operands[0].Datum {
						continue
					}
					if k == 0 && len(s.Operands) > 1 && s.Operands[len(s.Operands)-1].Datum == o.Datum {
						o.Mode |= In
					}
					h := &history[o.Datum.I]
					*h = append(*h, touch{TaskID(i + 1), o.Mode})
					want = append(want, needs(*h, o.Datum.special.renew != nil)...)
				}
				for len(running) > 0 && r.IntN(2) == 0 {
					running = p.endOne(g, r, running)
				}
				if r.IntN(10) == 0 {
					g.Release()
				}
			}
			for len(running) > 0 {
				running = p.endOne(g, r, running)
			}
			g.Seal()
			g.Log.Edges(got.edge)
			if forget >= len(p.specs) {
				forget = 0
			}
			checkProgram(t, g.Log, p.specs, forget)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, graph %d: the log has edges\n%v\nwant\n%v", seed, round, got, want)
			}
			if !slices.Equal(seen, want) {
				t.Fatalf("seed %d, graph %d: the observer has seen\n%v\nwant\n%v", seed, round, seen, want)
			}
			if begun > 2 || begun == 0 {
				t.Fatalf("seed %d: begun %d times", seed, begun)
			}
			g.Release()
		}
	}
}

// checkProgram holds the program of a log to the tasks that were submitted, from some on.
func checkProgram(t *testing.T, l *Log, specs []Spec, from int) {
	t.Helper()
	data, tasks := l.Program()
	if len(tasks) != len(specs)-from {
		t.Fatalf("%d tasks, want %d", len(tasks), len(specs)-from)
	}
	for i, x := range tasks {
		s := &specs[from+i]
		if x.Task != TaskID(from+i+1) || x.Priority != s.Priority {
			t.Fatalf("task %d with priority %d, want %d and %d", x.Task, x.Priority, from+i+1, s.Priority)
		}
		modes := map[*Datum]Mode{}
		var order []*Datum
		for _, o := range s.Operands {
			if modes[o.Datum] == 0 {
				order = append(order, o.Datum)
			}
			modes[o.Datum] |= o.Mode
		}
		if len(x.Operands) != len(order) {
			t.Fatalf("task %d: operands %v, want %d", x.Task, x.Operands, len(order))
		}
		for k, d := range order {
			o := x.Operands[k]
			if y := data[o.Datum]; o.Mode != modes[d] || y.Key != d.Key || y.Name != d.Name || y.Bytes != d.Bytes || y.Renamed != d.Renamed() {
				t.Fatalf("task %d: operand %+v is %+v, want %v by %v", x.Task, o, y, d, modes[d])
			}
		}
	}
}

// endOne ends one of the tasks that are ready, some of whose operands it has handed
// on before, and returns those that are ready then.
func (p *modesProgram) endOne(g *Graph, r *rand.Rand, ready []*Task) []*Task {
	k := r.IntN(len(ready))
	task := ready[k]
	ready = slices.Delete(ready, k, k+1)
	for i := range task.Len() {
		task.Value(i)
		if r.IntN(4) == 0 && task.first(i) == &task.uses[i] {
			ready = g.Give(task, i, ready)
		}
	}
	return g.End(task, Done, nil, ready)
}

// TestLongLog: a log whose tasks are far apart, and one of many accesses, tell of
// every edge.
func TestLongLog(t *testing.T) {
	const tasks = 150_000
	x := &Datum{}
	g := &Graph{Log: &Log{}}
	s := Spec{Op: op("t"), Operands: []Operand{{x, InOut}}}
	from := TaskID(0)
	var want []TaskID
	for i := range tasks {
		if i%50_000 == 1 {
			g.last += maxOffset - TaskID(i)%3
		}
		task, ready := g.Add(&s)
		if !ready {
			t.Fatal("not ready")
		}
		if from != 0 {
			want = append(want, from)
		}
		from = task.ID()
		g.End(task, Done, nil, nil)
	}
	var got []TaskID
	g.Log.Edges(func(on, _ TaskID, _ Dependence, _ int64) { got = append(got, on) })
	if !slices.Equal(got, want) {
		t.Errorf("%d edges, want %d", len(got), len(want))
	}
}

// TestDatumOfTwoGraphs: there are no edges from the tasks of another graph, which
// have numbers of their own, and data are not taken for others.
func TestDatumOfTwoGraphs(t *testing.T) {
	x, y := &Datum{Name: "x"}, &Datum{Name: "y"}
	add := func(g *Graph, d *Datum) {
		task, _ := g.Add(&Spec{Op: op("t"), Operands: []Operand{{d, InOut}}})
		g.End(task, Done, nil, nil)
	}
	one, two := &Graph{Log: &Log{}}, &Graph{Log: &Log{}}
	add(one, x)
	add(two, y)
	add(two, x)
	add(two, y)
	for i, want := range []lines{nil, {"1 3 RAW"}} {
		var got lines
		[]*Graph{one, two}[i].Log.Edges(got.edge)
		if !slices.Equal(got, want) {
			t.Errorf("graph %d: %v, want %v", i, got, want)
		}
	}
}
