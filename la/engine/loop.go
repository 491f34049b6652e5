package engine

import (
	"context"

	"github.com/tessera-la/tessera/exec/loop"
)

// Loop calls body for all of n items, in chunks lo … hi−1 at once on the engine's workers of this node and the calling
// goroutine, and returns when all calls have returned. A body must not wait for other work of the engine, as another Loop
// does: that may need its worker. A body that panics makes an error.
//
// The error is the cause of ctx's end, exec.ErrClosed, or the *loop.ChunkError of a body that has panicked.
func Loop(ctx context.Context, e *Engine, n int, body func(lo, hi int)) error {
	if err := e.Ready(ctx); err != nil {
		return err
	}
	rt, end, err := e.acquire()
	if err != nil {
		return err
	}
	clean := false
	defer func() { end(clean) }()
	err = loop.For(ctx, rt, n, loop.Options{}, func(c loop.Chunk) error {
		body(c.Lo, c.Hi)
		return nil
	})
	clean = true
	return err
}
