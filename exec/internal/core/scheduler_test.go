package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// virtual is a program on nodes that exist in a time of their own only: it drives a scheduler
// as a driver does, without any transport.
type virtual struct {
	*Scheduler
	t         *testing.T
	graph     graph.Graph
	directory Directory
	rng       *rand.Rand
	now       time.Duration
	events    []happening
	ends      map[graph.TaskID]int
	count     int
	given     int       // back
	gifts     int       // of nodes with little memory
	memory    []*Memory // by node
	lacks     int       // the node that cannot execute "something"
}

// happening is the end of a task on a node, or the loss of one.
type happening struct {
	at   time.Duration
	node int
	task graph.TaskID // 0: the node is lost
	back bool         // it gives the task back, unless that has ended; 0: that was all
}

func newVirtual(t *testing.T, rng *rand.Rand, o *Choices, caps []int64, lacks int) *virtual {
	v := &virtual{t: t, rng: rng, lacks: lacks, ends: map[graph.TaskID]int{}}
	v.Scheduler = NewScheduler(*o, &v.directory, &Experience{}, &DataIndex{})
	v.WillRun = func(*graph.Task) bool { return true }
	v.DriverOnly = func(*graph.Task) bool { return false }
	for i, most := range caps {
		v.come(i, most)
	}
	v.RebuildQueue()
	return v
}

func (v *virtual) come(node int, most int64) {
	v.memory = append(v.memory, &Memory{Node: node, Cap: most})
	o := &Offer{Kinds: make([]Kind, 1), Missing: make([]map[string][]string, 1), Ops: map[string]bool{"nothing": true}}
	o.Ops["something"] = node != v.lacks
	v.Admit(node, 1+v.rng.IntN(3), v.memory[node], o)
}

// submit adds a task, as a driver does: what is ready is handed over at once.
func (v *virtual) submit(s *graph.Spec) {
	for _, o := range s.Operands {
		if v.data.Of(o.Datum) == nil {
			e := &Entry{Datum: o.Datum, Holders: []int{0}, Ref: transport.Ref{Matrix: 1, I: o.Datum.Key.I}}
			e.Label = LabelOf(o.Datum)
			v.data.Put(o.Datum, e)
			e.ShowHolders(o.Datum)
		}
	}
	v.count++
	if t, ready := v.graph.Add(s); ready {
		v.Push([]*graph.Task{t}, -1)
	}
}

// step gives what there is to give, and has the next thing happen. It reports whether one has.
func (v *virtual) step() bool {
	for {
		for t, i := range v.Picks() {
			v.give(t, i)
		}
		t, i := v.Squeeze()
		if t == nil {
			break
		}
		if i < 0 {
			v.t.Fatalf("task %d fits nowhere", t.ID())
		}
		v.give(t, i)
	}
	if len(v.events) == 0 {
		return false
	}
	next := 0
	for k, h := range v.events {
		if h.at < v.events[next].at {
			next = k
		}
	}
	h := v.events[next]
	v.events = slices.Delete(v.events, next, next+1)
	v.now = max(v.now, h.at)
	if h.task == 0 && h.back {
		v.EndRecall(h.node)
		return true
	}
	if h.task == 0 {
		v.lost(h.node)
		return true
	}
	if h.back && v.ends[h.task] > 0 {
		return true
	}
	f, width := v.Unassign(h.node, h.task), 0
	if f != nil {
		width = f.Width
	}
	v.NoteEnded(h.node, 1, width, time.Time{}.Add(v.now))
	if f == nil { // the node was lost meanwhile, or has given it back
		return true
	}
	if h.back {
		v.given++
		f.Task.SetState(graph.Ready)
		v.events = slices.DeleteFunc(v.events, func(x happening) bool { return x.task == h.task })
		if !v.TakeBack(f) {
			v.Push([]*graph.Task{f.Task}, -1)
		}
		return true
	}
	v.NoteRun(f, v.lasts(h.node))
	v.NoteResults(f, false)
	v.ends[h.task]++
	f.Task.Used(h.node, 0)
	v.Push(v.graph.End(f.Task, graph.Done, nil, nil), h.node)
	for _, r := range v.Reclaim() {
		for _, id := range r.Tasks {
			if r.Count > 0 && v.rng.IntN(2) == 0 { // or else it has begun
				v.events = append(v.events, happening{v.now + time.Millisecond, r.From, graph.TaskID(id), true})
				r.Count--
			}
		}
		v.events = append(v.events, happening{v.now + time.Millisecond, r.From, 0, true})
	}
	return true
}

