package loop

import "context"

// Chunk is a part of the items of a loop, for one worker.
type Chunk struct {
	Lo, Hi int // items Lo to Hi−1
	Worker int // number of its worker in exec.Runtime.Workers
	Queue  int // its queue; queues are numbered in the order of their workers

	of *origin
}

// origin is a chunk's loop. A Chunk has a pointer to it, as a context in each would make it larger.
type origin struct{ ctx context.Context }

// Len returns the number of items.
func (c Chunk) Len() int { return c.Hi - c.Lo }

// Range returns the items as a parameter of a task: see [Submit].
func (c Chunk) Range() Range { return Range{First: c.Lo, Count: c.Hi - c.Lo} }

// Range is consecutive items, as plain data.
type Range struct{ First, Count int }

// Context returns the context to give to a loop that the body starts. That loop runs on the calling
// goroutine, because a worker that waits for others in a body might wait for ever.
func (c Chunk) Context() context.Context {
	ctx := context.Background()
	if c.of != nil {
		ctx = c.of.ctx
	}
	return context.WithValue(ctx, inside{}, c.Worker)
}

// inside is the context key of the number of the worker that executes a chunk.
type inside struct{}
