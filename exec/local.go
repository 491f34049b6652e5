package exec

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Local is a runtime on the cores of this machine. It is safe for concurrent
// use.
type Local struct {
	opt      Options
	selector *versions.Selector
	workers  []*worker
	hosts    int // those on cores, which come first
	kinds    kinds
	sorted   bool            // the policy gives each kind what it can run
	picky    bool            // some worker may be unable to run a task
	fixed    graph.Locations // theirs, within which values do not move
	far      bool            // there are several locations
	devices  []*device       // the workers of accelerators; nil if there are none
	running  sync.WaitGroup  // worker goroutines
	dog      *dog            // nil if there is no watchdog
	jobs     atomic.Uint64   // number of the last job
	closing  atomic.Bool     // workers end when nothing is queued
	// submitting is the number of jobs for which nobody has waited since the last
	// task was submitted: more may come.
	submitting atomic.Int32
	tasks      graph.Pool // memory for tasks, passed on from job to job

	observed bool // somebody looks at each attempt

	lonely bool // tasks may be left to one worker: see solo
	_      [64]byte
	solo   atomic.Pointer[worker] // that executes all tasks, if there is one
	_      [56]byte

	// queued says whether tasks wait in policy and inboxes, for spinning workers to
	// look at without the lock.
	queued atomic.Bool
	// offers is how many teams are in open.
	offers atomic.Int32
	_      [56]byte
	open   []atomic.Pointer[team] // by the number of the leader

	mu     sync.Mutex // guards what follows: see docs/locks.md
	policy dispatch.Policy
	// reserver is the policy, if it may leave tasks to other workers than the one
	// that asks.
	reserver dispatch.Reserver
	inbox    [][]*graph.Task // by worker: tasks only for that worker
	boxed    int             // tasks in all inboxes, and refused
	refused  []*graph.Task   // by accelerators: only for hosts
	memory   memory
	parked   []*worker // asleep, the latest last
	// returning is how many workers want their slots back.
	returning int
	spinning  int  // workers that look for work
	watched   bool // a sleeping worker looks after solo
	// lingering is the one of the spinning workers that looks for longer, if any.
	lingering *worker

	backlogs []*job   // jobs with a backlog, which may be empty
	rings    [][]note // for backlogs, passed on from job to job

	live struct { // a lock of its own: taken before mu, never inside it
		sync.Mutex
		jobs   map[*job]struct{} // jobs with tasks in flight
		closed bool
	}
}

// NewLocal starts a runtime. The error is an *OptionsError for options that
// make no sense, and an *InUseError for an accelerator that another runtime has.
// The caller must Close the runtime: its workers are goroutines
// and, unless Options.Float is set, locked threads.
func NewLocal(opt Options) (*Local, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	if err := claimAll(opt.Accelerators); err != nil {
		return nil, err
	}
	if opt.Window == 0 {
		opt.Window = DefaultWindow
	}
	places := place(&opt)
	if opt.tempo == (tempo{}) {
		opt.tempo = usual()
	}
	l := &Local{opt: opt, selector: opt.Selector}
	if l.selector == nil {
		var err error
		if l.selector, err = versions.NewSelector(versions.Config{Mode: versions.Static}); err != nil {
			releaseAll(opt.Accelerators)
			return nil, err
		}
	}
	l.inbox = make([][]*graph.Task, len(places))
	l.open = make([]atomic.Pointer[team], len(places))
	l.live.jobs = make(map[*job]struct{})
	for i, p := range places {
		p.ID = i
		l.workers = append(l.workers, newWorker(newSite(l, p, nil), &slot{}))
	}
	l.addDevices()
	l.kinds = l.newKinds()
	l.memory = newMemory(&l.kinds)
	l.picky = len(l.kinds.targets) > 1
	l.policy = l.newPolicy()
	l.reserver, _ = l.policy.(dispatch.Reserver)
	l.observed = opt.Recorder != nil || opt.Stories > 0 || opt.Watchdog != nil
	l.lonely = l.devices == nil && l.reserver == nil && !l.observed
	if opt.Watchdog != nil {
		l.dog = newDog(l, opt.Watchdog)
	}
	l.running.Add(len(l.workers))
	for _, w := range l.workers[:l.hosts] {
		go w.loop()
	}
	for _, d := range l.devices {
		go d.loop()
	}
	return l, nil
}

// Workers implements [Runtime].
func (l *Local) Workers() []Worker {
	ws := make([]Worker, len(l.workers))
	for i, w := range l.workers {
		ws[i] = w.info
	}
	return ws
}

// Target implements [Runtime].
func (l *Local) Target() *versions.Target { return l.workers[0].info.Target }

// Selector implements [Runtime].
func (l *Local) Selector() *versions.Selector { return l.selector }

// NewJob implements [Runtime].
func (l *Local) NewJob(ctx context.Context) Job { return newJob(l, ctx) }