// give is a node's getting a task, which it ends some time later.
func (v *virtual) give(t *graph.Task, i int) {
	if v.Nodes[i].lost {
		v.t.Fatalf("task %d goes to node %d, which is lost", t.ID(), i)
	}
	if i == v.lacks && t.Op.OpName() == "something" {
		v.t.Fatalf("task %d goes to node %d, which cannot execute it", t.ID(), i)
	}
	t.SetState(graph.Running)
	var gives []Transfer
	for k := range t.Len() {
		o := t.Operand(k)
		if e := v.data.Of(o.Datum); o.Mode&graph.In != 0 && !e.Has(i) {
			from, _ := e.sourcesFor(i, nil)
			gives = append(gives, Transfer{e, from[0]})
		}
	}
	v.Assign(t, i, gives)
	has, taken, widest := 0, 0, 0
	for f := range v.InFlight.all() {
		if f.Node == i {
			has, taken, widest = has+1, taken+f.Width, max(widest, f.Width)
		}
		for _, g := range f.transfers {
			if s := v.memory[g.From].Held[g.Entry]; !v.Nodes[g.From].lost && (s == nil || s.pins == 0) {
				v.t.Fatalf("node %d may drop what it is to give for task %d", g.From, f.Task.ID())
			}
			v.gifts++
		}
	}
	x := &v.Nodes[i]
	// Nodes have more than that only as long as it takes them next to no time.
	f, unknown := v.InFlight.Of(uint64(t.ID())), x.unknown
	if f.cost == 0 {
		unknown -= f.Width
	}
	short := unknown == 0 && x.load-f.cost < aheadLoad*float64(x.workers) && taken-f.Width < maxAhead*x.workers
	if most := x.window.size; taken >= most+widest && !short || has != x.Tasks || taken != x.used {
		v.t.Fatalf("node %d has %d tasks for %d workers, its room is %d, and it is to have %d for %d", i, has, taken, most, x.Tasks, x.used)
	}
	if m := v.memory[i]; m.Cap > 0 && m.Used > m.Cap {
		v.t.Fatalf("node %d has %d bytes, its cap is %d", i, m.Used, m.Cap)
	}
	v.events = append(v.events, happening{v.now + v.lasts(i), i, t.ID(), false})
}

// lasts is how long a task lasts on a node: each is half as fast as the one before.
func (v *virtual) lasts(node int) time.Duration {
	return time.Duration(1+v.rng.IntN(1000)) * time.Microsecond << (node % 4)
}

// lost is the loss of a node. What only it had is the driver's again.
func (v *virtual) lost(node int) {
	for d, e := range v.data.All() {
		e.RemoveHolder(node)
		if len(e.Holders) == 0 {
			e.Holders = append(e.Holders, 0)
		}
		e.ShowHolders(d)
	}
	tasks, _ := v.RemoveNode(node)
	for _, t := range tasks {
		t.SetState(graph.Ready)
	}
	v.Push(tasks, -1)
}

// TestScheduler: random programs on nodes that come and go, some with little memory, under
// every policy: each task ends once, and no node has more tasks, or bytes, than it may have.
func TestScheduler(t *testing.T) {
	given, gifts := 0, 0
	for seed := range uint64(40) {
		for k, kind := range append(dispatch.Kinds(), 255) {
			rng := rand.New(rand.NewPCG(seed, uint64(k)))
			o := &Choices{Policy: kind, Owner: kind == 255, Idle: seed%4 == 0, NewPolicy: func(m dispatch.Machine) dispatch.Policy { return dispatch.New(kind, m) }}
			caps := []int64{0, 0, 0, 0}
			if !o.Idle {
				caps = []int64{0, 6 * minSpreadBytes, 0, 10 * minSpreadBytes}
			}
			if seed%8 == 3 { // more than are looked at for each task, and than a word has bits
				for range 66 {
					caps = append(caps, 0)
				}
			}
			v := newVirtual(t, rng, o, caps, int(seed%4))
			for i := range rng.IntN(4) {
				v.events = append(v.events, happening{at: time.Duration(rng.IntN(50_000)) * time.Microsecond, node: 1 + i})
			}
			data := make([]graph.Datum, 20)
			for i := range data {
				data[i] = graph.Datum{Key: graph.Key{Matrix: 1, I: int32(i)}, Bytes: minSpreadBytes, Owner: int32(i)}
			}
			ops := []*versions.Op{{Name: "nothing"}, {Name: "something", Versions: []versions.Version{{Constraints: versions.Constraints{Units: 2}}}}}
			tasks := 100 + rng.IntN(200)
			for i := range tasks {
				s := &graph.Spec{Op: ops[rng.IntN(2)], Priority: rng.Int64N(3)}
				for _, k := range rng.Perm(len(data))[:1+rng.IntN(4)] {
					s.Operands = append(s.Operands, graph.Operand{Datum: &data[k], Mode: []graph.Mode{graph.In, graph.In, graph.InOut, graph.Out}[rng.IntN(4)]})
				}
				v.submit(s)
				if i == tasks/2 {
					v.come(len(v.Nodes), 0)
					v.RebuildQueue()
				}
				if i%3 == 0 {
					v.step()
				}
			}
			for v.step() {
			}
			given, gifts = given+v.given, gifts+v.gifts
			for i, m := range v.memory {
				if m.HasPinned() && !v.Nodes[i].lost {
					t.Fatalf("node %d has something that nobody uses and that stays", i)
				}
			}
			name := fmt.Sprintf("seed %d, %v", seed, kind)
			if len(v.ends) != v.count {
				t.Fatalf("%s: %d of %d tasks have ended", name, len(v.ends), v.count)
			}
			for id, n := range v.ends {
				if n != 1 {
					t.Fatalf("%s: task %d has ended %d times", name, id, n)
				}
			}
			if v.InFlight.N != 0 || v.queue.Len() != 0 {
				t.Fatalf("%s: %d tasks under way, %d queued", name, v.InFlight.N, v.queue.Len())
			}
		}
	}
	if given == 0 || gifts == 0 {
		t.Errorf("%d tasks were given back, and %d data were to be given by nodes with little memory", given, gifts)
	}
}

