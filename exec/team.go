package exec

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// team is the workers that execute one task together: the one that has taken it, who
// leads, and members of the same NUMA node, who come when they can.
//
//	leader:  Do ─► a phase: its parts are there ─► takes parts ─► waits for members at parts ─► Do …
//	member:        joins ─► takes parts ──► none left, or a task of its own is ready ──► goes
//	                                    └─► the team stays: sleeps until the next phase, or the end
//
// A leader does not wait for members to come: what nobody has come for, it does
// itself. So teams cannot wait for one another, and a task with more units than there
// are idle workers just has fewer of them. There are two kinds:
//
//   - Where the version could use workers that have nothing else to do
//     (versions.Version.Help), these come when they find no task, and go when there is
//     one.
//   - Where it asks for units (Constraints.Units, or Help that stays), its team stays: workers
//     join before they take a task of their own, and go when its task ends.
type team struct {
	leader *seat
	limit  int32 // members beside the leader
	stays  bool
	timed  bool        // what members have spent is asked for
	share  trace.Event // what the shares in the task have in common, if there is a recorder
	offers *offers     // where the team is offered to workers
	host   teamHost

	members atomic.Int32
	current atomic.Pointer[phase] // the latest one
	over    atomic.Bool
	mu      sync.Mutex // with news, for members that sleep between phases; a leaf
	news    sync.Cond

	worked atomic.Int64  // what members have spent on the task, in nanoseconds
	waited time.Duration // what the leader has waited for them
}

// teamHost is what a team needs of the scheduler.
type teamHost interface {
	// recruit rouses so many workers, if so many sleep that can join.
	recruit(t *team, wanted int)
	// busy reports whether there are tasks that want a worker.
	busy() bool
	// recorder returns the recorder, nil if there is none.
	recorder() *trace.Recorder
}

// phase is one call of Do. Parts are handed out one at a time, by a counter; the phase is
// over when unfinished has come to nothing, and the worker that brings it there closes done.
type phase struct {
	team       *team
	parts      int64
	f          func(part int, work *versions.Workspace)
	next       atomic.Int64  // next part to start
	unfinished atomic.Int64  // parts that have not ended, and shares that are not recorded
	done       chan struct{} // closed by the worker that finishes the last part
	panicked   atomic.Pointer[PanicError]
}

// opens offers the team to workers and asks for some, if it stays. Otherwise each phase
// with several parts does.
func (t *team) opens() {
	t.news.L = &t.mu
	if t.stays {
		t.offers.publish(t)
		t.host.recruit(t, int(t.limit))
	}
}

// ends has the members go their ways. It returns what they have spent on the task beyond
// the time for which the leader has waited, for a team that does not stay.
func (t *team) ends() (spent time.Duration) {
	if !t.stays {
		return time.Duration(t.worked.Load()) - t.waited
	}
	t.offers.withdraw(t)
	t.mu.Lock()
	t.over.Store(true)
	t.news.Broadcast()
	t.mu.Unlock()
	return 0
}

// Units implements versions.Gang.
func (t *team) Units() int { return int(t.limit) + 1 }

// Do implements versions.Gang.
func (t *team) Do(parts int, f func(part int, work *versions.Workspace)) {
	if parts <= 0 {
		return
	}
	// The parts are in place before the phase can be seen.
	p := &phase{team: t, parts: int64(parts), f: f, done: make(chan struct{})}
	p.unfinished.Store(p.parts)
	t.mu.Lock()
	t.current.Store(p)
	t.news.Broadcast()
	t.mu.Unlock()
	if !t.stays && parts > 1 {
		t.offers.publish(t)
		defer t.offers.withdraw(t)
	}
	if wanted := min(int(t.limit), parts-1) - int(t.members.Load()); wanted > 0 {
		t.host.recruit(t, wanted)
	}
	p.lead(&t.leader.part)
}

// lead does what the leader does of p.
func (p *phase) lead(scratch *versions.Workspace) {
	// Also when the leader's part ends its goroutine: no part may outlive Do.
	defer p.finish()
	for i := p.take(); i < p.parts; i = p.take() {
		p.run(int(i), scratch)
	}
	// What is left is with members. They are about to end, so it is worth to spin.
	since := time.Now()
	for i := 0; i < spins && p.unfinished.Load() > 0; i++ {
		pause()
	}
	<-p.done
	p.team.waited += time.Since(since)
	if e := p.panicked.Load(); e != nil {
		panic(e)
	}
}

// finish starts no further part and waits for those that run. After a phase that went well
// there are none; after a panic of the leader's there may be both.
func (p *phase) finish() {
	if left := p.parts - p.next.Swap(p.parts); left > 0 {
		p.less(left)
	}
	<-p.done
}

