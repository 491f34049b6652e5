package exec

import (
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// pace is how long the tasks of a worker take. Where they take less time than
// their bookkeeping does, several workers are slower than one: most of the time
// they wait for cache lines that another core has written last. Then one worker,
// Local.solo, executes all tasks, and those who submit leave it to that worker to
// put tasks into the graph: see [backlog]. The other workers sleep; one of them
// looks every millisecond whether the one is still getting on.
//
// Which worker executes a task is all that it decides. Policies, retries, teams
// and slots are as ever.
type pace struct {
	left    int           // tasks until the next look at the clock
	since   time.Duration // the last look
	score   int           // of stretches: one for each quick one, slow ones take back several
	timer   *time.Timer   // for watch
	claims  bool          // to be the one
	trusted bool          // with being the one, and has not resigned

	_ [64]byte
	// beat counts stretches, for others to look at.
	beat atomic.Uint64
	_    [56]byte
}

// tempo is what a pace is measured by.
type tempo struct {
	// stretch is the number of tasks from one look at the clock to the next.
	stretch int
	// quick is the longest time of a task that is better left to one worker, two
	// looks at the clock included. One that takes long ends it.
	quick, long time.Duration
	// brisk is the longest mean time of the tasks of a stretch, with what is
	// between them, for one worker that executes all of them, and shared for one of
	// several.
	brisk, shared time.Duration
	// linger is how long a worker without a task looks for one, if that is worth
	// while: some times what waking a sleeping thread costs.
	linger time.Duration
}

// usual is the tempo of all runtimes but those of tests. A task costs 0.3 µs if
// one worker executes all, 0.5 to 1.5 if two share them (docs/benchmarking.md).
func usual() tempo {
	return tempo{stretch: 32, quick: 300 * time.Nanosecond, long: 1500 * time.Nanosecond, brisk: 2 * time.Microsecond, shared: 4 * time.Microsecond, linger: 200 * time.Microsecond}
}

const (
	// enough is the score from which on a worker may be the one; it is no more when
	// it has come to 0, and never more than full.
	enough, full = 4, 16
	// slack is what a slow stretch costs: an interruption is forgiven, one task in a
	// hundred that takes long is not.
	slack = 4
	// glance is how long the one may seem to stand still before others take over,
	// and alive the least number of stretches that it must have done by then.
	glance, alive = time.Millisecond, 4
)

// epoch is what times in [pace] count from.
var epoch = time.Now()

// begins begins a stretch after w has waited.
func (w *worker) begins() {
	if w.rt.lonely {
		w.pace.left, w.pace.since = w.rt.opt.tempo.stretch, time.Since(epoch)
	}
}

// timed is invoke for the last task of a stretch.
func (w *worker) timed(t *graph.Task) error {
	p, tempo := &w.pace, &w.rt.opt.tempo
	start := time.Since(epoch)
	err := w.invoke(t)
	end := time.Since(epoch)
	limit := tempo.shared
	alone := w.rt.solo.Load() == w
	if alone {
		limit = tempo.brisk
	}
	switch {
	case end-start >= tempo.long:
		p.score = 0
	case end-start < tempo.quick && end-p.since < limit*time.Duration(tempo.stretch):
		p.score = min(p.score+1, full)
	default:
		p.score = max(p.score-slack, 0)
	}
	p.left, p.since = tempo.stretch, end
	switch {
	case alone && p.score > 0:
		p.beat.Add(1)
	case alone:
		w.rt.resign(w)
	case p.trusted: // others have found it standing still
		p.trusted, p.score = false, 0
	default:
		p.claims = p.score >= enough
	}
	return err
}

// entrust makes w the worker that executes all tasks, and has another one, if one
// sleeps, look after it. The caller holds mu, and w is awake or going to be woken.
func (l *Local) entrust(w *worker) {
	w.pace.trusted = true
	l.solo.Store(w)
	if !l.watched && l.spinning == 0 && len(l.parked) > 0 {
		l.rise(anyone).rouse() // there is room: see docs/locks.md
	}
}

// resign says that w is not the worker that executes all tasks any more, and
// reports whether it was.
func (l *Local) resign(w *worker) bool {
	if l.solo.Load() != w || !l.solo.CompareAndSwap(w, nil) {
		return false
	}
	w.pace.trusted = false
	return true
}

// apart reports whether another worker than w executes all tasks.
func (l *Local) apart(w *worker) bool {
	solo := l.solo.Load()
	return solo != nil && solo != w
}

// watch looks after the worker that executes all tasks, while w sleeps: if it does
// not get on, because of a task that takes long or one that waits for something,
// all workers are asked for again. It returns when w is awake, and counts among
// the spinning workers.
func (l *Local) watch(w *worker) {
	if w.pace.timer == nil {
		w.pace.timer = time.NewTimer(glance)
	}
	awake, well := false, true
	for solo := l.solo.Load(); solo != nil && well && !awake; {
		beat := solo.pace.beat.Load()
		w.pace.timer.Reset(glance)
		select {
		case <-w.wake: // who wakes w has counted it as spinning
			w.pace.timer.Stop()
			awake = true
		case <-w.pace.timer.C:
			well = l.solo.Load() == solo && solo.pace.beat.Load()-beat >= alive
		}
	}
	l.mu.Lock()
	l.watched = false
	if l.apart(w) {
		l.solo.Store(nil) // nobody would look after it
	}
	if l.rise(func(p *worker) bool { return p == w }) != nil {
		awake = true
	}
	l.mu.Unlock()
	if !awake {
		<-w.wake
	}
}
