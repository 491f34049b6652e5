package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// fifodata is locality in which a worker first takes the tasks that it has just freed. Freed tasks
// are among the others too, so that other workers can take them.
//
// Push and Pop take as long as those of locality, and one comparison more for each listed task that
// another worker has taken. The policy assumes that freed tasks read the results
// of the task that freed them, which are still in the worker's caches.
//
// Reference: Amela et al., 2018, section 2.3, FIFOData.
type fifodata struct {
	*scored
	freed []freedList // by worker
}

// freedList is the tasks that the last task of a worker freed. next is the first that Pop has not looked at.
type freedList struct {
	refs []entryRef
	next int
}

// entryRef refers to an entry. If e.gen differs from gen, the task has been taken, and e may have another one.
type entryRef struct {
	e   *entry
	gen uint64
}

func newFIFOData(m Machine) *fifodata {
	return &fifodata{scored: newNear(m), freed: make([]freedList, len(m.Locations))}
}

// Push replaces the list of worker from. Tasks that an earlier task of it has freed and no worker
// has taken are ordinary ones from now on.
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
