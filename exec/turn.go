package exec

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Turn is a call of a version whose task can be done in several: a loop from which workers
// take chunks, say. Between two chunks it looks whether others want the worker, and returns
// [ErrUnfinished] if so.
//
//	ready ──► a turn ──► done
//	  ▲          │ others want the worker: ErrUnfinished
//	  └──────────┘
type Turn struct {
	of      *parent
	sched   *scheduler
	outcome *graph.Outcome // of the job
	task    graph.TaskID
	looked  time.Duration // when it has last looked for others, since epoch
}

// slice is how long a turn may go on at least: to give way costs a microsecond.
const slice = 20 * time.Microsecond

// TakeTurn returns the turn that a call is. The call is going to take long: if its worker
// has executed all tasks by itself, as one does while tasks are short, others are asked for
// again. The error is ErrNoTask outside of tasks.
func TakeTurn(call *versions.Call) (Turn, error) {
	p, ok := call.Task.(*parent)
	if !ok {
		return Turn{}, ErrNoTask
	}
	p.rt.spread(p.seat)
	return Turn{of: p, sched: p.rt, outcome: &jobOf(p.task).outcome, task: p.task.ID()}, nil
}

// Worker describes the worker whose turn it is. It must not be changed.
func (t *Turn) Worker() *Worker { return &t.of.at.info }

// Workers describes all workers on cores of the runtime. They must not be changed.
func (t *Turn) Workers() []Worker { return t.sched.workers[:t.sched.hosts] }

// Over reports whether nothing more is to be begun: the job has failed, or it or the runtime
// has ended.
func (t *Turn) Over() bool { return !t.outcome.GoesOn(t.task) }

// Wanted reports whether others want the worker: tasks that are ready, beside mine, which are
// those of the same work; the leader of a team that comes first; or a task that has waited
// and wants its cores back. It costs next to nothing where nothing is ready, and looks closer
// once in 20 µs otherwise.
func (t *Turn) Wanted(mine int) bool {
	return (t.sched.queued.Load() || t.sched.offers.n.Load() > 0) && t.looks(mine)
}

// looks is Wanted, if it is time.
func (t *Turn) looks(mine int) bool {
	now := time.Since(epoch)
	if now-t.looked < slice {
		return false
	}
	t.looked = now
	return t.sched.wants(t.of.seat, mine)
}
