package dispatch

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// earliestFinish gives every task, when it becomes ready, to the worker that is expected to finish
// it first. The expected finish is the worker's load, plus the time to move data, plus the task's
// time. Each worker takes its tasks by priority. A worker without tasks takes one of the last tasks
// of another worker, if it is expected to finish it before that one: so slow workers leave the last
// tasks of a job to fast ones. A worker on cores, before it begins a task of its own, asks whether
// an accelerator is expected to finish it sooner by now.
//
// A task of unknown time is expected to take none, so that it runs and its time becomes known.
//
// With w workers and n tasks in a queue, Push asks Costs O(w) times and takes O(log n) for each
// task; Pop takes O(log n), and O(w) more if the worker's queue is empty or there are accelerators.
// When the times of an op become known, refresh passes once over each queue. The policy assumes
// that Costs is about right for the mean of many tasks. A single task that takes longer than
// expected distorts its worker's load until it ends and its expected cost is subtracted.
//
// Invariants: load[w] is the sum of the costs in queue[w] and running[w], but for rounding;
// unknown[w] is the number of tasks in queue[w] of cost 0.
//
// Reference: Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling
// for heterogeneous computing", IEEE TPDS 13 (2002). This is its dynamic form, like StarPU's dmda,
// and dmdas, where tasks go by priority.
type earliestFinish struct {
	owned   *owned // nil: each task goes to the worker that finishes it first
	costs   Costs
	hosts   int         // workers on cores, which come first
	queue   []queue     // by worker
	load    []float64   // expected time of a worker's queued and running tasks
	running [][]float64 // costs of a worker's running tasks, in the order it took them
	unknown []int       // queued tasks whose time was unknown when they were queued
	n       int
}

func newEarliestFinish(workers, hosts int, c Costs) *earliestFinish {
	if c == nil {
		c = NoCosts{}
	}
	return &earliestFinish{costs: c, hosts: hosts, queue: make([]queue, workers), load: make([]float64, workers),
		running: make([][]float64, workers), unknown: make([]int, workers)}
}

func (q *earliestFinish) Len() int { return q.n }

// Wants implements [Reserver]: any task may be for the worker, and refused to others.
func (q *earliestFinish) Wants(int) bool { return q.n > 0 }

// Push gives each task to the worker with the least load + cost; of equal ones the first from
// worker from on, so that no worker is preferred.
func (q *earliestFinish) Push(ready []*graph.Task, from int) {
	// Accelerators run several tasks at once, which end about in the order in which they were
	// taken.
	if from >= 0 && len(q.running[from]) > 0 {
		// The task that it took first has ended, sooner or later than expected.
		q.load[from] = max(q.load[from]-q.running[from][0], 0)
		q.running[from] = slices.Delete(q.running[from], 0, 1)
	}
	arrange(ready)
	for _, t := range ready {
		if q.owned != nil {
			w := q.owned.of(t)
			q.put(t, w, q.on(t, w))
			continue
		}
		// Of equal workers the one that has freed the task comes first. A task that no worker can
		// run goes to the first worker, and the runtime reports that.
		best, cost := q.soonest(t, max(from, 0), len(q.load), math.Inf(1))
		q.put(t, max(best, 0), cost)
	}
}

// soonest returns which of n workers, from worker from on, is expected to finish t first and before
// the time finish, and the cost of t there; -1 if none is.
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

// put queues t, of cost c, for a worker.
func (q *earliestFinish) put(t *graph.Task, worker int, c float64) {
	q.queue[worker].push(costed{t, c})
	q.load[worker] += c
	if c == 0 {
		q.unknown[worker]++
	}
	q.n++
}

// refresh updates the costs of tasks that were queued for a worker when their times were unknown,
// if the last one's is known by now. Asking for one task avoids asking for all.
func (q *earliestFinish) refresh(worker int) {
	if q.unknown[worker] == 0 {
		return
	}
	tasks := q.queue[worker].At
	if last := &tasks[len(tasks)-1].Value; last.cost != 0 || q.on(last.task, worker) == 0 {
		return
	}
	for i := range tasks {
		x := &tasks[i].Value
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

// on returns the expected time of t on a worker, with moving its data.
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
	// Each round gives a task to an accelerator, so the queue gets shorter.
	mine := &q.queue[worker]
	for len(mine.At) > 0 {
		if worker >= q.hosts || !q.delegate(worker) {
			return q.take(worker, worker, 0, mine.At[0].Value.cost)
		}
	}
	if q.owned != nil && !q.owned.takes(worker) {
		return nil
	}
	// Take from the worker with the largest load.
	victim := -1
	for w := range q.queue {
		if len(q.queue[w].At) == 0 {
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
	// Look at the end of the heap, where tasks of low priority are. Only the victim may be able to
	// run the last ones, so try a few; not all, since Costs is asked for each.
	const tries = 8
	tasks, best, least := q.queue[victim].At, -1, 0.0
	for i := len(tasks) - 1; i >= max(len(tasks)-tries, 0); i-- {
		t := tasks[i].Value.task
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

// delegate gives the first task of a worker on cores, which is free, to an accelerator that is
// expected to finish it sooner, and reports whether there is one. Accelerators may have been faster
// than expected since the task was queued.
func (q *earliestFinish) delegate(worker int) bool {
	if q.hosts == len(q.queue) {
		return false
	}
	t := q.queue[worker].At[0].Value.task
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
	x := q.queue[worker].Remove(i).Value
	c := x.cost
	if c == 0 {
		q.unknown[worker]--
	}
	q.load[worker] = max(q.load[worker]-c, 0)
	q.n--
	return x.task
}

// take hands task i of a victim's queue to a worker, on which it costs c. The cost counts as the
// worker's load until the task ends.
func (q *earliestFinish) take(worker, victim, i int, c float64) *graph.Task {
	t := q.remove(victim, i)
	q.load[worker] += c
	q.running[worker] = append(q.running[worker], c)
	return t
}

// owned is the difference of a policy of owners from EarliestFinish.
type owned struct {
	of    func(*graph.Task) int
	takes func(worker int) bool
}

// ByOwner returns a policy that gives each task to the worker that owns it, the most urgent first.
// A worker without tasks takes another one's if takes reports true for it and the known times say
// that it pays: the task ends, and its results could be back, before the owner would have finished
// its queue.
//
// Push takes constant time and O(log n) for a task; Pop takes O(log n), and O(workers) if the
// worker has no task and takes reports true. It assumes that owners have about the same work over
// the whole job: a task taken from another owner moves its data there and back.
func ByOwner(m Machine, owner func(*graph.Task) int, takes func(worker int) bool) Policy {
	q := newEarliestFinish(len(m.Locations), len(m.Locations), m.Costs)
	q.owned = &owned{owner, takes}
	return q
}

// pays returns the cost of a victim's task on a worker, and whether the worker should take it.
func (o *owned) pays(q *earliestFinish, t *graph.Task, worker, victim int) (cost float64, ok bool) {
	run, move := q.costs.Run(t, worker), q.costs.Move(t, worker)
	if run == 0 || math.IsInf(run, 1) {
		return 0, false
	}
	return run + move, q.load[worker]+run+2*move < q.load[victim]
}
