package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// stealing has a deque for each worker. A worker puts the tasks that its tasks free at the back of
// its own deque and takes from there, so that it goes on with data that it has just touched. If its
// deque is empty it steals from the front of a victim's: the task that has been ready for longest,
// whose data have most likely left the victim's caches. Tasks that no worker has freed are dealt in
// turn.
//
// Push takes constant time for a task, Pop too while the worker has tasks, and O(workers) to look
// for a victim. It assumes that tasks free others: a worker whose tasks free none only steals.
// Priorities only order the tasks that one end has freed. Victims are not chosen at random, as in
// the reference, but in a fixed order, near ones first: SEQPRI of DaphneSched.
//
// Reference: Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing", J.
// ACM 46 (1999).
type stealing struct {
	deques  []deque
	victims [][]int // by worker: itself, those at its location, the others
	next    int     // worker that gets the next task from outside
	n       int
}

func newStealing(locations []int) *stealing {
	n := len(locations)
	q := &stealing{deques: make([]deque, n), victims: make([][]int, n)}
	for thief := range n {
		var far []int
		for i := range n {
			if w := (thief + i) % n; locations[w] == locations[thief] {
				q.victims[thief] = append(q.victims[thief], w)
			} else {
				far = append(far, w)
			}
		}
		q.victims[thief] = append(q.victims[thief], far...)
	}
	return q
}

func (q *stealing) Len() int { return q.n }

func (q *stealing) Push(ready []*graph.Task, from int) {
	q.n += len(ready)
	if from >= 0 {
		q.deques[from].stack(ready, from)
		return
	}
	for i, t := range ready {
		if from == GaveWay {
			q.deques[q.next].pushFront(ready[i : i+1])
		} else {
			q.deques[q.next].pushBack(t)
		}
		q.next = (q.next + 1) % len(q.deques)
	}
}

func (q *stealing) Pop(worker int) *graph.Task {
	if q.n == 0 {
		return nil
	}
	q.n--
	// n was not 0, so some deque has a task.
	t := q.deques[worker].popBack()
	for i := 1; t == nil; i++ {
		t = q.deques[q.victims[worker][i]].popFront()
	}
	return t
}
