package dispatch

import (
	"math/bits"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// byKind has tasks that unlike sets of kinds can run in a policy each. A worker
// takes what the fewest kinds can run first: the others have more to choose from. So
// a worker is never handed a task that it cannot run, and none stands behind such a
// task.
//
// With s sets, of which a program has a few, Push and Pop take O(s) more than the policy
// of a set. Between sets priorities do not count. Sets are made when the first task of
// theirs comes, and stay.
type byKind struct {
	m     Machine
	kind  []int // of workers
	able  func(*graph.Task) uint64
	build func(Machine) Policy
	sets  []*kindSet // what the fewest kinds can run first
	n     int
}

// kindSet is the tasks that the same kinds of worker can run.
type kindSet struct {
	kinds  uint64
	policy Policy
	batch  []*graph.Task
}

// ByKind returns a policy for workers of unlike kinds that gives each only what its
// kind can run. Able returns the kinds that can run a task, a bit for each; none
// stands for all, so that the runtime can say why nobody can. Kinds are numbered from
// 0, kind has that of each worker, and there are at most 64. Tasks that the same kinds
// can run are in a policy of their own, made by build.
func ByKind(m Machine, kind []int, able func(*graph.Task) uint64, build func(Machine) Policy) Policy {
	return &byKind{m: m, kind: kind, able: able, build: build}
}

func (q *byKind) Len() int { return q.n }

func (q *byKind) Push(ready []*graph.Task, from int) {
	for _, t := range ready {
		s := q.set(q.able(t))
		s.batch = append(s.batch, t)
	}
	for _, s := range q.sets { // also without a task: one of from's has ended
		s.policy.Push(s.batch, from)
		clear(s.batch)
		s.batch = s.batch[:0]
	}
	q.n += len(ready)
}

// set returns the set of tasks that these kinds can run. able of 0 stands for all. A
// new set gets its place in the order, and a policy that knows which workers are going
// to ask.
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
