package trace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Recorder records a runtime's work. The zero value is ready to use; it starts with the first clock
// reading. It is safe for concurrent use. The memory grows with each attempt, and with Dependencies
// by the accesses of each task, until [Recorder.Reset].
type Recorder struct {
	// Dependencies records edges, too: for the critical path, the flows of [Recording.WriteChrome]
	// and [Recording.WriteDOT]. It must be set before the recorder is used.
	Dependencies bool
	// Graphs records the submitted tasks with the edges: see Recording.Graphs. It must be set
	// before the recorder is used.
	Graphs bool
	// Limit is the number of latest events, and of latest shares in others' tasks, that are kept
	// for each worker; 0 keeps all. It must be set before the recorder is used. Edges and pauses
	// are always kept.
	Limit int

	once  sync.Once
	start time.Time
	_     [64]byte   // what precedes is read often
	tally Tally      // of submitters
	mu    sync.Mutex // guards what follows; a leaf

	buffers []*buffer
	logs    []jobLog
	pauses  []Pause
	copies  []Copy
	waits   []Wait
	names   map[int]string // names of workers
	nodes   []NodeRows
}

// buffer holds the events of one worker. Only that worker and readers take its lock, so recording
// does not contend.
type buffer struct {
	tally   Tally
	mu      sync.Mutex
	events  ring
	shares  ring
	running Running // the worker's present task, if busy
	busy    bool
	kinds   numbers[versionKey]
	totals  []Usage  // by number of the kind, including dropped events
	_       [64]byte // a cache line of its own
}

// versionKey identifies a version of an op.
type versionKey struct{ op, version string }

// usage returns the Usage of e's version. The caller holds the buffer's lock.
func (b *buffer) usage(e *Event) *Usage {
	k := int(b.kinds.number(versionKey{e.Op, e.Version}))
	if k == len(b.totals) {
		b.totals = append(b.totals, Usage{Op: e.Op, Version: e.Version})
	}
	return &b.totals[k]
}

// begin starts the clock.
func (r *Recorder) begin() { r.once.Do(func() { r.start = time.Now() }) }

// Now returns the time since the recorder's start.
func (r *Recorder) Now() time.Duration {
	r.begin()
	return time.Since(r.start)
}

// Began returns when the recorder started.
func (r *Recorder) Began() time.Time {
	r.begin()
	return r.start
}

// Sink returns the function that records the events of one worker. Only that worker's goroutine
// calls it.
func (r *Recorder) Sink(worker int) func(Event) {
	b := r.buffer(worker)
	return func(e Event) {
		b.mu.Lock()
		b.usage(&e).add(&e)
		b.events.put(&e, r.Limit)
		b.busy = false
		b.mu.Unlock()
		b.tally.attempts.Add(1)
	}
}

// Share records the work of e.Worker, as a member of a gang, for an attempt at a task that another
// worker leads: see [Recording.Shares].
func (r *Recorder) Share(e Event) {
	b := r.buffer(e.Worker)
	b.mu.Lock()
	b.usage(&e).Busy += e.End - e.Start
	b.shares.put(&e, r.Limit)
	b.busy = false
	b.mu.Unlock()
}

// buffer returns the buffer of a worker. It is never removed, so the caller may keep it without the
// lock.
func (r *Recorder) buffer(worker int) *buffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.buffers) <= worker {
		r.buffers = append(r.buffers, &buffer{})
	}
	return r.buffers[worker]
}

// Pause records that a full window stopped a submission.
func (r *Recorder) Pause(p Pause) { note(r, &r.pauses, p) }

// note appends x to one of the lists that r.mu guards.
func note[T any](r *Recorder, list *[]T, x T) {
	r.mu.Lock()
	*list = append(*list, x)
	r.mu.Unlock()
}

// Events returns a copy of the events so far, worker by worker, each in the
// order of time.
func (r *Recorder) Events() []Event {
	return r.collect(func(b *buffer) *ring { return &b.events })
}

// collect returns the events in one ring of each worker.
func (r *Recorder) collect(of func(*buffer) *ring) (all []Event) {
	for _, b := range r.snapshot() {
		b.mu.Lock()
		all = of(b).appendTo(all)
		b.mu.Unlock()
	}
	return all
}

// Recording returns a copy of everything recorded so far. Workers may go on meanwhile: each
// worker's part is copied at a time of its own.
func (r *Recorder) Recording() *Recording {
	rec := &Recording{Began: r.Began(), Workers: len(r.snapshot()), Events: r.Events()}
	rec.Shares = r.collect(func(b *buffer) *ring { return &b.shares })
	r.mu.Lock()
	rec.Pauses = slices.Clone(r.pauses)
	rec.Copies, rec.Waits, rec.Names, rec.Nodes = slices.Clone(r.copies), slices.Clone(r.waits), maps.Clone(r.names),
		slices.Clone(r.nodes)
	logs := slices.Clone(r.logs)
	r.mu.Unlock()
	for _, l := range logs {
		rec.AddLog(l.job, l.log)
	}
	return rec
}

// Reset drops all events and dependencies. The clock goes on, and so do Counts.
func (r *Recorder) Reset() {
	for _, b := range r.snapshot() {
		b.mu.Lock()
		b.events.reset()
		b.shares.reset()
		b.kinds, b.totals = numbers[versionKey]{}, nil
		b.mu.Unlock()
	}
	r.mu.Lock()
	logs := r.logs
	r.logs, r.pauses, r.copies, r.waits = nil, nil, nil, nil
	r.mu.Unlock()
	for _, l := range logs {
		l.log.Forget()
	}
}

// snapshot returns the buffers of all workers so far.
func (r *Recorder) snapshot() []*buffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.buffers)
}

// jobLog is the log of a job's tasks.
type jobLog struct {
	job uint64
	log *graph.Log
}

// Follow returns a log for the graph of a job. Each Recording contains the edges that follow from
// the log, and with r.Graphs the tasks themselves. Edges are derived when a Recording is made, so
// that they cost the run next to nothing. Reset empties the log.
func (r *Recorder) Follow(job uint64) *graph.Log {
	l := &graph.Log{Whole: r.Graphs}
	l.Begun = func() { note(r, &r.logs, jobLog{job, l}) }
	return l
}
