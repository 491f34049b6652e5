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

// team is the workers that execute one task together: the leader, which has taken the task, and
// members of the same NUMA node, which come when they can.
//
//	leader:  Do ─► a phase: its parts are there ─► takes parts ─► waits for members at parts ─► Do …
//	member:        joins ─► takes parts ──► none left, or a task of its own is ready ──► goes
//	                                    └─► the team stays: sleeps until the next phase, or the end
//
// The leader executes the parts that no member takes. There are three kinds of team:
//
//   - A team of helpers (versions.Version.Help). A worker that finds no task joins it, and leaves when
//     a task is ready.
//   - A team that stays (Help that stays). A worker joins it before it takes a task of its own, and leaves when the
//     task of the team ends. The leader does not wait for members, so there may be fewer than it wants.
//   - A squad (Constraints.Units). It stays, and its leader waits for all members. It is made when they are idle: see
//     scheduler.muster. So teams cannot wait for one another.
type team struct {
	leader *seat
	limit  atomic.Int32 // members beside the leader
	stays  bool
	timed  bool        // the selector wants the members' time
	share  trace.Event // the common part of the members' events, if there is a recorder
	offers *offers     // the list on which workers find the team
	host   teamHost
	looks  int // how often one that waits for others looks before it sleeps

	members atomic.Int32
	current atomic.Pointer[phase] // the latest phase
	over    atomic.Bool
	mu      sync.Mutex // with news, for members that sleep between phases; a leaf
	news    sync.Cond

	worked atomic.Int64  // the members' time on the task, in nanoseconds
	waited time.Duration // how long the leader has waited for them
}

// teamHost is what a team needs of the scheduler.
type teamHost interface {
	// recruit wakes up to wanted sleeping workers that can join.
	recruit(t *team, wanted int)
	// cores returns the number of workers on cores.
	cores() int
	// busy reports whether there are tasks that want a worker.
	busy() bool
	// recorder returns the recorder, nil if there is none.
	recorder() *trace.Recorder
}

// phase is one call of Do. A counter hands out its parts. The phase is over when unfinished is 0;
// the worker that brings it there closes done.
type phase struct {
	team       *team
	parts      int64
	f          func(part int, work *versions.Workspace)
	next       atomic.Int64  // next part to start
	unfinished atomic.Int64  // parts that have not ended, and shares not yet recorded
	done       chan struct{} // closed by the worker that finishes the last part
	panicked   atomic.Pointer[PanicError]
}

// teamSpins is how often the leader looks for the end of a phase, and a member of a team that stays for the next one,
// before they sleep: about a millisecond. A team may have a phase for each column of a matrix. With a tenth of that, members
// slept while the leader did its own part of a panel, and la.EigenSym of order 1000 took an eighth longer.
const teamSpins = 50 * spins

// looksFor returns teamSpins, or less if so many workers have to share cores. With one processor only a worker that sleeps
// lets another one go on.
func looksFor(workers int) int {
	switch procs := runtime.GOMAXPROCS(0); {
	case procs == 1:
		return 0
	case workers > procs:
		return 10 * spins
	}
	return teamSpins
}

// newTeam returns a team with at most limit members beside the leader.
func newTeam(leader *seat, limit int, stays bool, o *offers, host teamHost) *team {
	t := &team{leader: leader, stays: stays, offers: o, host: host, looks: looksFor(host.cores())}
	t.limit.Store(int32(limit))
	t.news.L = &t.mu
	return t
}

// gather waits until n members have come.
func (t *team) gather(n int32) {
	for i := t.looks; i > 0 && t.members.Load() < n; i-- {
		pause()
	}
	t.mu.Lock()
	for t.members.Load() < n {
		t.news.Wait()
	}
	t.mu.Unlock()
}

// open offers a team that stays to workers and wakes some. Another team is offered in each phase
// with several parts.
func (t *team) open() {
	if t.stays {
		t.offers.publish(t)
		t.host.recruit(t, int(t.limit.Load()))
	}
}

// close dismisses the members. For a team of helpers it returns the time of the members on the task,
// less the time for which the leader has waited for them. For a team that stays it returns 0.
func (t *team) close() (spent time.Duration) {
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
func (t *team) Units() int { return int(t.limit.Load()) + 1 }

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
	if wanted := min(int(t.limit.Load()), parts-1) - int(t.members.Load()); wanted > 0 {
		t.host.recruit(t, wanted)
	}
	p.lead(&t.leader.part)
}

// lead runs parts of p on the leader and waits for the members.
func (p *phase) lead(scratch *versions.Workspace) {
	// The call is deferred since a part of the leader may end the goroutine: no part may outlive Do.
	defer p.finish()
	for i := p.take(); i < p.parts; i = p.take() {
		p.run(int(i), scratch)
	}
	since := time.Now()
	for i := p.team.looks; i > 0 && p.unfinished.Load() > 0; i-- {
		pause()
	}
	<-p.done
	p.team.waited += time.Since(since)
	if e := p.panicked.Load(); e != nil {
		panic(e)
	}
}

