package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// lifo is a stack: Pop takes the task that became ready last, in constant time. So it follows one
// branch of the graph before it begins others, with data that are still in a cache. It delays a
// critical path that became ready early.
//
// Reference: Amela et al., 2018, section 2.3.
type lifo struct{ deque }

func (q *lifo) Push(ready []*graph.Task, from int) {
	if from == GaveWay {
		q.pushFront(ready)
		return
	}
	q.stack(ready, from)
}

func (q *lifo) Pop(int) *graph.Task { return q.popBack() }
