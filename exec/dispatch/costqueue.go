package dispatch

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/heap"
)

// queue is the tasks of a worker, by priority and then by ID. Keys ascend, so they are complements of priorities.
type queue struct{ heap.Heap[int64, costed] }

// costed is a task with its cost on the worker that it is queued for.
type costed struct {
	task *graph.Task
	cost float64
}

// push adds x.
func (q *queue) push(x costed) {
	q.Push(heap.Item[int64, costed]{Key: ^x.task.Priority, Seq: uint64(x.task.ID()), Value: x})
}
