package loop

import (
	"context"
	"math"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// plain is the op of loops without a site.
var plain = newOp("loop")

// For calls body for all n items, in chunks, on the workers of a runtime, and returns when all
// calls have returned. Each item is in one chunk. Calls run at once; the items of a chunk are the
// body's to go through.
//
//	err := loop.For(ctx, rt, len(y), loop.Options{}, func(c loop.Chunk) error {
//		for i := c.Lo; i < c.Hi; i++ {
//			y[i] += a * x[i]
//		}
//		return nil
//	})
//
// The loop is tasks, one for each worker, of the op "loop" or the name of its site. While other
// tasks wait for a worker, the loop gives the worker back after its present chunk, but not before
// 20 µs, and the runtime's policy chooses the next task. Where a worker sleeps the calling
// goroutine takes part in its place, unless the last call at the site took 20 ms.
//
// On a runtime of several nodes the workers are those of this one: [Submit] is for others. A body
// must not wait for other work of the runtime, which may wait for its worker. A loop in a body
// takes [Chunk.Context] for its context.
//
// The error is an *[OptionsError]; the *[ChunkError] of the chunk with the smallest items that has
// failed: those before a chunk that has failed are executed, those after it no more begun; the
// cause of the context's end; or exec.ErrClosed. For panics with [ErrItems] and [ErrBody].
func For(ctx context.Context, rt exec.Runtime, n int, opt Options, body func(Chunk) error) error {
	return forUnits(ctx, rt, n, 1, opt, body)
}

// forUnits is For with chunks that begin at multiples of unit.
func forUnits(ctx context.Context, rt exec.Runtime, n, unit int, opt Options, body func(Chunk) error) error {
	if err := check(n, &opt, body); err != nil {
		return err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if w, ok := ctx.Value(inside{}).(int); ok {
		return inline(ctx, w, n, opt, body)
	}
	r := begin(ctx, n, unit, here(rt), opt, body)
	job := rt.NewJob(ctx)
	// A body that ends the calling goroutine leaves no loop behind.
	ended := false
	defer func() {
		if !ended {
			_ = job.Wait()
		}
	}()
	err := r.submit(job)
	if wrong := job.Wait(); err == nil {
		err = wrong
	}
	ended = true
	return r.conclude(err)
}

// check returns the *OptionsError of a call, or panics.
func check(n int, opt *Options, body func(Chunk) error) error {
	switch {
	case n < 0:
		panic(ErrItems)
	case body == nil:
		panic(ErrBody)
	}
	return opt.validate(n)
}

// here returns the workers on cores of this process.
func here(rt exec.Runtime) (workers []exec.Worker) {
	for _, w := range rt.Workers() {
		if w.Accelerator == "" && w.Host == "" {
			workers = append(workers, w)
		}
	}
	return workers
}

// begin returns a loop with its plan.
func begin(ctx context.Context, n, unit int, workers []exec.Worker, opt Options, body func(Chunk) error) *run {
	p, trial, looks := opt.Plan, -1, false
	var l *lesson
	switch {
	case !p.automatic():
	case opt.Site != nil && (opt.Parts == nil || n > 0):
		p, trial, l = opt.Site.choose(n, p.Grain, workers, opt.Parts)
		looks = trial < 0
	case opt.Parts != nil:
		p.Scheme = FAC2
	default:
		p = unknown(n, len(workers), coarse, p.Grain)
	}
	r := newRun(ctx, n, unit, workers, p, opt.Parts, body)
	r.opt, r.lesson, r.trial, r.spans = opt, l, trial, opt.Spans || looks
	return r
}

// runner returns the op of the loop's tasks. There is one for all calls, because a runtime's
// selector keeps every op.
func (s *Site) runner() *versions.Op {
	s.once.Do(func() {
		name := s.Name
		if name == "" {
			name = "loop"
		}
		s.op = newOp(name)
	})
	return s.op
}

// long is the duration from which the caller takes no part in the site's next loop. With the
// caller, whose thread is not pinned, a cascade of support vector machines with chunks of tens of
// milliseconds took up to a fifth longer, loops of 10 ms did not (docs/internals/measurements.md).
const long = 20 * time.Millisecond

// submit submits the runners. The caller may execute the last one.
func (r *run) submit(job exec.Job) error {
	n := min(len(r.hands), int(ceil(u(r.items), u(r.unit))))
	op := plain
	if r.opt.Site != nil {
		op = r.opt.Site.runner()
	}
	// A body that ends its goroutine by runtime.Goexit has failed, and its runner is retried for
	// the chunks before that one.
	s := &graph.Spec{Op: op, Params: r, Priority: r.opt.Priority, Failure: &graph.Failure{Retries: math.MaxInt}}
	r.waiting.Store(int32(n))
	if r.opt.Site == nil || !r.opt.Site.long.Load() {
		return exec.RunHere(job, s, n)
	}
	for range n {
		if _, err := job.Submit(s); err != nil {
			return err
		}
	}
	return nil
}

// conclude returns the loop's error, and fills its statistics.
func (r *run) conclude(err error) error {
	// A failure comes before the end of the context that came later.
	if r.fault != nil {
		err = r.fault
	}
	if r.opt.Site != nil {
		r.opt.Site.long.Store(time.Since(r.began) >= long)
	}
	learns := err == nil && r.lesson != nil
	if r.opt.Stats == nil && !learns {
		return err
	}
	s := Stats{Items: r.items, Plan: r.dispenser.plan, Took: time.Since(r.began)}
	s.gather(r.hands)
	if learns {
		r.opt.Site.learn(r.lesson, &s, r.trial, r.opt.Parts)
	}
	if r.opt.Stats != nil {
		if *r.opt.Stats = s; !r.opt.Spans {
			r.opt.Stats.Spans = nil
		}
	}
	return err
}

// inline executes a loop on the goroutine of a worker that executes a chunk of another loop.
func inline(ctx context.Context, worker, n int, opt Options, body func(Chunk) error) error {
	began, c := time.Now(), Chunk{Hi: n, Worker: worker, of: &origin{ctx}}
	err := context.Cause(ctx)
	if err == nil && n > 0 {
		if err = body(c); err != nil {
			err = &ChunkError{c, err}
		}
	}
	if opt.Stats != nil {
		took := time.Since(began)
		*opt.Stats = Stats{Items: n, Plan: Plan{Scheme: Static}, Took: took,
			Workers: []WorkerStats{{Chunks: 1, Items: n, Busy: took}}}
	}
	return err
}
