package loop

import (
	"sync"
	"sync/atomic"
)

// queue hands out chunks, each to one of the workers that ask at once.
type queue struct {
	location int
	// base is the first item, or 0 if the queue has chunks from the whole loop: then it has the
	// chunks first, first + stride … of the sequence.
	base, first, stride int
	sequence            *sequence
	own                 *ownQueue // instead of sequence, for the program's own scheme

	_ [64]byte // what precedes is only read
	// next is the number of chunks taken; each later attempt adds one, too.
	next atomic.Int64
	_    [56]byte
}

// take takes the next chunk. It returns false if there is none, and never will be.
func (q *queue) take() (lo, hi int, ok bool) {
	if q.own != nil {
		lo, hi, ok = q.own.take()
	} else {
		lo, hi, ok = q.sequence.chunk(q.first + int(q.next.Add(1)-1)*q.stride)
	}
	return q.base + lo, q.base + hi, ok
}

// close makes take find nothing from now on.
func (q *queue) close() {
	if q.own != nil {
		q.own.close()
		return
	}
	q.next.Store(int64(q.sequence.count)) // first + count·stride does not overflow
}

// ownQueue is a queue with the program's own scheme, which may be dynamic: the size of the next
// chunk is not known before.
type ownQueue struct {
	shape       Shape
	mu          sync.Mutex // a leaf, except for locks of the Partitioner
	partitioner Partitioner
	at          int
}

func (q *ownQueue) take() (lo, hi int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	lo = q.at
	if lo == q.shape.Items {
		return 0, 0, false
	}
	// After a panic the chunk is still there.
	q.at += raised(q.shape, q.partitioner.Next(q.shape.Items-lo), q.shape.Items-lo)
	return lo, q.at, true
}

func (q *ownQueue) close() {
	q.mu.Lock()
	q.at = q.shape.Items
	q.mu.Unlock()
}

// raised returns a Partitioner's size within its bounds: at least the grain, at most the remaining
// items.
func raised(s Shape, size, remaining int) int { return min(max(size, s.Grain, 1), remaining) }
