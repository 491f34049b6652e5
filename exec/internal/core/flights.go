package core

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// A flight is a task in flight: from its assignment to a node until its end, its return, or the
// loss of the node.
//
//	Assign ─► ReleaseEarly … ─► Unassign ─► NoteResults ─► Recycle
//	    	     └──► ReleaseEarly … ─► RemoveNode

// Assign notes that a node gets a task, and the transfers of its operands.
func (s *Scheduler) Assign(t *graph.Task, node int, from []Transfer) *Flight {
	x := &s.Nodes[node]
	f := s.spareFlights
	if f == nil {
		f = &Flight{}
	}
	s.spareFlights = f.next
	f.Task, f.Node, f.next, f.prev = t, node, x.flights, nil
	if f.next != nil {
		f.next.prev = f
	}
	x.flights = f
	f.Width = s.width(t, node)
	f.work = s.Learned.workOf(t)
	f.cost = float64(f.Width) * (s.Learned.secondsPerUnit(node, t.Op) * f.work)
	if x.memory.Cap > 0 {
		f.uses = Uses(t, s.data)
		x.memory.Pin(f.uses)
	}
	for _, g := range from {
		if s.Absent(g.From) { // a lost node that entries of kept data still name for a moment
			continue
		}
		if m := s.Nodes[g.From].memory; m.Cap > 0 {
			m.Pin([]*Entry{g.Entry})
			f.transfers = append(f.transfers, g)
		}
	}
	s.InFlight.put(uint64(t.ID()), f)
	s.addSlots(node, -f.Width)
	x.Tasks++
	x.nothingToRecall = false
	s.addTask(f, 1)
	return f
}

// endTransfers notes that the operands of a task have come, so the nodes that gave them may drop
// them.
func (s *Scheduler) endTransfers(f *Flight) {
	for _, g := range f.transfers {
		s.Nodes[g.From].memory.Unpin([]*Entry{g.Entry})
	}
	f.transfers = nil
}

// WrittenOn returns the data that tasks in flight on a node write.
func (s *Scheduler) WrittenOn(node int) map[*Entry]bool {
	all := map[*Entry]bool{}
	for f := s.Nodes[node].flights; f != nil; f = f.next {
		for k := range f.Task.Len() {
			if o := f.Task.Operand(k); o.Mode&graph.Out != 0 {
				all[s.data.Of(o.Datum)] = true
			}
		}
	}
	return all
}

// Recycle takes back a flight whose task has ended, for another task.
func (s *Scheduler) Recycle(f *Flight) {
	*f = Flight{next: s.spareFlights}
	s.spareFlights = f
}

// NoteEnded notes a message in which a node reports the ends of so many tasks, which took so many
// workers. The caller also calls Unassign for each of them.
func (s *Scheduler) NoteEnded(node, tasks, width int, now time.Time) {
	s.earnSearches(tasks)
	if !s.Absent(node) {
		s.addSlots(node, s.Nodes[node].window.noteEnds(width, now))
	}
}

// Unassign ends and returns the flight of a task on a node, nil if the node does not have the task
// any more.
func (s *Scheduler) Unassign(node int, id graph.TaskID) *Flight {
	f := s.InFlight.Of(uint64(id))
	if f == nil || f.Node != node {
		return nil
	}
	s.InFlight.remove(uint64(id))
	x := &s.Nodes[node]
	if f.next != nil {
		f.next.prev = f.prev
	}
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		x.flights = f.next
	}
	s.addSlots(node, f.Width)
	x.Tasks--
	x.nothingToRecall = false
	s.addTask(f, -1)
	if x.Tasks == 0 {
		s.addLoad(node, -x.load)
	}
	x.memory.Unpin(f.uses)
	s.endTransfers(f)
	return f
}