// TestNearest: under locality a node that has a worker free, or soon, gets what it has; others
// that have nothing to do get the rest.
func TestNearest(t *testing.T) {
	o := &Choices{Policy: dispatch.Locality, Idle: true, NewPolicy: func(m dispatch.Machine) dispatch.Policy { return dispatch.New(dispatch.Locality, m) }}
	v := newVirtual(t, rand.New(rand.NewPCG(1, 1)), o, []int64{0, 0, 0, 0}, -1)
	for i := range v.Nodes {
		v.Nodes[i].workers = 2
	}
	data := make([]graph.Datum, 10)
	gives := func(d []graph.Datum) (to []int) {
		for i := range d {
			d[i] = graph.Datum{Key: graph.Key{Matrix: 1, I: int32(i)}, Bytes: 8}
			v.data.Put(&d[i], &Entry{Datum: &d[i], Holders: []int{3}, Version: 1})
			v.data.Of(&d[i]).ShowHolders(&d[i])
			v.submit(&graph.Spec{Op: &versions.Op{Name: "nothing"}, Operands: []graph.Operand{{Datum: &d[i], Mode: graph.InOut}}})
			for x, i := range v.Picks() {
				v.give(x, i)
				to = append(to, i)
			}
		}
		return to
	}
	got := gives(data[:6])
	if !slices.Equal(got[:2], []int{3, 3}) || slices.Contains(got[2:], 3) || slices.Max(got) > 3 || slices.Min(got) < 1 {
		t.Errorf("node 3 has all, and tasks go to %v", got)
	}
	v.Nodes[3].window.size, v.Nodes[3].slots = 100, 90 // tasks are short
	if got := gives(data[6:]); !slices.Equal(got, []int{3, 3, 3, 3}) {
		t.Errorf("node 3 has all, tasks are short, and they go to %v", got)
	}
}

