package trace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Event is one attempt at a task. Times count from the recorder's start, in the order
// Submitted, Ready, Start, End. As several goroutines read them, one of the first two may
// come out a little too late.
type Event struct {
	Job     uint64 // number of the job in its runtime
	Task    uint64 // number of the task in its job
	Op      string // as in "gemm/f64"
	Version string // version that ran
	Worker  int    // worker that ran it

	// Datum, I and J name the first datum that the task writes: "A", 3, 2.
	// Empty if it writes none.
	Datum string
	I, J  int32

	Submitted time.Duration // 0 if unknown, like Ready
	Ready     time.Duration // nothing was missing any more
	Start     time.Duration
	End       time.Duration
	Failed    bool
}

// Edge says that a task of a job depends on an earlier one.
type Edge struct {
	Job      uint64
	From, To uint64 // tasks
	Kind     graph.Dependence
	Bytes    int64 // size of the datum that it is about
}

// Pause is a time in which the submission of a job stood still because its
// window was full.
type Pause struct {
	Job        uint64
	Start, End time.Duration
}

// Recorder collects what a runtime does. The zero value is ready to use; it
// starts with the first clock reading. It is safe for concurrent use. A runtime
// records into it as long as it runs; the memory grows with each attempt, and
// with Dependencies by what each task accesses, until [Recorder.Reset].
type Recorder struct {
	// Dependencies says that edges are recorded, too: for the critical path, the
	// flows of [Recording.WriteChrome] and [Recording.WriteDOT]. It must be set
	// before the recorder is used.
	Dependencies bool
	// Graphs says that with the edges the tasks themselves are recorded, as they were submitted:
	// Recording.Graphs. It must be set before the recorder is used.
	Graphs bool
	// Limit is the number of events that are kept of each worker, the latest
	// ones, and as many of its shares in others' tasks; 0 keeps all. It must be set
	// before the recorder is used. Edges and pauses are kept in any case.
	Limit int

	once  sync.Once
	start time.Time
	_     [64]byte   // what comes before is read often
	tally Tally      // of those that are no workers
	mu    sync.Mutex // guards what follows; a leaf

	buffers []*buffer
	logs    []jobLog
	pauses  []Pause
	copies  []Copy
	waits   []Wait
	names   map[int]string // of workers that have one
	nodes   []NodeRows
}

// buffer holds the events of one worker. Its lock is taken by that worker and
// by readers only, so recording does not contend.
type buffer struct {
	tally   Tally
	mu      sync.Mutex
	events  ring
	shares  ring
	running Running // what the worker is at, if busy
	busy    bool
	kinds   numbers[versionKey]
	totals  []Usage  // by number of the kind, also of events that are gone
	_       [64]byte // keeps neighbours off this cache line
}

// versionKey identifies a version of an op.
type versionKey struct{ op, version string }

// usage returns where the events of e's version are counted. The caller holds the
// buffer's lock.
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

// Sink returns the function that records the events of one worker. It is for that
// worker's goroutine.
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

// Share records what e.Worker did, as a member of a gang, for an attempt at a task
// that another worker leads: see [Recording.Shares].
func (r *Recorder) Share(e Event) {
	b := r.buffer(e.Worker)
	b.mu.Lock()
	b.usage(&e).Busy += e.End - e.Start
	b.shares.put(&e, r.Limit)
	b.busy = false
	b.mu.Unlock()
}

// buffer returns the buffer of a worker. It is never taken away, so that it may be kept
// without the lock.
func (r *Recorder) buffer(worker int) *buffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.buffers) <= worker {
		r.buffers = append(r.buffers, &buffer{})
	}
	return r.buffers[worker]
}

// Pause records that a submission stood still.
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

// collect returns what is in one ring of each worker.
func (r *Recorder) collect(of func(*buffer) *ring) (all []Event) {
	for _, b := range r.snapshot() {
		b.mu.Lock()
		all = of(b).appendTo(all)
		b.mu.Unlock()
	}
	return all
}

// Recording returns a copy of everything recorded so far. Workers may go on meanwhile:
// what of theirs is in it and what is not is decided worker by worker.
func (r *Recorder) Recording() *Recording {
	rec := &Recording{Began: r.Began(), Workers: len(r.snapshot()), Events: r.Events()}
	rec.Shares = r.collect(func(b *buffer) *ring { return &b.shares })
	r.mu.Lock()
	rec.Pauses = slices.Clone(r.pauses)
	rec.Copies, rec.Waits, rec.Names, rec.Nodes = slices.Clone(r.copies), slices.Clone(r.waits), maps.Clone(r.names), slices.Clone(r.nodes)
	logs := slices.Clone(r.logs)
	r.mu.Unlock()
	for _, l := range logs {
		rec.AddLog(l.job, l.log)
	}
	return rec
}

// Summary condenses what was recorded so far.
func (r *Recorder) Summary() Summary { return r.Recording().Summary() }

// Reset forgets all events and dependencies. The clock goes on, and so do Counts.
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

// snapshot returns the buffers of all workers that there are now.
func (r *Recorder) snapshot() []*buffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.buffers)
}
