package sched

import "github.com/tessera-la/tessera/exec/graph"

// priority is a 4-ary heap: a child's four siblings share a cache line or
// two, and the keys lie beside the pointers so that sifting touches no task.
type priority struct{ heap []prioritised }

type prioritised struct {
	priority int64
	id       graph.TaskID
	task     *graph.Task
}

func (a *prioritised) before(b *prioritised) bool {
	return a.priority > b.priority || (a.priority == b.priority && a.id < b.id)
}

func (q *priority) Len() int { return len(q.heap) }

func (q *priority) Push(ready []*graph.Task, _ int) {
	for _, t := range ready {
		q.push(prioritised{t.Priority, t.ID(), t})
	}
}

func (q *priority) push(x prioritised) {
	q.heap = append(q.heap, x)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
}

func (q *priority) Pop(int) *graph.Task {
	n := len(q.heap) - 1
	if n < 0 {
		return nil
	}
	h := q.heap
	t, x := h[0].task, h[n]
	h[n] = prioritised{}
	h = h[:n]
	q.heap = h
	if n == 0 {
		return t
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		best := c
		for k := c + 1; k < min(c+4, n); k++ {
			if h[k].before(&h[best]) {
				best = k
			}
		}
		if !h[best].before(&x) {
			break
		}
		h[i] = h[best]
		i = best
	}
	h[i] = x
	return t
}