// TestRecall: a node whose workers all have one task, of which nothing is known, gives others back
// for a node that has nothing to do, also those that only write; it is asked once until it has
// answered, and drops what it has made room for.
func TestRecall(t *testing.T) {
	o := &Choices{Policy: dispatch.Locality, Idle: true, NewPolicy: func(m dispatch.Machine) dispatch.Policy { return dispatch.New(dispatch.Locality, m) }}
	v := newVirtual(t, rand.New(rand.NewPCG(1, 1)), o, []int64{0, 0, 0}, -1)
	const workers = 8
	for i := range v.Nodes {
		v.Nodes[i].workers, v.Nodes[i].slots = workers, 3*workers
	}
	wide := &versions.Op{Name: "nothing", Versions: []versions.Version{{Constraints: versions.Constraints{Units: workers}}}}
	short := &versions.Op{Name: "something", Versions: []versions.Version{{}}}
	data := make([]graph.Datum, 2*workers+1)
	task := func(i int, op *versions.Op) *graph.Task {
		data[i] = graph.Datum{Key: graph.Key{Matrix: 1, I: int32(i)}, Bytes: 8}
		v.data.Put(&data[i], &Entry{Datum: &data[i], Holders: []int{2}, Version: 1, Ref: transport.Ref{Matrix: 1, I: int32(i), Version: 1}})
		x, _ := v.graph.Add(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.Out}}})
		v.Assign(x, 1, nil)
		return x
	}
	first := task(0, wide)
	if x := &v.Nodes[1]; x.hasFreeWorker() || x.slots != 2*workers {
		t.Errorf("a task has all workers of a node, which has room for %d more", x.slots)
	}
	var last *graph.Task
	for i := range 2 * workers {
		last = task(1+i, short)
	}
	if all := v.Reclaim(); all != nil {
		t.Errorf("nothing is known of any task, and it is to give back %v", all)
	}
	v.NoteRun(&Flight{Node: 2, Task: last, work: 1}, 10*time.Millisecond)
	all := v.Reclaim()
	if len(all) != 1 || all[0].From != 1 || all[0].Count != 2*workers || all[0].Tasks[0] != uint64(last.ID()) {
		t.Fatalf("it is to give back %v", all)
	}
	if all := v.Reclaim(); all != nil {
		t.Errorf("it has not answered, and is to give back %v", all)
	}
	f := v.Unassign(1, last.ID())
	last.SetState(graph.Ready)
	if !v.TakeBack(f) || !slices.Equal(v.Nodes[2].waiting, []*graph.Task{last}) {
		t.Error("what was given back is not for the other node")
	}
	if drops := v.directory.TakeStale(1); len(drops) != 1 || drops[0].I != 2*workers {
		t.Errorf("it drops %v", drops)
	}
	// The driver may fetch a version of the program's early, before it drops what it has only room for.
	for set := range uint64(2) {
		x := task(2*workers, short)
		v.data.Of(&data[2*workers]).Set = set
		v.Unassign(1, x.ID())
		f := v.Assign(x, 0, nil)
		v.Unassign(0, x.ID())
		x.SetState(graph.Ready)
		v.Nodes[0].RecallWorkers, v.Nodes[0].RecallFor = 1, 2
		v.TakeBack(f)
		v.Nodes[0].RecallWorkers = 0
		if drops := v.directory.TakeStale(0); len(drops) != int(set) {
			t.Errorf("of set %d the driver drops %v", set, drops)
		}
	}
	v.EndRecall(1)
	if v.Nodes[2].recalled != 0 {
		t.Errorf("it has answered, and tasks of %d workers are to come", v.Nodes[2].recalled)
	}
	// If one worker is free it wants one task, but names all, as that one may have begun.
	for i := range workers - 1 {
		own := &graph.Datum{Key: graph.Key{Matrix: 3, I: int32(i)}}
		v.data.Put(own, &Entry{Datum: own, Holders: []int{2}, Version: 1, Ref: transport.Ref{Matrix: 3, I: int32(i), Version: 1}})
		x, _ := v.graph.Add(&graph.Spec{Op: short, Operands: []graph.Operand{{Datum: own, Mode: graph.Out}}})
		v.Assign(x, 2, nil)
	}
	v.Unassign(1, first.ID())
	v.Nodes[1].nothingToRecall, v.Nodes[2].waiting = false, nil
	if all := v.Reclaim(); len(all) != 1 || all[0].Count != 1 || len(all[0].Tasks) != 2*workers-1 {
		t.Errorf("for one worker it is to give back %v", all)
	}
	for _, f := range slices.Collect(v.InFlight.all()) {
		if f.Node == 2 {
			v.Unassign(2, f.Task.ID())
		}
	}
	v.EndRecall(1)
	// What would take longer to move than it waits is not named, once that is known.
	v.NoteRun(&Flight{Node: 2, Task: first, work: 1}, 10*time.Millisecond)
	v.Learned.LearnTransfer(1, 2, 1, 1<<30, time.Second)
	far := &graph.Datum{Key: graph.Key{Matrix: 2}, Bytes: 100 << 30}
	v.data.Put(far, &Entry{Datum: far, Holders: []int{1}, Version: 1, Ref: transport.Ref{Matrix: 2, Version: 1}})
	x, _ := v.graph.Add(&graph.Spec{Op: short, Operands: []graph.Operand{{Datum: far, Mode: graph.In}}})
	v.Assign(x, 1, nil)
	v.Nodes[1].nothingToRecall, v.Nodes[2].waiting = false, nil
	if all := v.Reclaim(); len(all) != 1 || all[0].Count == 0 || slices.Contains(all[0].Tasks, uint64(x.ID())) {
		t.Errorf("with a task that reads much it is to give back %v", all)
	}
}
