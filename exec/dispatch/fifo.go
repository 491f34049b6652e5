package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// fifo is a ring buffer.
type fifo struct {
	ring  []*graph.Task // len is a power of two
	first int
	n     int
}

func (q *fifo) Len() int { return q.n }

func (q *fifo) Push(ready []*graph.Task, _ int) {
	for _, t := range ready {
		if q.n == len(q.ring) {
			q.grow()
		}
		q.ring[(q.first+q.n)&(len(q.ring)-1)] = t
		q.n++
	}
}

func (q *fifo) Pop(int) *graph.Task {
	if q.n == 0 {
		return nil
	}
	t := q.ring[q.first]
	q.ring[q.first] = nil
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return t
}

// grow doubles the ring.
func (q *fifo) grow() {
	ring := make([]*graph.Task, max(64, 2*len(q.ring)))
	n := copy(ring, q.ring[q.first:])
	copy(ring[n:], q.ring[:q.first])
	q.ring, q.first = ring, 0
}
