package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// lifo is a stack.
type lifo struct{ stack []*graph.Task }

func (q *lifo) Len() int { return len(q.stack) }

func (q *lifo) Push(ready []*graph.Task, _ int) { q.stack = append(q.stack, ready...) }

func (q *lifo) Pop(int) *graph.Task {
	n := len(q.stack)
	if n == 0 {
		return nil
	}
	t := q.stack[n-1]
	q.stack[n-1] = nil
	q.stack = q.stack[:n-1]
	return t
}
