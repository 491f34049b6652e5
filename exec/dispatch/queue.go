package dispatch

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Queue holds the ready tasks of a runtime: those of a policy, and those that only some workers may
// take. Like a [Policy] it holds no lock and waits for nothing; it is not safe for concurrent use.
// A worker first gets its own tasks, then those that accelerators have refused, then those of the
// policy:
//
//	Direct ──► inbox[w] ──► worker w                 a task that must run there
//	Refuse ──► refused ───► workers on cores         a task that an accelerator cannot run
//	Push ────► policy ────► the policy's choice
type Queue struct {
	policy   Policy
	reserver Reserver        // the policy, if it is one
	hosts    int             // workers on cores, which come first
	inbox    [][]*graph.Task // tasks only for that worker
	refused  []*graph.Task   // refused by accelerators: only for hosts
	aside    int             // tasks in all inboxes, and refused
}

// NewQueue returns an empty queue for the given number of workers, the first hosts of them on
// cores. p belongs to the queue from now on.
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

// Refuse gives back a task that an accelerator's worker has taken and cannot execute. A host takes
// it before tasks of the policy.
func (q *Queue) Refuse(t *graph.Task, by int) {
	q.policy.Push(nil, by)
	q.refused = append(q.refused, t)
	q.aside++
}

// Own takes a task that is only for the worker, nil if there is none.
func (q *Queue) Own(worker int) *graph.Task {
	if q.aside == 0 { // the usual case; the inboxes are not in the cache
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

// Common returns the number of tasks in the policy, which are for any worker.
func (q *Queue) Common() int { return q.policy.Len() }

// Reserves reports whether the policy may reserve tasks for some of the workers.
func (q *Queue) Reserves() bool { return q.reserver != nil }

// Wants reports whether a worker without a task should ask the policy for one.
func (q *Queue) Wants(worker int) bool {
	return q.policy.Len() > 0 && (q.reserver == nil || q.reserver.Wants(worker))
}

// Any reports whether there may be a task for an accelerator's worker.
func (q *Queue) Any(worker int) bool { return len(q.inbox[worker]) > 0 || q.policy.Len() > 0 }
