package dispatch

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Queue is the ready tasks of a runtime: those that a policy keeps for everybody, and
// those that only some workers may take. Like a [Policy] it holds no lock and waits for
// nothing; it is not safe for concurrent use. A worker's own tasks come first, then what
// accelerators have refused, then what the policy gives it:
//
//	Direct ──► inbox[w] ──► worker w                 a task that must run there
//	Refuse ──► refused ───► workers on cores         what an accelerator could not do
//	Push ────► policy ────► whom the policy chooses
type Queue struct {
	policy   Policy
	reserver Reserver        // the policy, if it is one
	hosts    int             // workers on cores, which come first
	inbox    [][]*graph.Task // by worker: tasks only for that worker
	refused  []*graph.Task   // by accelerators: only for hosts
	aside    int             // tasks in all inboxes, and refused
}

// NewQueue returns an empty queue for so many workers, those on cores first, under a
// policy, which is the queue's from now on.
func NewQueue(p Policy, hosts, workers int) *Queue {
	q := &Queue{policy: p, hosts: hosts, inbox: make([][]*graph.Task, workers)}
	q.reserver, _ = p.(Reserver)
	return q
}

// Push hands ready tasks to the policy, as [Policy.Push].
func (q *Queue) Push(ready []*graph.Task, from int) { q.policy.Push(ready, from) }

// Direct hands over a task that only one worker may take.
func (q *Queue) Direct(t *graph.Task, to int) {
	q.inbox[to] = append(q.inbox[to], t)
	q.aside++
}

// Refuse gives a task back that an accelerator's worker has taken and cannot execute:
// a host does it, before what the policy has.
func (q *Queue) Refuse(t *graph.Task, by int) {
	q.policy.Push(nil, by)
	q.refused = append(q.refused, t)
	q.aside++
}

// Own takes a task that is only for the worker, nil if there is none.
func (q *Queue) Own(worker int) *graph.Task {
	if q.aside == 0 { // as a rule; there are many inboxes, which are not in the cache
		return nil
	}
	return q.first(&q.inbox[worker])
}

// Pop takes a task for the worker, nil if there is none: its own come first.
func (q *Queue) Pop(worker int) *graph.Task {
	if t := q.Own(worker); t != nil {
		return t
	}
	if worker < q.hosts {
		if t := q.first(&q.refused); t != nil {
			return t
		}
	}
	return q.policy.Pop(worker)
}

// first takes the first task off a list.
func (q *Queue) first(list *[]*graph.Task) *graph.Task {
	if len(*list) == 0 {
		return nil
	}
	t := (*list)[0]
	*list = slices.Delete(*list, 0, 1)
	q.aside--
	return t
}

// Len returns the number of tasks.
func (q *Queue) Len() int { return q.aside + q.policy.Len() }

// Common returns how many of them the policy has: they are for any worker.
func (q *Queue) Common() int { return q.policy.Len() }

// Reserves reports whether the policy may keep tasks for some of the workers.
func (q *Queue) Reserves() bool { return q.reserver != nil }

// Wants reports whether a worker without a task had better ask the policy for one.
func (q *Queue) Wants(worker int) bool {
	return q.policy.Len() > 0 && (q.reserver == nil || q.reserver.Wants(worker))
}

// Any reports whether there may be a task for an accelerator's worker.
func (q *Queue) Any(worker int) bool { return len(q.inbox[worker]) > 0 || q.policy.Len() > 0 }
