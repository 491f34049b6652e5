package loop

import (
	"context"

	"github.com/tessera-la/tessera/exec"
)

// Reduction defines how a loop sums the contributions of its chunks.
type Reduction[T any] struct {
	// New returns an empty sum.
	New func() T
	// Add adds part to sum. It may keep part's memory: part is not used again.
	Add func(sum, part *T)
}

// blocks is the number of blocks of a deterministic reduction: enough for the workers of a large
// machine, few enough to keep a sum of each.
const blocks = 1024

// Reduce is [For] with a result: body adds what the items of a chunk contribute to a partial sum,
// which belongs to the worker meanwhile, and Reduce returns the sum of all of these.
//
//	dot, err := loop.Reduce(ctx, rt, len(x), loop.Options{}, loop.Reduction[float64]{
//		New: func() float64 { return 0 },
//		Add: func(sum, part *float64) { *sum += *part },
//	}, func(c loop.Chunk, sum *float64) error {
//		for i := c.Lo; i < c.Hi; i++ {
//			*sum += x[i] * y[i]
//		}
//		return nil
//	})
//
// Each worker has one partial sum; they are added in the order of the workers' numbers. The
// assignment of items to partial sums, and so the last bits, may depend on which workers were free.
// With Options.Deterministic body is called for each of up to 1024 blocks of equal size, which
// depend on n alone, with a sum of its own; these are added in the order of the items.
//
// Errors and panics are those of For; with an error the result is the zero value. A panic of
// Reduction.Add goes to the caller.
func Reduce[T any](ctx context.Context, rt exec.Runtime, n int, opt Options, r Reduction[T],
	body func(c Chunk, sum *T) error) (result T, err error) {
	if n < 0 {
		panic(ErrItems)
	}
	if body == nil || r.New == nil || r.Add == nil {
		panic(ErrBody)
	}
	if opt.Deterministic {
		result, err = ordered(ctx, rt, n, opt, r, body)
	} else {
		result, err = unordered(ctx, rt, n, opt, r, body)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return result, nil
}

// partial is a partial sum. Neighbours do not share a cache line.
type partial[T any] struct {
	sum T
	is  bool
	_   [64]byte
}

// unordered is Reduce with a partial sum for each worker.
func unordered[T any](ctx context.Context, rt exec.Runtime, n int, opt Options, r Reduction[T],
	body func(Chunk, *T) error) (T, error) {
	partials := make([]partial[T], len(rt.Workers()))
	err := For(ctx, rt, n, opt, func(c Chunk) error {
		p := &partials[c.Worker]
		if !p.is {
			p.sum, p.is = r.New(), true
		}
		return body(c, &p.sum)
	})
	return total(partials, r, err), err
}

// ordered is Reduce with a partial sum for each block.
func ordered[T any](ctx context.Context, rt exec.Runtime, n int, opt Options, r Reduction[T],
	body func(Chunk, *T) error) (T, error) {
	size := max(1, int(ceil(u(n), blocks)))
	partials := make([]partial[T], int(ceil(u(n), u(size))))
	err := forUnits(ctx, rt, n, size, opt, func(c Chunk) error {
		for b, hi := c.Lo/size, c.Hi; b*size < hi; b++ {
			c.Lo, c.Hi = b*size, min(b*size+size, hi)
			p := &partials[b]
			p.sum, p.is = r.New(), true
			if err := body(c, &p.sum); err != nil {
				return err
			}
		}
		return nil
	})
	return total(partials, r, err), err
}

// total adds partial sums, unless there was an error.
func total[T any](partials []partial[T], r Reduction[T], err error) (sum T) {
	if err != nil {
		return sum
	}
	sum = r.New()
	for i := range partials {
		if partials[i].is {
			r.Add(&sum, &partials[i].sum)
		}
	}
	return sum
}
