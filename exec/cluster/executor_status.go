package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// endedMessage returns the message about tasks that have ended, with the node's figures.
func (x *executor) endedMessage(job uint64, ends []end) ended {
	m := ended{Job: job, Ends: ends, Peak: x.store.peakBytes()}
	x.meter.drain(&m)
	return m
}

// status returns what the node is doing.
func (x *executor) status() (s status) {
	in, ready := x.gate.Tasks()
	s.Held = x.store.currentBytes()
	s.Waiting, s.Busy = x.meter.counts()
	s.Busy = min(s.Busy, x.meter.workers)
	now := x.meter.clock(time.Now())
	add := func(e *execution, where stage, wants []transport.Ref) {
		since := time.Duration(max(now-e.stageSince.Load(), 0))
		s.Tasks = append(s.Tasks, taskStatus{Job: e.w.number, ID: e.task.ID, Stage: where, For: since, Wants: wants})
	}
	for _, e := range in {
		if e.member != nil && e.member.isWaiting() {
			add(e, stageReady, nil)
		} else {
			add(e, stageRuns, nil)
		}
	}
	for _, e := range ready {
		add(e, stageReady, nil)
	}
	for w, wants := range x.store.comingTo() {
		if e, ok := w.(*execution); ok && e.stageSince.Load() > 0 { // otherwise run is still asking for its operands
			add(e, stageWaits, wants[:min(len(wants), maxStatus)])
		}
	}
	slices.SortFunc(s.Tasks, func(a, b taskStatus) int {
		return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.ID, b.ID))
	})
	s.Tasks = s.Tasks[:min(len(s.Tasks), maxStatus)]
	return s
}

// shiftPause adds a pause of the process, which ended at at, to the times at which tasks began to wait or run.
func (x *executor) shiftPause(pause time.Duration, at time.Time) {
	now := x.meter.clock(at)
	move := func(e *execution) {
		if old := e.stageSince.Load(); old > 0 {
			e.stageSince.CompareAndSwap(old, min(old+int64(pause), now)) // unless the task has moved on meanwhile
		}
	}
	in, ready := x.gate.Tasks()
	for _, e := range slices.Concat(in, ready) {
		move(e)
	}
	for w := range x.store.comingTo() {
		if e, ok := w.(*execution); ok {
			move(e)
		}
	}
}

// isIdle reports whether the ends of all tasks of a job have been reported.
func (x *executor) isIdle(job uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.jobs[job]
	return w == nil || w.unreported.Load() == 0
}
