package exec

import (
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/graph"
)

// backlog is what has been submitted to a job and is not in its graph yet. While
// one worker executes all tasks (see [pace]), submitters only note them
// here, and that worker puts them into the graph when it comes to them: so what
// the graph keeps of a task stays in the caches of one core, and of little more
// than horizon tasks at a time.
//
// It is a ring with one writer, who holds job.submit, and one reader, who holds
// scheduler.mu. As long as there is something in it only the reader may add to the
// graph, and when there is nothing only the writer.
type backlog struct {
	graph *graph.Graph  // of the job
	done  *atomic.Int64 // how many of its tasks have ended

	ring []note // nil until it is needed
	// seen is how many had been read when the writer last looked.
	seen uint64
	base uint64 // tasks that were put into the graph without it

	_       [64]byte
	written atomic.Uint64
	_       [56]byte

	// The scheduler's lock guards what follows.
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

// suits reports whether a spec can be in a backlog: it has few operands, and no access
// modes for which the graph would call a function of the program.
func suits(s *graph.Spec) bool { return len(s.Operands) <= noted && s.Plain() }

// write notes s, which suits, and reports whether there was room. It is for the writer,
// as empty is.
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

// unread reports whether there is something to read. It is for the reader, as what
// follows is.
func (b *backlog) unread() bool {
	at := b.read.Load()
	if at == b.known { // the writer's cache line is looked at no more than needed
		b.known = b.written.Load()
	}
	return at != b.known
}

// short reports whether the graph has fewer tasks than it should have ahead.
func (b *backlog) short() bool { return int64(b.base+b.read.Load())-b.done.Load() < horizon }

// infer puts at most n tasks into the graph and returns those of them that are ready. The
// slice is the backlog's, and good until infer is called again. The writer sees that the
// notes have been read when all of them are in the graph.
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
