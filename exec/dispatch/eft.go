package dispatch

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// earliestFinish gives every task, when it becomes ready, to the worker that is
// expected to finish it first: what that worker has to do already, and the
// moving of data, and the task itself. Each worker takes its tasks by priority.
// A worker without tasks takes one from another, one of those that come last
// there, if it is going to finish it before the other one would: so slow workers
// keep off the last tasks of a job, which a fast one will have done sooner. And
// one on cores, before it begins a task of its own, asks whether an accelerator
// would finish it sooner by now.
//
// What nothing is known of is expected to take no time, so that it is found out.
//
// With w workers and n tasks in a queue, Push takes O(w) questions to Costs and O(log
// n) for each task; Pop O(log n), and O(w) more where the worker's queue is empty or
// there are accelerators. When the times of an op become known, refresh looks once at
// each queue as a whole. It assumes that Costs is about right for the mean of many
// tasks. A single one that takes longer than was said shifts the load of its worker
// until it has ended, when what was expected of it is taken off again.
//
// What always holds: load[w] is the sum of the costs in queue[w] and in runs[w], but
// for rounding; unknown[w] is the number of tasks in queue[w] of cost 0.
//
// Reference: Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity
// task scheduling for heterogeneous computing", IEEE TPDS 13 (2002), of which
// this is the dynamic form, as StarPU's dmda, and dmdas, where tasks go by priority.
type earliestFinish struct {
	owned   *owned // nil: each task goes to whom finishes it first
	costs   Costs
	hosts   int         // workers on cores, which come first
	queue   []queue     // by worker
	load    []float64   // expected time of what is queued for a worker, and of what it runs
	runs    [][]float64 // of that, what it runs: each task's, the first taken first
	unknown []int       // tasks queued whose time was not known when they were
	n       int
}

// queue is the tasks of a worker, by priority.
type queue struct{ tasks []costed }

// costed is a task with what it costs the worker that it is queued for.
type costed struct {
	prioritised
	cost float64
}

func newEarliestFinish(workers, hosts int, c Costs) *earliestFinish {
	if c == nil {
		c = NoCosts{}
	}
	return &earliestFinish{costs: c, hosts: hosts, queue: make([]queue, workers), load: make([]float64, workers),
		runs: make([][]float64, workers), unknown: make([]int, workers)}
}

func (q *earliestFinish) Len() int { return q.n }

// Wants implements [Reserver]: each task may be for any worker, and be refused to
// the others.
func (q *earliestFinish) Wants(int) bool { return q.n > 0 }

// Push places each task where load + cost is the least. The first of several that
// are equal wins, beginning at from, so that of workers alike none is preferred.
func (q *earliestFinish) Push(ready []*graph.Task, from int) {
	// Accelerators have several tasks at once, which end about in the order in which
	// they were taken.
	if from >= 0 && len(q.runs[from]) > 0 {
		// Its task has ended, sooner or later than was expected; of several the one
		// that it took first.
		q.load[from] = max(q.load[from]-q.runs[from][0], 0)
		q.runs[from] = slices.Delete(q.runs[from], 0, 1)
	}
	arrange(ready)
	for _, t := range ready {
		if q.owned != nil {
			w := q.owned.of(t)
			q.put(t, w, q.on(t, w))
			continue
		}
		// Of workers alike the one that has freed the task comes first. A task that nobody
		// can run goes to the first of all: the runtime says so.
		best, cost := q.soonest(t, max(from, 0), len(q.load), math.Inf(1))
		q.put(t, max(best, 0), cost)
	}
}

// soonest returns which of n workers, from one on, is expected to finish t first, and
// what t costs it; -1 if none does before a given time.
func (q *earliestFinish) soonest(t *graph.Task, from, n int, finish float64) (best int, cost float64) {
	best = -1
	for i := range n {
		w := (from + i) % len(q.load)
		q.refresh(w)
		c := q.on(t, w)
		if f := q.load[w] + c; f < finish {
			best, finish, cost = w, f, c
		}
	}
	return best, cost
}

// put queues t, which costs c there, for a worker.
func (q *earliestFinish) put(t *graph.Task, worker int, c float64) {
	q.queue[worker].push(costed{prioritised{t.Priority, t.ID(), t}, c})
	q.load[worker] += c
	if c == 0 {
		q.unknown[worker]++
	}
	q.n++
}

// refresh learns what tasks cost that were queued for a worker when that was not known,
// if it is known by now of the last of them. To ask for one spares asking for all.
func (q *earliestFinish) refresh(worker int) {
	if q.unknown[worker] == 0 {
		return
	}
	tasks := q.queue[worker].tasks
	if last := &tasks[len(tasks)-1]; last.cost != 0 || q.on(last.task, worker) == 0 {
		return
	}
	for i := range tasks {
		x := &tasks[i]
		if x.cost != 0 {
			continue
		}
		if c := q.on(x.task, worker); c > 0 && !math.IsInf(c, 1) {
			x.cost = c
			q.load[worker] += c
			q.unknown[worker]--
		}
	}
}

// on returns the expected time of t on a worker, with what must be moved for it.
func (q *earliestFinish) on(t *graph.Task, worker int) float64 {
	c := q.costs.Run(t, worker)
	if math.IsInf(c, 1) {
		return c
	}
	return c + q.costs.Move(t, worker)
}

