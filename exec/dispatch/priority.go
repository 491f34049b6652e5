package dispatch

import (
	"math/bits"

	"github.com/tessera-la/tessera/exec/graph"
)

// priority is a 4-ary heap. The four children of a node share a cache line or two, and the keys lie
// beside the pointers, so that sifting touches no task.
//
// A branch predictor cannot guess which child comes first. So the choice is computed without a
// branch. The last task of the heap, which replaces the first, is not compared on the way down: it
// goes back up from the bottom, near which it belongs.
//
// Pop takes the task with the largest priority, and of equal ones the one that was submitted first.
// Push and Pop take O(log n) for a task. It assumes that priorities are the lengths of paths to the
// end of the graph, as those of package blocked are: then it is list scheduling by the critical
// path. Graham ("Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969) bounds
// the loss of any list: twice the best time, for equal workers.
type priority struct{ heap []ranked }

// ranked is a task with its rank. Of two tasks the one with the smaller high, then the smaller low,
// comes first. high is the priority in descending order: its sign bit is flipped, to order it as an
// unsigned number, and then all its bits.
type ranked struct {
	high, low uint64
	task      *graph.Task
}

func rank(t *graph.Task) ranked {
	return ranked{^(uint64(t.Priority) ^ 1<<63), uint64(t.ID()), t}
}

// before returns 1 if a comes before b, else 0: the borrow of the 128-bit difference
// of their ranks.
func before(a, b *ranked) int {
	_, borrow := bits.Sub64(a.low, b.low, 0)
	_, borrow = bits.Sub64(a.high, b.high, borrow)
	return int(borrow)
}

func (q *priority) Len() int { return len(q.heap) }

func (q *priority) Push(ready []*graph.Task, _ int) {
	for _, t := range ready {
		q.heap = append(q.heap, ranked{})
		q.up(len(q.heap)-1, rank(t))
	}
}

// up puts x in the free place i or above it.
func (q *priority) up(i int, x ranked) {
	h := q.heap
	for i > 0 {
		up := (i - 1) / 4
		if before(&x, &h[up]) == 0 {
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
	h[n] = ranked{}
	h = h[:n]
	q.heap = h
	if n == 0 {
		return t
	}
	// The free place moves down to a leaf, along the children that come first; then x goes up from
	// there. The children of i are 4i+1 to 4i+4.
	i := 0
	for c := 1; c < n; c = 4*i + 1 {
		best := c
		if c+4 <= n {
			four := h[c : c+4 : c+4]
			a := before(&four[1], &four[0])
			b := 2 + before(&four[3], &four[2])
			best += a + before(&four[b&3], &four[a&3])*(b-a)
		} else { // the last ones
			for k := c + 1; k < n; k++ {
				best += before(&h[k], &h[best]) * (k - best)
			}
		}
		h[i] = h[best]
		i = best
	}
	q.up(i, x)
	return t
}