// finish starts no further part, and waits for the parts that run. Only after a panic or Goexit of the
// leader there may be parts of either sort.
func (p *phase) finish() {
	if left := p.parts - p.next.Swap(p.parts); left > 0 {
		p.subtract(left)
	}
	<-p.done
}

// subtract subtracts n from unfinished. The call that reaches 0 lets the leader go on.
func (p *phase) subtract(n int64) {
	if p.unfinished.Add(-n) == 0 {
		close(p.done)
	}
}

// take returns the number of the next part to start. There is none if the number is p.parts or more:
// each such call still increments the counter.
func (p *phase) take() int64 { return p.next.Add(1) - 1 }

// run runs one part. If the part panics or calls Goexit, the leader panics at the end of the phase: the
// task fails as if the leader had run the part. The other parts run to their end.
func (p *phase) run(i int, scratch *versions.Workspace) {
	ok := false
	defer func() {
		if !ok {
			e := &PanicError{Value: recover(), Stack: debug.Stack()}
			p.panicked.CompareAndSwap(nil, e)
		}
		p.subtract(1)
	}()
	p.f(i, scratch)
	ok = true
}

// serve runs parts of the team on w. A helper leaves when no part is left, a member of a team that
// stays when the task ends.
func (t *team) serve(w *seat) {
	// Several workers may follow the same offer: the count admits limit of them.
	defer t.members.Add(-1)
	if t.members.Add(1) > t.limit.Load() {
		return
	}
	if t.stays && t.current.Load() == nil { // the leader may gather
		t.mu.Lock()
		t.news.Broadcast()
		t.mu.Unlock()
	}
	var last *phase
	for p := t.nextPhase(last); p != nil && p.help(w); p = t.nextPhase(last) {
		last = p
	}
}

// nextPhase returns the phase that follows last for a member, or nil if the member is to leave.
func (t *team) nextPhase(last *phase) *phase {
	p := t.current.Load()
	if t.stays {
		for i := t.looks; i > 0 && p == last && !t.over.Load(); i-- {
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

// help runs parts of the phase on w, and records them as its share, from the start of its first
// part to the end of its last one. It reports false if a task is ready and the member leaves.
func (p *phase) help(w *seat) (stays bool) {
	i := p.take()
	if i >= p.parts { // it came too late
		return true
	}
	if w.record != nil || p.team.timed {
		// The part in hand keeps the phase open. This count does so until the share is recorded,
		// which comes before the end of the task.
		p.unfinished.Add(1)
		defer p.endShare(w, p.beginShare(w), time.Now()) // also when a part ends the goroutine
	}
	for ; i < p.parts; i = p.take() {
		p.run(int(i), &w.part)
		if !p.team.stays && p.team.host.busy() {
			return false
		}
	}
	return true
}

// beginShare tells the recorder, if there is one, that w begins its share of the phase. The trace shows w
// at the task of the leader until endShare.
func (p *phase) beginShare(w *seat) (e trace.Event) {
	if w.record != nil {
		e = p.team.share
		e.Worker = w.info.ID
		e.Start = w.running(trace.Running{Job: e.Job, Task: e.Task, Op: e.Op, Version: e.Version}, false)
	}
	return e
}

// endShare records the end of the share e, which beginShare has begun at began.
func (p *phase) endShare(w *seat, e trace.Event, began time.Time) {
	if r := p.team.host.recorder(); w.record != nil {
		e.End = r.Now()
		r.Share(e)
	}
	p.team.worked.Add(int64(time.Since(began)))
	p.subtract(1)
}

// offers are the teams that workers can join. Spinning workers read them without a lock. A worker
// that goes to sleep reads them once more under the scheduler's lock, which a leader takes after it
// has made an offer: so no offer is missed.
type offers struct {
	open []atomic.Pointer[team] // by the leader's number
	n    atomic.Int32           // number of teams in open
}

// publish lets workers see a team, until withdraw.
func (o *offers) publish(t *team) {
	o.open[t.leader.info.ID].Store(t)
	o.n.Add(1)
}

// withdraw takes back publish.
func (o *offers) withdraw(t *team) {
	o.open[t.leader.info.ID].Store(nil)
	o.n.Add(-1)
}

// find returns a team that w can join, nil if there is none: one that stays or, unless staying is
// set, one that has parts left.
func (o *offers) find(w *seat, staying bool) *team {
	if o.n.Load() == 0 {
		return nil
	}
	for i := range o.open {
		t := o.open[i].Load()
		if t == nil || t.members.Load() >= t.limit.Load() || !near(&t.leader.info, &w.info) || staying && !t.stays {
			continue
		}
		if p := t.current.Load(); t.stays || p != nil && p.next.Load() < p.parts {
			return t
		}
	}
	return nil
}
