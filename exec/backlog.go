package exec

import (
	"slices"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/graph"
)

// backlog is what has been submitted to a job and is not in its graph yet. While
// one worker executes all tasks (see [pace]), whoever submits only notes them
// here, and that worker puts them into the graph when it comes to them: so what
// the graph keeps of a task stays in the caches of one core, and of little more
// than horizon tasks at a time.
//
// It is a ring with one writer, who holds Job.submit, and one reader, who holds
// Local.mu. As long as there is something in it only the reader may add to the
// graph, and when there is nothing only the writer.
type backlog struct {
	ring []note // nil until it is needed
	// seen is how many had been read when the writer last looked.
	seen uint64
	base uint64 // tasks that were put into the graph without it

	_       [64]byte
	written atomic.Uint64
	_       [56]byte

	// The runtime's lock guards what follows.
	read  atomic.Uint64
	known uint64 // written when it was last looked at
	spec  graph.Spec
	ready []*graph.Task
}

// note is a task in the backlog: two cache lines.
type note struct {
	op       graph.Op
	params   any
	priority int64
	failure  *graph.Failure
	operands [noted]graph.Operand
	n        int
	_        [8]byte
}

// noted is the largest number of operands of a task in a backlog.
const noted = 4

const (
	// backlogSize is the largest number of tasks that a backlog has room for: as many
	// as the window, if that is not larger.
	backlogSize = DefaultWindow
	// horizon is how many tasks that have not ended a worker has in the graph of a
	// job before it takes more from the backlog, unless none of them is ready.
	horizon = 256
	// gulp is how many it takes at a time.
	gulp = 64
)

// postpone leaves it to whoever executes tasks to add s, if one worker executes all
// of them or some have been left so before, and reports whether it did. The caller
// holds submit, and has checked s.
func (j *job) postpone(s *graph.Spec) bool {
	l, b := j.rt, &j.backlog
	if l.solo.Load() == nil && b.empty() || len(s.Operands) > noted || !s.Plain() {
		return false
	}
	if b.ring == nil {
		j.takeRing()
	}
	at := b.written.Load()
	if at-b.seen == uint64(len(b.ring)) {
		if b.seen = b.read.Load(); at-b.seen == uint64(len(b.ring)) {
			return false
		}
	}
	n := &b.ring[at&uint64(len(b.ring)-1)]
	n.op, n.params, n.priority, n.failure = s.Op, s.Params, s.Priority, s.Failure
	n.n = len(s.Operands)
	for i := range s.Operands { // copy goes through the runtime
		n.operands[i] = s.Operands[i]
	}
	b.written.Store(at + 1)
	// A worker that is not the one any more says so before it looks for the last
	// time.
	if l.solo.Load() == nil {
		j.help()
	}
	return true
}

// empty reports whether all has been read. It is for the writer.
func (b *backlog) empty() bool { return b.ring == nil || b.read.Load() == b.written.Load() }

// help puts some of the backlog into the graph, and more if nothing is ready then.
func (j *job) help() {
	l := j.rt
	l.mu.Lock()
	l.read(j, gulp)
	l.absorb()
	w := l.rouse()
	l.mu.Unlock()
	w.rouse()
}

// settle puts everything in the backlog into the graph. The caller holds submit.
func (j *job) settle() {
	for !j.backlog.empty() {
		j.help()
	}
}

// absorb puts what workers are going to need from the backlogs into the graphs. The
// caller holds mu.
func (l *Local) absorb() {
	for _, j := range l.backlogs {
		b := &j.backlog
		for l.unread(j) && (l.ready.Common() == 0 || int64(b.base+b.read.Load())-j.done.Load() < horizon) {
			l.read(j, gulp)
		}
	}
}

// unread reports whether there is something in j's backlog. The caller holds mu.
func (l *Local) unread(j *job) bool {
	b := &j.backlog
	at := b.read.Load()
	if at == b.known { // the writer's cache line is looked at no more than needed
		b.known = b.written.Load()
	}
	return at != b.known
}

// behind reports whether there is something in a backlog: absorb has left it there
// while tasks were ready. The caller holds mu.
func (l *Local) behind() bool {
	for _, j := range l.backlogs {
		if l.unread(j) {
			return true
		}
	}
	return false
}

// read puts at most n tasks of j's backlog into its graph. The caller holds mu.
func (l *Local) read(j *job, n uint64) {
	b := &j.backlog
	at := b.read.Load()
	if at+n > b.known {
		b.known = b.written.Load()
	}
	end := min(at+n, b.known)
	s := &b.spec
	for ; at != end; at++ {
		x := &b.ring[at&uint64(len(b.ring)-1)]
		s.Op, s.Params, s.Priority, s.Failure, s.Operands = x.op, x.params, x.priority, x.failure, x.operands[:x.n]
		if t, ready := j.submit.graph.AddPlain(s); ready {
			b.ready = append(b.ready, t)
		}
		*x = note{}
	}
	*s = graph.Spec{}
	l.ready.Push(b.ready, -1)
	clear(b.ready)
	b.ready = b.ready[:0]
	b.read.Store(at)
}

// takeRing makes the backlog ready for use.
func (j *job) takeRing() {
	l, b := j.rt, &j.backlog
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backlogs = append(l.backlogs, j)
	if n := len(l.rings); n > 0 {
		b.ring = l.rings[n-1]
		l.rings = slices.Delete(l.rings, n-1, n)
		return
	}
	n := 1
	for n < min(l.opt.Window, backlogSize) {
		n *= 2
	}
	b.ring = make([]note, n)
}

// giveBack gives back what takeRing took: all tasks have ended. The caller holds
// submit.
func (j *job) giveBack() {
	l, b := j.rt, &j.backlog
	if b.ring == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.backlogs, j); i >= 0 {
		l.backlogs = slices.Delete(l.backlogs, i, i+1)
	}
	l.rings = append(l.rings, b.ring)
	b.ring = nil
}
