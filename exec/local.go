package exec

import (
	"context"
	"sync"
	"sync/atomic"

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

	// queued says whether there are ready tasks, for spinning workers to look at
	// without the lock.
	queued atomic.Bool
	// offers is how many teams are in open.
	offers atomic.Int32
	_      [56]byte
	open   []atomic.Pointer[team] // by the number of the leader

	mu    sync.Mutex // guards what follows: see docs/locks.md
	ready *dispatch.Queue
	park
	memory    memory
	returning int  // workers that want their slots back
	watched   bool // a sleeping worker looks after solo

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
	l.ready = dispatch.NewQueue(l.newPolicy(), l.hosts, len(l.workers))
	l.observed = opt.Recorder != nil || opt.Stories > 0 || opt.Watchdog != nil
	l.lonely = l.devices == nil && !l.ready.Reserves() && !l.observed
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
		w.rouse()
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
	l.ready.Push(ready, -1)
	w := l.rouse()
	l.mu.Unlock()
	w.rouse()
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
	l.ready.Direct(t, to)
	l.count()
	sleeper := l.rise(func(p *worker) bool { return p.info.ID == to })
	l.mu.Unlock()
	sleeper.rouse()
	return true
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
	var t *graph.Task
	if apart {
		t = l.ready.Own(w.info.ID)
	} else if t = l.ready.Pop(w.info.ID); t == nil && l.devices != nil {
		l.rouseDevices() // the policy may have left it to one of them just now
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
	l.ready.Push(freed, w.info.ID)
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
	case found || l.ready.Common() > 0: // what is left may be for others only
		other = l.rouse()
	}
	if !found {
		l.spinning++
		l.count() // or w would not wait for tasks before it goes to sleep
	}
	l.mu.Unlock()
	other.rouse()
	return t
}
