package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Costs is what the policy EarliestFinish goes by. Times are in seconds. The
// policy calls it one call at a time.
type Costs interface {
	// Run returns the expected time of a task on a worker: +Inf if it cannot run
	// there, 0 if nothing is known.
	Run(t *graph.Task, worker int) float64
	// Move returns the expected time to bring bytes from where one worker made
	// them to another one; 0 where both see the same memory.
	Move(bytes int64, from, to int) float64
}

// NoCosts knows nothing: every task takes no time anywhere.
type NoCosts struct{}

// Run returns 0.
func (NoCosts) Run(*graph.Task, int) float64 { return 0 }

// Move returns 0.
func (NoCosts) Move(int64, int, int) float64 { return 0 }

// earliestFinish gives every task, when it becomes ready, to the worker that is
// expected to finish it first: what that worker has to do already, and the
// moving of data, and the task itself. Each worker takes its tasks by priority.
// A worker without tasks takes one from another, the one that comes last there,
// if it is going to finish it before the other one would begin it: so slow
// workers keep off the last tasks of a job, which a fast one will have done
// sooner.
//
// Reference: Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity
// task scheduling for heterogeneous computing", IEEE TPDS 13 (2002), of which
// this is the dynamic form, as StarPU's dmda.
type earliestFinish struct {
	costs Costs
	queue []queue   // by worker
	load  []float64 // expected time of what is queued for a worker, and of what it runs
	runs  []float64 // of that, what it runs
	cost  map[*graph.Task]float64
	n     int
}

// queue is the tasks of a worker, by priority.
type queue struct{ tasks []prioritised }

func newEarliestFinish(workers int, c Costs) *earliestFinish {
	if c == nil {
		c = NoCosts{}
	}
	return &earliestFinish{costs: c, queue: make([]queue, workers), load: make([]float64, workers),
		runs: make([]float64, workers), cost: make(map[*graph.Task]float64)}
}

func (q *earliestFinish) Len() int { return q.n }

func (q *earliestFinish) Push(ready []*graph.Task, from int) {
	if from >= 0 && from < len(q.load) {
		// Its task has ended, sooner or later than was expected.
		q.load[from] = max(q.load[from]-q.runs[from], 0)
		q.runs[from] = 0
	}
	order := slices.Clone(ready)
	slices.SortStableFunc(order, func(a, b *graph.Task) int { return cmp.Compare(b.Priority, a.Priority) })
	for _, t := range order {
		best, finish, cost := 0, math.Inf(1), 0.0
		for i := range q.load {
			// Of workers alike the one that has freed the task comes first.
			w := (max(from, 0) + i) % len(q.load)
			c := q.on(t, w)
			if f := q.load[w] + c; f < finish {
				best, finish, cost = w, f, c
			}
		}
		// A task that nobody can run goes to the first: the runtime says so.
		q.queue[best].push(prioritised{t.Priority, t.ID(), t})
		q.cost[t] = cost
		q.load[best] += cost
		q.n++
	}
}

// on returns the expected time of t on a worker, with what must be moved for it.
func (q *earliestFinish) on(t *graph.Task, worker int) float64 {
	c := q.costs.Run(t, worker)
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.In != 0 {
			if home := o.Datum.Home(); home >= 0 && home != worker {
				c += q.costs.Move(o.Datum.Bytes, home, worker)
			}
		}
	}
	return c
}

func (q *earliestFinish) Pop(worker int) *graph.Task {
	if q.n == 0 || worker < 0 || worker >= len(q.queue) {
		return nil
	}
	if mine := &q.queue[worker]; len(mine.tasks) > 0 {
		return q.take(worker, worker, 0, q.cost[mine.tasks[0].task])
	}
	// From whoever has most to do.
	victim := -1
	for w := range q.queue {
		if len(q.queue[w].tasks) > 0 && (victim < 0 || q.load[w] > q.load[victim]) {
			victim = w
		}
	}
	last := len(q.queue[victim].tasks) - 1
	t := q.queue[victim].tasks[last].task
	if c := q.on(t, worker); c <= q.load[victim] && !math.IsInf(c, 1) {
		return q.take(worker, victim, last, c)
	}
	return nil
}

// take hands task i of a victim's queue to a worker, on which it costs c.
func (q *earliestFinish) take(worker, victim, i int, c float64) *graph.Task {
	t := q.queue[victim].remove(i)
	q.load[victim] = max(q.load[victim]-q.cost[t], 0)
	delete(q.cost, t)
	q.load[worker] += c
	q.runs[worker] += c
	q.n--
	return t
}

// push puts x in its place in a binary heap.
func (h *queue) push(x prioritised) {
	h.tasks = append(h.tasks, x)
	h.up(len(h.tasks) - 1)
}

func (h *queue) up(i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !h.tasks[i].before(&h.tasks[up]) {
			return
		}
		h.tasks[i], h.tasks[up] = h.tasks[up], h.tasks[i]
		i = up
	}
}

// remove takes task i out.
func (h *queue) remove(i int) *graph.Task {
	n := len(h.tasks) - 1
	t := h.tasks[i].task
	h.tasks[i] = h.tasks[n]
	h.tasks[n] = prioritised{}
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
		if c+1 < n && h.tasks[c+1].before(&h.tasks[c]) {
			c++
		}
		if !h.tasks[c].before(&h.tasks[i]) {
			return t
		}
		h.tasks[i], h.tasks[c] = h.tasks[c], h.tasks[i]
		i = c
	}
}