// less counts n parts less that are not finished. The last one lets the leader go on.
func (p *phase) less(n int64) {
	if p.unfinished.Add(-n) == 0 {
		close(p.done)
	}
}

// take returns the next part to start; there are none from p.parts on. The counter goes on
// beyond that, by one for each that asks in vain.
func (p *phase) take() int64 { return p.next.Add(1) - 1 }

// run runs one part. A panic in it, and a Goexit, become the leader's panic: the task fails
// as if the leader had run the part itself. The other parts run to their end.
func (p *phase) run(i int, scratch *versions.Workspace) {
	ok := false
	defer func() {
		if !ok {
			e := &PanicError{Value: recover(), Stack: debug.Stack()}
			p.panicked.CompareAndSwap(nil, e)
		}
		p.less(1)
	}()
	p.f(i, scratch)
	ok = true
}

// serve is what a member does until it goes: to have no part left is reason enough for one
// that helps, the end of the task for one that stays.
func (t *team) serve(w *seat) {
	// Several may have come to the same offer: the number is what lets them in.
	defer t.members.Add(-1)
	if t.members.Add(1) > t.limit {
		return
	}
	var last *phase
	for p := t.after(last); p != nil && p.help(w); p = t.after(last) {
		last = p
	}
}

// after returns the phase that a member comes to after the last one, or nil if it is
// to go.
func (t *team) after(last *phase) *phase {
	p := t.current.Load()
	if t.stays {
		for i := 0; i < spins && p == last && !t.over.Load() && runtime.GOMAXPROCS(0) > 1; i++ {
			pause()
			p = t.current.Load()
		}
		if p == last {
			t.mu.Lock()
			for t.current.Load() == last && !t.over.Load() {
				t.news.Wait()
			}
			t.mu.Unlock()
			p = t.current.Load()
		}
	}
	if p == last {
		return nil
	}
	return p
}

// help is the work of a member at a phase, recorded as its share in the task: from
// the first part that it takes to the end of its last one. It reports false if the
// member goes: there is work of its own.
func (p *phase) help(w *seat) (stays bool) {
	i := p.take()
	if i >= p.parts { // it came too late
		return true
	}
	if w.record != nil || p.team.timed {
		// The part in hand keeps the phase open; this count goes on to do so until
		// the share is recorded, before the end of the task.
		p.unfinished.Add(1)
		defer p.shared(w, p.begin(w), time.Now()) // also when a part ends the goroutine
	}
	for ; i < p.parts; i = p.take() {
		p.run(int(i), &w.part)
		if !p.team.stays && p.team.host.busy() {
			return false
		}
	}
	return true
}

// begin records that w has begun with its share, if there is a recorder: in a trace the
// member is at the leader's task until its share ends.
func (p *phase) begin(w *seat) (e trace.Event) {
	if w.record != nil {
		e = p.team.share
		e.Worker = w.info.ID
		e.Start = w.running(trace.Running{Job: e.Job, Task: e.Task, Op: e.Op, Version: e.Version}, false)
	}
	return e
}

// shared records the share that e says the beginning of.
func (p *phase) shared(w *seat, e trace.Event, began time.Time) {
	if r := p.team.host.recorder(); w.record != nil {
		e.End = r.Now()
		r.Share(e)
	}
	p.team.worked.Add(int64(time.Since(began)))
	p.less(1)
}

// offers are the teams that workers can join. They are read without a lock, by workers
// that spin; who goes to sleep reads them once more under the scheduler's lock, which a
// leader takes after it has made an offer.
type offers struct {
	open []atomic.Pointer[team] // by the number of the leader
	n    atomic.Int32           // how many there are
}

// publish lets workers see a team, until withdraw.
func (o *offers) publish(t *team) {
	o.open[t.leader.info.ID].Store(t)
	o.n.Add(1)
}

func (o *offers) withdraw(t *team) {
	o.open[t.leader.info.ID].Store(nil)
	o.n.Add(-1)
}

// find returns a team that w can join, nil if there is none: one that stays, or,
// unless only those are meant, one that has parts.
func (o *offers) find(w *seat, staying bool) *team {
	if o.n.Load() == 0 {
		return nil
	}
	for i := range o.open {
		t := o.open[i].Load()
		if t == nil || t.members.Load() >= t.limit || !near(&t.leader.info, &w.info) || staying && !t.stays {
			continue
		}
		if p := t.current.Load(); t.stays || p != nil && p.next.Load() < p.parts {
			return t
		}
	}
	return nil
}
