package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// fifo is a queue: Pop takes the task that has been ready for longest. Tasks that one end has freed
// have been ready equally long, and are ordered by priority. Apart from that, Push and Pop take
// constant time for a task. It assumes nothing, and is the baseline for other policies.
//
// Reference: Amela et al., 2018, section 2.3.
type fifo struct{ deque }

func (q *fifo) Push(ready []*graph.Task, from int) {
	if from >= 0 {
		arrange(ready)
	}
	for _, t := range ready {
		q.pushBack(t)
	}
}

func (q *fifo) Pop(int) *graph.Task { return q.popFront() }