// RemoveNode notes that a node is lost. It returns the tasks in flight there, which become ready
// again, and the flights of those that had released operands early. Other tasks may have changed
// these operands, so such a task cannot run again. It counts as ended, and what it has not released
// as lost.
func (s *Scheduler) RemoveNode(node int) (tasks []*graph.Task, ended []*Flight) {
	s.directory.LoseNode(node)
	for d, e := range s.data.All() {
		had := e.Has(node)
		if e.LoseNode(node); had {
			e.ShowHolders(d)
		}
	}
	x := &s.Nodes[node]
	x.memory.Clear()
	if !x.lost && node > 0 {
		s.others--
	}
	x.lost = true
	s.EndRecall(node) // it will not answer
	s.addSlots(node, 0)
	s.addLoad(node, 0)
	for f := x.flights; f != nil; f = f.next {
		s.InFlight.remove(uint64(f.Task.ID()))
		s.endTransfers(f)
		if f.Task.Gave() {
			ended = append(ended, f)
		} else {
			tasks = append(tasks, f.Task)
		}
	}
	x.flights = nil
	for _, f := range ended {
		for k := range f.Task.Len() {
			if o := f.Task.Operand(k); o.Mode&graph.Out != 0 && !f.Task.Given(k) {
				s.noteResult(f, k, false)
				s.data.Of(o.Datum).LoseNode(node)
			}
		}
	}
	slices.SortFunc(tasks, byID)
	tasks = append(tasks, x.waiting...)
	s.setWaiting(node, nil)
	s.RebuildQueue() // other nodes get what was queued for it
	return tasks, ended
}

// NoteResults notes the data that a task leaves on its node: the next version of each datum that it
// writes, a copy of each that it reads. A failed task makes versions, too, because its failure
// policy may be to go on.
func (s *Scheduler) NoteResults(f *Flight, failed bool) {
	for k := range f.Task.Len() {
		if !f.Task.Given(k) {
			s.noteResult(f, k, failed)
		}
	}
}

// ReleaseEarly notes that a running task has finished with operand k.
func (s *Scheduler) ReleaseEarly(f *Flight, k int) {
	s.endTransfers(f) // it runs, so all operands have come
	s.noteResult(f, k, false)
	f.Task.UsedOperand(k, f.Node, 0)
	e := s.data.Of(f.Task.Operand(k).Datum)
	if i := slices.Index(f.uses, e); i >= 0 {
		s.Nodes[f.Node].memory.Unpin(f.uses[i : i+1])
		f.uses = slices.Delete(f.uses, i, i+1)
	}
}

// noteResult notes the result of one operand.
func (s *Scheduler) noteResult(f *Flight, k int, failed bool) {
	o := f.Task.Operand(k)
	e := s.data.Of(o.Datum)
	if o.Mode&graph.Out == 0 {
		if !failed {
			e.AddHolder(f.Node)
		} else if !e.Has(f.Node) { // the task may have failed before it read it
			e.CancelFetch(f.Node)
		}
		return
	}
	if !IsFirstWrite(f.Task, k) {
		return
	}
	made := f.Record
	if failed {
		made = nil
	}
	for at := len(e.cappedAt) - 1; at >= 0; at-- {
		i := e.cappedAt[at]
		if i != f.Node && s.forget(i, e) && !e.Has(i) { // the node has zeros, or the version has not come
			s.directory.MarkStale(i, e.Ref)
		}
	}
	s.directory.RecordWrite(e, f.Node, made)
	e.CopiedFrom = nil
}

// Rewrite notes that the program has changed a datum in its memory. No other node has what is there.
func (s *Scheduler) Rewrite(e *Entry) {
	for at := len(e.cappedAt) - 1; at >= 0; at-- {
		if i := e.cappedAt[at]; s.forget(i, e) && !e.Has(i) { // the node has zeros, or the version has not come
			s.directory.MarkStale(i, e.Ref)
		}
	}
	s.directory.RecordWrite(e, 0, nil)
	e.NoteHome(false)
}

// Discard makes all nodes drop a datum, including nodes that only have memory for it.
func (s *Scheduler) Discard(e *Entry) {
	for _, h := range e.Holders {
		s.directory.MarkStale(h, e.Ref)
		s.forget(h, e)
	}
	e.Holders = nil
	for _, h := range slices.Clone(e.cappedAt) {
		s.directory.MarkStale(h, e.Ref)
		s.forget(h, e)
	}
}

// DropCopies makes nodes drop the copies of a datum that no task reads any more. The first holder
// and the driver keep theirs.
func (s *Scheduler) DropCopies(e *Entry) {
	if len(e.Holders) < 2 {
		return
	}
	for _, h := range e.Holders[1:] {
		if h > 0 {
			s.directory.MarkStale(h, e.Ref)
			s.forget(h, e)
		}
	}
	first := e.Holders[0]
	e.Holders = slices.DeleteFunc(e.Holders, func(h int) bool { return h != first && h > 0 })
	e.Spreaders = e.Spreaders[:0]
}