func (q *earliestFinish) Pop(worker int) *graph.Task {
	if q.n == 0 {
		return nil
	}
	// Each round leaves a task to an accelerator, so the queue gets shorter.
	mine := &q.queue[worker]
	for len(mine.tasks) > 0 {
		if worker >= q.hosts || !q.delegate(worker) {
			return q.take(worker, worker, 0, mine.tasks[0].cost)
		}
	}
	if q.owned != nil && !q.owned.takes(worker) {
		return nil
	}
	// From the worker that has most to do.
	victim := -1
	for w := range q.queue {
		if len(q.queue[w].tasks) == 0 {
			continue
		}
		if q.refresh(w); victim < 0 || q.load[w] > q.load[victim] {
			victim = w
		}
	}
	if victim < 0 {
		return nil
	}
	if q.owned != nil && q.unknown[victim] > 0 {
		return nil
	}
	// From the end of the heap, where tasks of low priority are. The last may be one that
	// only the other can run, so a few are tried; not all, as Costs is asked for each.
	const tries = 8
	tasks, best, least := q.queue[victim].tasks, -1, 0.0
	for i := len(tasks) - 1; i >= max(len(tasks)-tries, 0); i-- {
		t := tasks[i].task
		if q.owned != nil {
			if c, ok := q.owned.pays(q, t, worker, victim); ok && (best < 0 || c < least) {
				best, least = i, c
			}
			continue
		}
		c := q.on(t, worker)
		if !math.IsInf(c, 1) && q.load[worker]+c <= max(q.load[victim], q.on(t, victim)) {
			return q.take(worker, victim, i, c)
		}
	}
	if best >= 0 {
		return q.take(worker, victim, best, least)
	}
	return nil
}

// delegate leaves the first task of a worker on cores, which is free, to an accelerator
// that is expected to finish it sooner, and reports whether there is one. Since it was
// placed the accelerators may have come ahead of what was expected.
func (q *earliestFinish) delegate(worker int) bool {
	if q.hosts == len(q.queue) {
		return false
	}
	t := q.queue[worker].tasks[0].task
	best, cost := q.soonest(t, q.hosts, len(q.queue)-q.hosts, q.on(t, worker))
	if best < 0 {
		return false
	}
	q.remove(worker, 0)
	q.put(t, best, cost)
	return true
}

// remove takes task i out of a worker's queue.
func (q *earliestFinish) remove(worker, i int) *graph.Task {
	x := q.queue[worker].remove(i)
	c := x.cost
	if c == 0 {
		q.unknown[worker]--
	}
	q.load[worker] = max(q.load[worker]-c, 0)
	q.n--
	return x.task
}

// take hands task i of a victim's queue to a worker, on which it costs c. Until its end
// the cost counts as the worker's load.
func (q *earliestFinish) take(worker, victim, i int, c float64) *graph.Task {
	t := q.remove(victim, i)
	q.load[worker] += c
	q.runs[worker] = append(q.runs[worker], c)
	return t
}

// push puts x in its place in a binary heap.
func (h *queue) push(x costed) {
	h.tasks = append(h.tasks, x)
	h.up(len(h.tasks) - 1)
}

// up moves task i up to where it belongs.
func (h *queue) up(i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !h.tasks[i].before(&h.tasks[up].prioritised) {
			return
		}
		h.tasks[i], h.tasks[up] = h.tasks[up], h.tasks[i]
		i = up
	}
}

// remove takes task i out, in O(log n): the last one takes its place and goes up or down
// from there.
func (h *queue) remove(i int) costed {
	n := len(h.tasks) - 1
	t := h.tasks[i]
	h.tasks[i] = h.tasks[n]
	h.tasks[n] = costed{}
	h.tasks = h.tasks[:n]
	if i == n {
		return t
	}
	h.up(i)
	for {
		c := 2*i + 1
		if c >= n {
			return t
		}
		if c+1 < n && h.tasks[c+1].before(&h.tasks[c].prioritised) {
			c++
		}
		if !h.tasks[c].before(&h.tasks[i].prioritised) {
			return t
		}
		h.tasks[i], h.tasks[c] = h.tasks[c], h.tasks[i]
		i = c
	}
}

// owned are the owners of tasks: what differs in a policy of them from EarliestFinish.
type owned struct {
	of    func(*graph.Task) int
	takes func(worker int) bool
}

// ByOwner returns a policy that gives each task to the worker that owns it, the most urgent
// first. One that has none takes what another one has, if takes says so of it, and only where
// that pays by what is known of times: it ends the task, and what it has written could be back,
// before the owner would have got to the end of what it has.
//
// Push takes constant time and O(log n) for a task, Pop O(log n), and O(workers) where the
// worker has none and takes says so. It assumes that owners have about the same to do over the whole of the job:
// what is taken from others has its data moved there and back.
func ByOwner(m Machine, owner func(*graph.Task) int, takes func(worker int) bool) Policy {
	q := newEarliestFinish(len(m.Locations), len(m.Locations), m.Costs)
	q.owned = &owned{owner, takes}
	return q
}

// pays returns what a task of a victim costs a worker, and whether that had better take it.
func (o *owned) pays(q *earliestFinish, t *graph.Task, worker, victim int) (cost float64, ok bool) {
	run, move := q.costs.Run(t, worker), q.costs.Move(t, worker)
	if run == 0 || math.IsInf(run, 1) {
		return 0, false
	}
	return run + move, q.load[worker]+run+2*move < q.load[victim]
}
