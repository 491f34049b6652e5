package dispatch

import (
	"math/bits"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// byKind has a policy for each set of kinds of worker that can run some tasks. A worker first takes
// tasks that the fewest kinds can run: other kinds have more to choose from. So a worker never gets
// a task that it cannot run, and no task waits behind such a task.
//
// With s sets, of which a program has a few, Push and Pop take O(s) more than the policy of a set.
// Priorities do not count between sets. A set is made when its first task comes, and stays.
type byKind struct {
	m     Machine
	kind  []int // of workers
	able  func(*graph.Task) uint64
	build func(Machine) Policy
	sets  []*kindSet // sets of fewer kinds first
	n     int
}

// kindSet has the tasks that the same kinds of worker can run.
type kindSet struct {
	kinds  uint64
	policy Policy
	batch  []*graph.Task
}

// ByKind returns a policy for workers of different kinds that gives each only tasks that its kind
// can run. able returns the kinds that can run a task, a bit for each; 0 stands for all, so that a
// worker takes the task and the runtime reports why it cannot run. Kinds are numbered from 0, kind
// has that of each worker, and there are at most 64. build makes the policy for tasks that the same
// kinds can run.
func ByKind(m Machine, kind []int, able func(*graph.Task) uint64, build func(Machine) Policy) Policy {
	return &byKind{m: m, kind: kind, able: able, build: build}
}

func (q *byKind) Len() int { return q.n }

func (q *byKind) Push(ready []*graph.Task, from int) {
	for _, t := range ready {
		s := q.set(q.able(t))
		s.batch = append(s.batch, t)
	}
	for _, s := range q.sets { // also without tasks: a task of from has ended
		s.policy.Push(s.batch, from)
		clear(s.batch)
		s.batch = s.batch[:0]
	}
	q.n += len(ready)
}

// set returns the set of tasks that these kinds can run; 0 stands for all. It adds a new set in its
// place in the order, with a policy that knows which workers will ask.
func (q *byKind) set(able uint64) *kindSet {
	if able == 0 {
		able = 1<<64 - 1
	}
	for _, s := range q.sets {
		if s.kinds == able {
			return s
		}
	}
	m := q.m
	m.Able = make([]bool, len(q.kind))
	for w, kind := range q.kind {
		m.Able[w] = able>>kind&1 != 0
	}
	s := &kindSet{kinds: able, policy: q.build(m)}
	q.sets = append(q.sets, s)
	slices.SortStableFunc(q.sets, func(a, b *kindSet) int { return bits.OnesCount64(a.kinds) - bits.OnesCount64(b.kinds) })
	return s
}

func (q *byKind) Pop(worker int) *graph.Task {
	for _, s := range q.sets {
		if s.kinds>>q.kind[worker]&1 == 0 || s.policy.Len() == 0 {
			continue
		}
		if t := s.policy.Pop(worker); t != nil {
			q.n--
			return t
		}
	}
	return nil
}

// Wants implements [Reserver].
func (q *byKind) Wants(worker int) bool {
	for _, s := range q.sets {
		if s.kinds>>q.kind[worker]&1 == 0 || s.policy.Len() == 0 {
			continue
		}
		if r, ok := s.policy.(Reserver); !ok || r.Wants(worker) {
			return true
		}
	}
	return false
}
