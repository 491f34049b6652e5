package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// fifodata is locality, with the tasks that a worker has just freed before
// all others on that worker. Freed tasks are among the others too, so that other
// workers can take them.
//
// It takes the time of locality, as it does the same with each task; what a worker finds
// on its list and another one has taken costs it a look. It assumes that what a task has
// freed reads what that task has written, which is still in the worker's caches.
//
// Reference: Amela et al., 2018, section 2.3, FIFOData.
type fifodata struct {
	*scored
	freed []freedList // by worker
}

// freedList is what the last task of a worker freed, from next on.
type freedList struct {
	refs []entryRef
	next int
}

// entryRef is an entry that may have been taken, and reused, meanwhile: then its gen is
// another one.
type entryRef struct {
	e   *entry
	gen uint64
}

func newFIFOData(m Machine) *fifodata {
	return &fifodata{scored: newNear(m), freed: make([]freedList, len(m.Locations))}
}

// Push replaces the list of from: what the task before the last one has freed, and nobody
// has taken yet, is among all others from now on.
func (q *fifodata) Push(ready []*graph.Task, from int) {
	if from < 0 {
		q.scored.Push(ready, from)
		return
	}
	arrange(ready)
	f := &q.freed[from]
	f.refs, f.next = f.refs[:0], 0
	for _, t := range ready {
		e := q.push(t)
		f.refs = append(f.refs, entryRef{e, e.gen})
	}
}

func (q *fifodata) Pop(worker int) *graph.Task {
	for f := &q.freed[worker]; f.next < len(f.refs); {
		r := f.refs[f.next]
		f.next++
		if r.e.gen == r.gen {
			return q.take(r.e)
		}
	}
	return q.scored.Pop(worker)
}
