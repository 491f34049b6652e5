package exec

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/graph"
)

// backlog holds tasks that were submitted to a job and are not in its graph yet. While one worker
// executes all tasks (see [pace]), submitters only note tasks here, and that worker puts them into
// the graph when it reaches them. So the graph's data of about horizon tasks stay in the caches of
// one core.
//
// It is a ring with one writer, the holder of job.submit, and one reader, the holder of
// scheduler.mu. While it has tasks, only the reader may add to the graph; while it is empty, only
// the writer.
type backlog struct {
	graph *graph.Graph  // the job's
	done  *atomic.Int64 // number of the job's tasks that have ended

	ring []note // nil until it is needed
	// seen is read as the writer last saw it.
	seen uint64
	base uint64 // tasks that went into the graph directly

	_       [64]byte
	written atomic.Uint64
	_       [56]byte

	// The scheduler's lock guards what follows.
	read  atomic.Uint64
	known uint64 // written as the reader last saw it
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
	// backlogSize is the largest capacity of a backlog: the window, if that is not larger.
	backlogSize = DefaultWindow
	// horizon is the number of unended tasks in a job's graph below which a worker takes more from
	// the backlog. It also does if none is ready.
	horizon = 256
	// gulp is how many it takes at a time.
	gulp = 64
)

// suits reports whether a backlog can hold s: s has few operands, and no access mode for which the
// graph would call a function of the program.
func suits(s *graph.Spec) bool { return len(s.Operands) <= noted && s.Plain() }

// write notes s, which suits, and reports false if the ring is full. Only the writer calls write
// and empty.
func (b *backlog) write(s *graph.Spec) bool {
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
	b.written.Store(at + 1) // the reader sees all of the note
	return true
}

// empty reports whether all has been read.
func (b *backlog) empty() bool { return b.ring == nil || b.read.Load() == b.written.Load() }

// unread reports whether the ring has unread tasks. Only the reader calls it and the methods below.
func (b *backlog) unread() bool {
	at := b.read.Load()
	if at == b.known { // read the writer's cache line no more than needed
		b.known = b.written.Load()
	}
	return at != b.known
}

// short reports whether the graph has fewer than horizon unended tasks.
func (b *backlog) short() bool { return int64(b.base+b.read.Load())-b.done.Load() < horizon }

// infer puts at most n tasks into the graph and returns those that are ready. The slice is valid
// until the next call. The writer sees the notes as read only when all of them are in the graph.
func (b *backlog) infer(n uint64) []*graph.Task {
	at := b.read.Load()
	if at+n > b.known {
		b.known = b.written.Load()
	}
	end := min(at+n, b.known)
	s := &b.spec
	b.ready = b.ready[:0]
	for ; at != end; at++ {
		x := &b.ring[at&uint64(len(b.ring)-1)]
		s.Op, s.Params, s.Priority, s.Failure, s.Operands = x.op, x.params, x.priority, x.failure, x.operands[:x.n]
		if t, ready := b.graph.AddPlain(s); ready {
			b.ready = append(b.ready, t)
		}
		*x = note{}
	}
	*s = graph.Spec{}
	b.read.Store(at)
	return b.ready
}
