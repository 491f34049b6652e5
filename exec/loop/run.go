package loop

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// run is a loop under way. Its runners are tasks, one for each worker: each takes chunks for the
// worker that executes it until there are none, or until other work wants the worker. So a worker
// may come late, or not at all.
//
//	ready ─► takeTurn: a stretch of chunks ─► exhausted: the runner ends
//	  ▲              │ wanted: ErrUnfinished
//	  └──────────────┘
type run struct {
	dispenser *Dispenser
	body      func(Chunk) error
	origin    origin
	items     int
	unit      int // items in one item of the dispenser
	opt       Options
	lesson    *lesson // Auto's; nil if nothing is to be learned
	trial     int     // number in the lesson; -1 for a look
	spans     bool    // spans are noted
	began     time.Time
	hands     []hand // by worker

	// barred is the first item that must not be started any more: items after a failure.
	barred  atomic.Int64
	waiting atomic.Int32 // runners that are ready

	mu    sync.Mutex // a leaf
	fault error      // error of the first failed chunk, by items
	at    int        // first item of that chunk
}

// newRun returns a loop over items for workers.
func newRun(ctx context.Context, items, unit int, workers []exec.Worker, p Plan, parts []Part,
	body func(Chunk) error) *run {
	locations := make([]int, len(workers))
	for i := range workers {
		locations[i] = workers[i].Location
	}
	if unit > 1 {
		p.Grain = int(ceil(u(p.Grain), u(unit)))
	}
	r := &run{body: body, origin: origin{ctx}, items: items, unit: unit, hands: make([]hand, len(workers))}
	if parts != nil {
		r.dispenser = NewPartsDispenser(parts, locations, p)
	} else {
		r.dispenser = NewDispenser(int(ceil(u(items), u(unit))), locations, p)
	}
	r.barred.Store(math.MaxInt64)
	r.began = time.Now()
	return r
}

// newOp returns the op of runners. Its parameter, a *run, stays in the process.
func newOp(name string) *versions.Op {
	return &versions.Op{Name: name, Bound: true, Versions: []versions.Version{{Name: "go", Run: takeTurn}}}
}

// takeTurn is the version of newOp's op.
func takeTurn(call *versions.Call) error {
	r := call.Params.(*run)
	turn, err := exec.TakeTurn(call)
	if err != nil {
		return err
	}
	r.waiting.Add(-1)
	if r.work(&turn) {
		r.waiting.Add(1)
		return exec.ErrUnfinished
	}
	return nil
}

// work executes chunks. It reports whether other work wants the worker while there may be more
// chunks.
func (r *run) work(turn *exec.Turn) (unfinished bool) {
	for {
		switch r.stretch(turn) {
		case exhausted:
			return false
		case wanted:
			return true
		}
	}
}

// ending is how a stretch of chunks ends.
type ending uint8

const (
	broken    ending = iota // by a panic, after which further chunks are executed, or runtime.Goexit
	exhausted               // there are no more chunks
	wanted                  // other work wants the worker
)

// stretch executes chunks until one of these endings. Panics are handled once for the stretch, not
// for each chunk.
func (r *run) stretch(turn *exec.Turn) (end ending) {
	w := turn.Worker().ID
	h, own, began := &r.hands[w], r.dispenser.Own(w), time.Now()
	var c Chunk
	var start time.Duration
	inside := false // the body runs
	defer func() {
		h.Busy += time.Since(began)
		if end == broken {
			r.noteBroken(c, inside, &exec.PanicError{Value: recover(), Stack: debug.Stack()})
			if inside && r.spans {
				h.spans = append(h.spans, Span{c, start, time.Since(r.began)})
			}
		}
	}()
	for {
		var ok bool
		if c, ok = r.dispenser.Next(w); !ok {
			return exhausted
		}
		if r.unit > 1 {
			c.Lo, c.Hi = c.Lo*r.unit, min(c.Hi*r.unit, r.items)
		}
		if turn.Over() {
			r.bar(0)
		}
		if int64(c.Lo) >= r.barred.Load() { // and so are all later ones of the queue
			r.dispenser.Close(c.Queue)
			continue
		}
		h.took(c, own)
		if r.spans {
			start = time.Since(r.began)
		}
		c.of, inside = &r.origin, true
		err := r.body(c)
		inside = false
		if r.spans {
			h.spans = append(h.spans, Span{c, start, time.Since(r.began)})
		}
		if err != nil {
			r.fail(c.Lo, &ChunkError{c, err})
		}
		if turn.Wanted(int(r.waiting.Load())) {
			return wanted
		}
	}
}

// noteBroken notes a panic, or runtime.Goexit, in the body at a chunk, or else in a Partitioner.
func (r *run) noteBroken(c Chunk, inside bool, err *exec.PanicError) {
	if inside {
		r.fail(c.Lo, &ChunkError{c, err})
		return
	}
	r.fail(-1, fmt.Errorf("loop: Partitioner.Next: %w", err))
	for q := range r.dispenser.Queues() { // else it would be asked again
		r.dispenser.Close(q)
	}
}

// fail notes a failure at an item; no later item is started.
func (r *run) fail(at int, err error) {
	r.mu.Lock()
	if r.fault == nil || at < r.at {
		r.fault, r.at = err, at
	}
	r.mu.Unlock()
	r.bar(int64(at))
}

// bar makes at the first item that must not be started any more.
func (r *run) bar(at int64) {
	for was := r.barred.Load(); at < was && !r.barred.CompareAndSwap(was, at); was = r.barred.Load() {
	}
}
