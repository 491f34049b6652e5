package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// stealing has a deque for each worker. A worker puts what its tasks free at
// the back of its own and takes from there, so that it goes on with data that
// it has just touched. When its deque is empty it steals from the front of a
// victim's: the task that has been ready for longest, and whose data have most
// likely left the victim's caches. Tasks that no worker has freed are dealt
// round.
//
// Reference: Blumofe and Leiserson, "Scheduling multithreaded computations by
// work stealing", J. ACM 46 (1999).
type stealing struct {
	deques  []deque
	victims victims
	next    int // who is dealt the next task from outside
	n       int
}

func newStealing(workers int, v victims) *stealing {
	return &stealing{deques: make([]deque, workers), victims: v}
}

func (q *stealing) Len() int { return q.n }

func (q *stealing) Push(ready []*graph.Task, from int) {
	for i, t := range ready {
		to := from
		if from < 0 || from >= len(q.deques) {
			to = q.next
			q.next = (q.next + 1) % len(q.deques)
		} else {
			// What was freed first is to be taken first.
			t = ready[len(ready)-1-i]
		}
		q.deques[to].pushBack(t)
	}
	q.n += len(ready)
}

func (q *stealing) Pop(worker int) *graph.Task {
	if q.n == 0 {
		return nil
	}
	if worker >= 0 && worker < len(q.deques) {
		if t := q.deques[worker].popBack(); t != nil {
			q.n--
			return t
		}
	}
	for i := range len(q.deques) {
		if t := q.deques[q.victims.victim(worker, i)].popFront(); t != nil {
			q.n--
			return t
		}
	}
	return nil
}

// deque is a ring of tasks that is open at both ends.
type deque struct {
	ring  []*graph.Task // len is a power of two
	first int
	n     int
}

func (d *deque) at(i int) *(*graph.Task) { return &d.ring[(d.first+i)&(len(d.ring)-1)] }

func (d *deque) pushBack(t *graph.Task) {
	if d.n == len(d.ring) {
		d.grow()
	}
	*d.at(d.n) = t
	d.n++
}

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

// grow doubles the ring.
func (d *deque) grow() {
	ring := make([]*graph.Task, max(64, 2*len(d.ring)))
	n := copy(ring, d.ring[d.first:])
	copy(ring[n:], d.ring[:d.first])
	d.ring, d.first = ring, 0
}
