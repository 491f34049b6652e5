package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// deque is a ring of tasks that is open at both ends. The tasks are at first, first+1 … first+n−1,
// modulo the length of the ring. All other places are nil, so that the garbage collector can free
// ended tasks. The ring doubles when it is full, and never shrinks.
type deque struct {
	ring  []*graph.Task // len is a power of two
	first int
	n     int
}

func (d *deque) Len() int { return d.n }

// stack pushes tasks so that the task that became ready last is at the back. Of tasks that worker
// from has freed at once, the first in order is at the back.
func (d *deque) stack(ready []*graph.Task, from int) {
	if from >= 0 {
		arrange(ready)
	}
	for i, t := range ready {
		if from >= 0 {
			t = ready[len(ready)-1-i]
		}
		d.pushBack(t)
	}
}

// at returns the place i behind the first.
func (d *deque) at(i int) *(*graph.Task) { return &d.ring[(d.first+i)&(len(d.ring)-1)] }

// pushFront puts tasks in front of all others.
func (d *deque) pushFront(tasks []*graph.Task) {
	for _, t := range tasks {
		d.grow()
		d.first = (d.first + len(d.ring) - 1) & (len(d.ring) - 1)
		*d.at(0) = t
		d.n++
	}
}

func (d *deque) pushBack(t *graph.Task) {
	d.grow()
	*d.at(d.n) = t
	d.n++
}

// grow makes room for one more.
func (d *deque) grow() {
	if d.n == len(d.ring) {
		ring := make([]*graph.Task, max(64, 2*d.n))
		n := copy(ring, d.ring[d.first:])
		copy(ring[n:], d.ring[:d.first])
		d.ring, d.first = ring, 0
	}
}

// popBack returns the last task, nil if there is none.
func (d *deque) popBack() *graph.Task {
	if d.n == 0 {
		return nil
	}
	d.n--
	p := d.at(d.n)
	t := *p
	*p = nil
	return t
}

// popFront returns the first task, nil if there is none.
func (d *deque) popFront() *graph.Task {
	if d.n == 0 {
		return nil
	}
	p := d.at(0)
	t := *p
	*p = nil
	d.first = (d.first + 1) & (len(d.ring) - 1)
	d.n--
	return t
}
