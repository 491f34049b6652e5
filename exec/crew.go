package exec

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// crew is those who help with a task whose version has parts for workers that have
// nothing else to do. They come when they find no task, and go when there is one
// for them: unlike the members of a [gang] they never wait for the task. Each part
// that they take is one that the leader need not do.
type crew struct {
	leader *worker
	units  int
	timed  bool // what is spent on the task is asked for

	worked atomic.Int64  // what helpers have spent on it, in nanoseconds
	waited time.Duration // what the leader has waited for them
}

// Units implements versions.Gang.
func (c *crew) Units() int { return c.units }

// Do implements versions.Gang.
func (c *crew) Do(parts int, f func(part int, work *versions.Workspace)) {
	if parts <= 0 {
		return
	}
	p := &phase{parts: int64(parts), f: f, done: make(chan struct{}), share: c.leader.share(), crew: c, limit: int32(min(c.units, parts) - 1)}
	p.unfinished.Store(p.parts)
	if parts > 1 {
		l := c.leader.rt
		l.offers.Add(1)
		l.open[c.leader.info.ID].Store(p)
		l.call(c.leader, int(p.limit))
		defer func() {
			l.open[c.leader.info.ID].Store(nil)
			l.offers.Add(-1)
		}()
	}
	p.lead(&c.leader.part)
}

// wait counts the time since then as one that the leader has waited.
func (c *crew) wait(since time.Time) { c.waited += time.Since(since) }

// spent returns what the task has cost beyond the time that it took: what others
// have worked for it, without what the leader waited for them.
func (c *crew) spent() time.Duration {
	return time.Duration(c.worked.Load()) - c.waited
}

// call rouses as many workers of w's node as are wanted and do not look about
// already. Who helps does not look after the worker that executes all tasks: if that
// is w, it is so no more, or nobody would come to what is in a backlog.
func (l *Local) call(w *worker, wanted int) {
	var room [16]*worker
	idle := room[:0]
	l.mu.Lock()
	alone := l.resign(w)
	wanted -= l.spinning
	if p := l.lingering; p != nil && p.info.Node != w.info.Node {
		wanted++
	}
	for i := len(l.parked) - 1; i >= 0 && len(idle) < wanted; i-- {
		if p := l.parked[i]; p.info.Node == w.info.Node {
			l.parked = slices.Delete(l.parked, i, i+1)
			l.spinning++
			idle = append(idle, p)
		}
	}
	if alone {
		l.absorb()
		if other := l.rouse(); other != nil {
			idle = append(idle, other)
		}
	}
	l.mu.Unlock()
	for _, p := range idle {
		p.wake <- struct{}{}
	}
}

// offer returns a phase that w can help with, nil if there is none.
func (l *Local) offer(w *worker) *phase {
	if l.offers.Load() == 0 {
		return nil
	}
	for i := range l.open {
		p := l.open[i].Load()
		if p != nil && p.next.Load() < p.parts && p.helpers.Load() < p.limit && l.workers[i].info.Node == w.info.Node {
			return p
		}
	}
	return nil
}
