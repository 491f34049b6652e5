package exec

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Turn is one call of a version whose task can run in several calls: for example a loop from which
// workers take chunks. Between two chunks the version asks whether other work wants the worker, and
// returns [ErrUnfinished] if so.
//
//	ready ──► a turn ──► done
//	  ▲          │ Wanted: return ErrUnfinished
//	  └──────────┘
type Turn struct {
	of      *parent
	sched   *scheduler
	outcome *graph.Outcome // of the job
	task    graph.TaskID
	looked  time.Time // when Wanted last looked under the lock
}

// slice is the least time between two looks: to give way costs a microsecond.
const slice = 20 * time.Microsecond

// TakeTurn returns the Turn of a call. The error is ErrNoTask outside of tasks.
func TakeTurn(call *versions.Call) (Turn, error) {
	p, ok := call.Task.(*parent)
	if !ok {
		return Turn{}, ErrNoTask
	}
	return Turn{of: p, sched: p.rt, outcome: &jobOf(p.task).outcome, task: p.task.ID()}, nil
}

// Worker describes the worker that executes the turn. It must not be changed.
func (t *Turn) Worker() *Worker { return &t.of.at.info }

// Workers describes all workers on cores of the runtime. They must not be changed.
func (t *Turn) Workers() []Worker { return t.sched.workers[:t.sched.hosts] }

// Over reports whether the version should begin nothing more: the job has failed or ended, or the
// runtime is closed.
func (t *Turn) Over() bool { return !t.outcome.GoesOn(t.task) }

// Wanted reports whether other work wants the worker: more ready tasks than mine, the number of
// those of the same loop; a team whose leader waits for members; or a task that has waited and
// wants its cores back. It costs next to nothing while nothing is ready, and looks under the lock
// at most every 20 µs.
func (t *Turn) Wanted(mine int) bool {
	return (t.sched.queued.Load() || t.sched.offers.n.Load() > 0) && t.look(mine)
}

// look is Wanted under the lock, if slice has passed.
func (t *Turn) look(mine int) bool {
	now := time.Now()
	if now.Sub(t.looked) < slice {
		return false
	}
	t.looked = now
	return t.sched.isWanted(t.of.seat, mine)
}
