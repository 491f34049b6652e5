package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// fifodata is locality, with the tasks that a worker has just freed before
// all others on that worker. Freed tasks are in the locality structure too,
// so that other workers can take them.
type fifodata struct {
	locality
	freed []freedList // by worker
}

// freedList is what the last task of a worker freed, from next on.
type freedList struct {
	refs []entryRef
	next int
}

// entryRef is an entry that may have been taken, and reused, meanwhile.
type entryRef struct {
	e   *entry
	gen uint64
}

func newFIFOData(workers int) *fifodata {
	return &fifodata{locality: *newLocality(workers), freed: make([]freedList, workers)}
}

func (q *fifodata) Push(ready []*graph.Task, from int) {
	if from < 0 || from >= len(q.freed) {
		q.locality.Push(ready, from)
		return
	}
	f := &q.freed[from]
	f.refs, f.next = f.refs[:0], 0
	for _, t := range ready {
		e := q.push(t)
		f.refs = append(f.refs, entryRef{e, e.gen})
	}
}

func (q *fifodata) Pop(worker int) *graph.Task {
	if worker >= 0 && worker < len(q.freed) {
		f := &q.freed[worker]
		for f.next < len(f.refs) {
			r := f.refs[f.next]
			f.next++
			if r.e.gen == r.gen {
				return q.take(r.e)
			}
		}
	}
	return q.locality.Pop(worker)
}