// Close implements [Runtime].
func (l *Local) Close() error {
	l.live.Lock()
	again := l.live.closed
	l.live.closed = true
	var jobs []*job
	for j := range l.live.jobs {
		jobs = append(jobs, j)
	}
	l.live.Unlock()
	for _, j := range jobs {
		j.abort(ErrClosed)
	}
	for _, j := range jobs {
		j.drain()
		j.submit.Lock()
		j.flush()
		j.submit.Unlock()
	}
	l.mu.Lock()
	l.closing.Store(true)
	l.stopDevices()
	parked := l.parked
	l.parked = nil
	l.spinning += len(parked)
	l.mu.Unlock()
	for _, w := range parked {
		w.wake <- struct{}{}
	}
	l.running.Wait()
	if !again {
		l.release()
		if l.dog != nil {
			l.dog.stop()
		}
	}
	return nil
}

// enlist notes that j has tasks in flight.
func (l *Local) enlist(j *job) error {
	l.live.Lock()
	defer l.live.Unlock()
	if l.live.closed {
		return ErrClosed
	}
	l.live.jobs[j] = struct{}{}
	return nil
}

// delist notes that j has none any more.
func (l *Local) delist(j *job) {
	l.live.Lock()
	delete(l.live.jobs, j)
	l.live.Unlock()
}

// enqueue hands ready tasks that no worker has freed to the policy.
func (l *Local) enqueue(ready []*graph.Task) {
	l.mu.Lock()
	l.policy.Push(ready, -1)
	w := l.rouse()
	l.mu.Unlock()
	if w != nil {
		w.wake <- struct{}{}
	}
}

// redirect hands a task to the next host that can execute it, which is w if there is
// no other one, and reports whether there is one.
func (l *Local) redirect(t *graph.Task, w *worker) bool {
	to, tries := w.info.ID, 0
	for ok := false; !ok; tries++ {
		if tries == l.hosts {
			return false
		}
		to = (to + 1) % l.hosts
		ok = l.unfit(t, l.workers[to].info.Target) == nil
	}
	l.mu.Lock()
	l.inbox[to] = append(l.inbox[to], t)
	l.boxed++
	l.count()
	var sleeper *worker
	for i, p := range l.parked {
		if p.info.ID == to {
			l.parked = slices.Delete(l.parked, i, i+1)
			l.spinning++
			sleeper = p
			break
		}
	}
	l.mu.Unlock()
	if sleeper != nil {
		sleeper.wake <- struct{}{}
	}
	return true
}

// count brings queued up to date. The caller holds mu.
func (l *Local) count() {
	if some := l.policy.Len()+l.boxed+l.returning > 0; some != l.queued.Load() {
		l.queued.Store(some)
	}
}

// rouse brings queued up to date and takes a sleeping worker off the list if
// there is work that no worker looks for, in the policy or in a backlog, or one
// worker executes all tasks and nobody looks after it. The caller holds mu, and
// must wake the worker that rouse returns when it has released mu.
func (l *Local) rouse() *worker {
	l.count()
	if l.devices != nil {
		l.rouseDevices()
	}
	if l.reserver != nil && l.policy.Len() > 0 {
		// All look for whom there may be a task. A token always has room: see
		// docs/locks.md.
		l.parked = slices.DeleteFunc(l.parked, func(w *worker) bool {
			if !l.reserver.Wants(w.info.ID) {
				return false
			}
			l.spinning++
			w.wake <- struct{}{}
			return true
		})
		return nil
	}
	if l.spinning > 0 || len(l.parked) == 0 {
		return nil
	}
	solo := l.solo.Load() != nil
	if solo && l.watched || !solo && l.policy.Len() == 0 && !l.behind() {
		return nil
	}
	w := l.wakeLast()
	l.goOn(w)
	l.spinning++
	return w
}

// goOn makes w, which has rested, the worker that executes all tasks once more if it
// has been that before and nobody else is awake. The caller holds mu.
func (l *Local) goOn(w *worker) {
	if l.lonely && l.solo.Load() == nil && w.pace.score >= enough && len(l.parked) >= l.hosts-1 {
		l.entrust(w)
	}
}

// wakeLast takes the worker that went to sleep last off the list; it is to count
// as spinning, and to be woken. The caller holds mu.
func (l *Local) wakeLast() *worker {
	last := len(l.parked) - 1
	w := l.parked[last]
	l.parked = slices.Delete(l.parked, last, last+1)
	return w
}

