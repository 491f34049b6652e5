package exec

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// gang is the computing units of a task whose version asks for more than
// one: the worker that executes the task leads it, and workers of the same
// NUMA node join as they become free, before they take a task of their own.
//
// A leader does not wait for members: what nobody has joined for, it does
// itself. So gangs cannot wait for one another, and a task with more units
// than there are idle workers just has fewer of them at first.
type gang struct {
	leader *worker
	limit  int // members beside the leader

	// The runtime's lock guards these.
	members int

	current atomic.Pointer[phase]
	closed  atomic.Bool
	mu      sync.Mutex // with news, for members that sleep between phases; a leaf
	news    sync.Cond
}

// phase is one call of Do.
type phase struct {
	parts      int64
	f          func(part int, work *versions.Workspace)
	next       atomic.Int64 // next part to start
	unfinished atomic.Int64
	done       chan struct{} // closed by whoever finishes the last part
	panicked   atomic.Pointer[PanicError]
	share      trace.Event // what members record of it, if there is a recorder

	crew    *crew        // that it is of; nil for a gang's
	limit   int32        // helpers
	helpers atomic.Int32 // at work
}

// Units implements versions.Gang.
func (g *gang) Units() int { return g.limit + 1 }

// Do implements versions.Gang.
func (g *gang) Do(parts int, f func(part int, work *versions.Workspace)) {
	if parts <= 0 {
		return
	}
	p := &phase{parts: int64(parts), f: f, done: make(chan struct{}), share: g.leader.share()}
	p.unfinished.Store(p.parts)
	g.mu.Lock()
	g.current.Store(p)
	g.news.Broadcast()
	g.mu.Unlock()
	p.lead(&g.leader.part)
}

// lead does what the leader does of p.
func (p *phase) lead(scratch *versions.Workspace) {
	// Also when the leader's part ends its goroutine: no part may outlive Do.
	defer p.finish()
	for i := p.take(); i < p.parts; i = p.take() {
		p.run(int(i), scratch)
	}
	if p.crew != nil {
		defer p.crew.wait(time.Now())
	}
	for i := 0; i < spins && p.unfinished.Load() > 0; i++ {
		pause()
	}
	<-p.done
	if e := p.panicked.Load(); e != nil {
		panic(e)
	}
}

// finish starts no further part and waits for those that run.
func (p *phase) finish() {
	if left := p.parts - p.next.Swap(p.parts); left > 0 {
		p.less(left)
	}
	<-p.done
}

// less counts n parts less that are not finished.
func (p *phase) less(n int64) {
	if p.unfinished.Add(-n) == 0 {
		close(p.done)
	}
}

// take returns the next part to start; there are none from p.parts on.
func (p *phase) take() int64 { return p.next.Add(1) - 1 }

// run runs one part. A panic in it, and a Goexit, become the leader's panic.
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

// serve is what a member does until the gang disbands.
func (g *gang) serve(w *worker) {
	var last *phase
	for {
		p := g.current.Load()
		for i := 0; i < spins && p == last && !g.closed.Load() && runtime.GOMAXPROCS(0) > 1; i++ {
			pause()
			p = g.current.Load()
		}
		if p == last {
			g.mu.Lock()
			for g.current.Load() == last && !g.closed.Load() {
				g.news.Wait()
			}
			g.mu.Unlock()
			if p = g.current.Load(); p == last {
				return
			}
		}
		p.help(w)
		last = p
	}
}

// lead makes w the leader of a gang, or of a crew, for its call of v, if that has
// several units.
func (l *Local) lead(w *worker, v *versions.Version) {
	units := v.Constraints.Units
	if v.Share != nil && l.hosts > 1 {
		units = max(units, v.Share(&w.call))
	}
	if units > 1 {
		w.lead = l.form(w, units)
		w.call.Gang = w.lead
		return
	}
	if v.Help != nil && l.hosts > 1 {
		if units = min(v.Help(&w.call), l.hosts); units > 1 {
			w.crew = crew{leader: w, units: units, timed: w.choice.Timed}
			w.call.Gang = &w.crew
		}
	}
}

// form opens a gang of at most units workers under w.
func (l *Local) form(w *worker, units int) *gang {
	g := &gang{leader: w, limit: min(units, l.hosts) - 1}
	g.news.L = &g.mu
	if g.limit <= 0 {
		return g
	}
	var idle []*worker
	l.mu.Lock()
	l.gangs = append(l.gangs, g)
	l.slots += g.limit
	for i := len(l.parked) - 1; i >= 0 && len(idle) < g.limit; i-- {
		if p := l.parked[i]; p.info.Node == w.info.Node {
			l.parked = slices.Delete(l.parked, i, i+1)
			l.spinning++
			idle = append(idle, p)
		}
	}
	l.count()
	l.mu.Unlock()
	for _, p := range idle {
		p.wake <- struct{}{}
	}
	return g
}

// disband ends a gang whose task has returned; its members go their way.
func (l *Local) disband(g *gang) {
	l.mu.Lock()
	if i := slices.Index(l.gangs, g); i >= 0 {
		l.gangs = slices.Delete(l.gangs, i, i+1)
		l.slots -= g.limit - g.members
		l.count()
	}
	l.mu.Unlock()
	g.mu.Lock()
	g.closed.Store(true)
	g.news.Broadcast()
	g.mu.Unlock()
}

// join makes w a member of a gang that wants one, nil if there is none. The
// caller holds mu.
func (l *Local) join(w *worker) *gang {
	if l.slots == 0 {
		return nil
	}
	for _, g := range l.gangs {
		if g.members < g.limit && g.leader.info.Node == w.info.Node {
			g.members++
			l.slots--
			return g
		}
	}
	return nil
}