// pop takes a task for w off the queues, or has w join a team, which w.team then is,
// or lets w's slot go to w.heir. If w is apart it leaves the
// queues to the worker that executes all tasks. The caller holds mu.
func (l *Local) pop(w *worker, apart bool) *graph.Task {
	if w.heir = l.yieldTo(w); w.heir != nil {
		return nil
	}
	if w.team = l.offer(w, true); w.team != nil {
		return nil
	}
	if t := l.grant(w); t != nil {
		return t
	}
	if box := l.inbox[w.info.ID]; len(box) > 0 {
		t := box[0]
		l.inbox[w.info.ID] = slices.Delete(box, 0, 1)
		l.boxed--
		return t
	}
	var t *graph.Task
	switch {
	case apart:
	case l.devices != nil:
		t = l.popHost(w)
	default:
		t = l.policy.Pop(w.info.ID)
	}
	if t == nil {
		w.team = l.offer(w, false)
	}
	return t
}

// exchange hands over what w's last task has freed and returns the next task
// for w, nil if there is none, w has joined a team, or has an heir.
func (l *Local) exchange(w *worker, freed []*graph.Task) *graph.Task {
	l.mu.Lock()
	l.policy.Push(freed, w.info.ID)
	l.giveMemory(w)
	if w.pace.claims {
		w.pace.claims = false
		if l.solo.Load() == nil {
			l.entrust(w)
		}
	}
	apart := w.pace.score >= enough && l.apart(w)
	if !apart {
		l.absorb()
	}
	t := l.pop(w, apart)
	found := t != nil || w.team != nil || w.heir != nil
	var other *worker
	switch {
	case l.watched && l.solo.Load() == w: // nobody is wanted
	case found || l.policy.Len() > 0: // what is left may be for others only
		other = l.rouse()
	}
	if !found {
		l.spinning++
		l.count() // or w would not wait for tasks before it goes to sleep
	}
	l.mu.Unlock()
	if other != nil {
		other.wake <- struct{}{}
	}
	return t
}

// spins is how often an idle worker looks at queued before it goes to sleep:
// some ten microseconds, about what waking a thread costs.
const spins = 300

// await returns the next task for w, which found none before; nil means that
// w has joined a team or has an heir, or else that the runtime is closed. w
// counts among the spinning workers on entry.
func (l *Local) await(w *worker) *graph.Task {
	lingers, procs := true, runtime.GOMAXPROCS(0)
	for woken := false; ; woken = true {
		if !woken {
			l.resign(w) // before the last look at backlogs
			if procs > 1 {
				l.spin(w, spins)
			}
		}
		l.mu.Lock()
		if l.lingering == w {
			l.lingering = nil
		}
		apart := l.apart(w)
		if !apart {
			l.absorb()
			if l.policy.Len() == 0 && l.resign(w) {
				l.absorb()
			}
		}
		t := l.pop(w, apart)
		if t != nil || w.team != nil || w.heir != nil {
			l.spinning--
			if !lingers && t != nil {
				l.goOn(w)
			}
			other := l.rouse()
			l.mu.Unlock()
			if other != nil {
				other.wake <- struct{}{}
			}
			return t
		}
		if lingers && l.worthLingering(procs) {
			lingers = false
			l.lingering = w
			l.mu.Unlock()
			l.linger(w)
			continue
		}
		l.spinning--
		if l.closing.Load() {
			l.mu.Unlock()
			return nil
		}
		l.parked = append(l.parked, w)
		watch := apart && !l.watched
		l.watched = l.watched || watch
		l.mu.Unlock()
		if watch {
			l.watch(w)
			continue
		}
		<-w.wake // who wakes w has counted it as spinning
	}
}

// spin waits a little, n looks, for a task, or for one of somebody else to help
// with, and reports whether there is one.
func (l *Local) spin(w *worker, n int) bool {
	for range n {
		if l.queued.Load() || l.offer(w, false) != nil {
			return true
		}
		pause()
	}
	return false
}

// worthLingering reports whether a worker that finds no task had better look for
// longer than [spins] before it goes to sleep: who has waited for one operation
// often calls the next one. One worker does, if those who submit wait, or there are
// none, and of procs processors one is left for other goroutines: one that waits for
// another worker's task, say. Where a single worker executes all tasks, nobody else
// is wanted. The caller holds mu.
func (l *Local) worthLingering(procs int) bool {
	return l.lingering == nil && l.hosts-len(l.parked) < procs && l.devices == nil && l.submitting.Load() == 0 && !l.disturbed()
}

// disturbed reports whether a worker must not linger, or no more: the runtime is
// closing, or one worker executes all tasks, which wants to be looked after.
func (l *Local) disturbed() bool { return l.closing.Load() || l.solo.Load() != nil }

// linger is spin for the time that it may take.
func (l *Local) linger(w *worker) {
	for start := time.Now(); time.Since(start) < l.opt.tempo.linger && !l.disturbed(); {
		if l.spin(w, 32) {
			return
		}
	}
}

// pause lets some tens of nanoseconds pass without touching memory that
// others write.
//
//go:noinline
func pause() {
	for range 64 {
	}
}
