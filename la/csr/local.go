package csr

import (
	"context"

	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/internal/vector"
	"github.com/tessera-la/tessera/la/krylov"
)

// alignment is the elements in a chunk of package internal/vector. A part of a dot product that begins and
// ends at a multiple is few numbers.
const alignment = 64

// grain is the elements of a vector that a worker works on at once, a multiple of alignment. Shorter vectors
// are not worth a loop.
const grain = 1 << 14

// alignedStarts returns the blocks of rows with their starts at multiples of alignment.
func (a *Matrix) alignedStarts() []int {
	a.work.once.Do(func() {
		starts := []int{0}
		for _, s := range a.starts[1:] {
			if s != a.rows {
				s = s / alignment * alignment
			}
			if s > starts[len(starts)-1] {
				starts = append(starts, s)
			}
		}
		a.work.aligned = starts
	})
	return a.work.aligned
}

// Vectors implements krylov.Keeper. The vectors are slices, and the workers compute with them in parallel. An
// iteration has the same bits on any number of workers.
func (a *Matrix) Vectors(ctx context.Context, operator krylov.Operator) (krylov.Vectors, error) {
	if operator != krylov.Operator(a) {
		return nil, nil
	}
	return &local{ctx: ctx, whole: context.WithoutCancel(ctx), a: a, op: a}, nil
}

// local implements krylov.FusedVectors and krylov.MemoryVectors by slices.
type local struct {
	ctx   context.Context
	whole context.Context // for operations on vectors, which the end of ctx does not interrupt
	a     *Matrix         // its workers and its workspace
	op    krylov.Operator // a, or what has the elements in its place
	all   [][]float64
	lent  []*[]float64 // from the pool
	sums  []float64
	err   error
}

// New implements krylov.Vectors.
func (l *local) New(n int) krylov.Vector {
	p, _ := l.a.work.vectors.Get().(*[]float64)
	if p == nil || cap(*p) < n {
		v := make([]float64, n)
		pages.Large(v)
		p = &v
	}
	l.lent = append(l.lent, p)
	return l.Load((*p)[:n])
}

// Load implements krylov.Vectors. It makes no copy: the iteration works in x itself.
func (l *local) Load(x []float64) krylov.Vector {
	l.all = append(l.all, x)
	return krylov.Vector(len(l.all) - 1)
}

// Slice implements krylov.MemoryVectors.
func (l *local) Slice(x krylov.Vector) []float64 { return l.all[x] }

// Close implements krylov.Vectors.
func (l *local) Close(krylov.Vector) error {
	for _, p := range l.lent {
		l.a.work.vectors.Put(p)
	}
	l.lent, l.all = nil, nil
	return l.err
}

// each calls do for parts lo to hi−1 of vectors of n elements, on all workers if the vectors are long.
func (l *local) each(site *loop.Site, n int, do func(lo, hi int)) {
	switch {
	case l.err != nil:
	case n <= grain:
		do(0, n)
	default:
		l.err = loop.For(l.whole, l.a.rt, (n+grain-1)/grain, loop.Options{Site: site}, func(c loop.Chunk) error {
			for p := c.Lo; p < c.Hi; p++ {
				do(p*grain, min(n, (p+1)*grain))
			}
			return nil
		})
	}
}

// MulVecTo implements krylov.Vectors.
func (l *local) MulVecTo(dst krylov.Vector, trans bool, x krylov.Vector) error {
	if l.err != nil {
		return l.err
	}
	return l.op.MulVecTo(l.ctx, l.all[dst], trans, l.all[x])
}

// Axpby implements krylov.Vectors.
func (l *local) Axpby(alpha float64, x krylov.Vector, beta float64, y krylov.Vector) {
	from, to := l.all[x], l.all[y]
	l.each(&l.a.work.add, len(to), func(lo, hi int) { vector.Add(alpha, from[lo:hi], beta, to[lo:hi]) })
}

// Dot implements krylov.Vectors.
func (l *local) Dot(x, y krylov.Vector, scale float64) (float64, error) {
	from, to := l.all[x], l.all[y]
	if len(to) <= grain {
		return vector.Dot(from, to, scale), l.err
	}
	return l.total(&l.a.work.dot, len(to), func(part []float64, lo, hi int) { vector.Part(part, lo, from[lo:hi], to[lo:hi], scale) })
}

// AxpbyDot implements krylov.FusedVectors.
func (l *local) AxpbyDot(alpha float64, x krylov.Vector, beta float64, y, z krylov.Vector) (float64, error) {
	from, to, with := l.all[x], l.all[y], l.all[z]
	return l.total(&l.a.work.addDot, len(to), func(part []float64, lo, hi int) {
		// Between the two a part stays in the cache.
		vector.Add(alpha, from[lo:hi], beta, to[lo:hi])
		vector.Part(part, lo, to[lo:hi], with[lo:hi], 1)
	})
}

// total returns a dot product of vectors of n elements, of which do makes parts: see [vector.Part].
func (l *local) total(site *loop.Site, n int, do func(part []float64, lo, hi int)) (float64, error) {
	// A part but the last one is 2ᵏ chunks at a multiple of these, and so one number.
	parts := (n + grain - 1) / grain
	l.sums = append(l.sums[:0], make([]float64, parts-1+vector.Len((parts-1)*grain, n-(parts-1)*grain))...)
	l.each(site, n, func(lo, hi int) { do(l.sums[lo/grain:], lo, hi) })
	var sum vector.Sum
	for p := range parts {
		sum.Add(min(grain, n-p*grain), l.sums[p:])
	}
	return sum.Total(), l.err
}

// MulVecDot implements krylov.FusedVectors.
func (l *local) MulVecDot(dst, x krylov.Vector) (float64, error) {
	a, y, v := l.a, l.all[dst], l.all[x]
	if l.err != nil || l.op != krylov.Operator(a) || a.Blocks() < 2 || !a.narrowed() {
		if err := l.MulVecTo(dst, false, x); err != nil {
			return 0, err
		}
		return l.Dot(x, dst, 1)
	}
	starts := a.alignedStarts()
	blocks := len(starts) - 1
	at := make([]int, blocks+1)
	for b := range blocks {
		at[b+1] = at[b] + vector.Len(starts[b], starts[b+1]-starts[b])
	}
	l.sums = append(l.sums[:0], make([]float64, at[blocks])...)
	err := loop.For(l.ctx, a.rt, blocks, loop.Options{Site: &a.work.mulDot}, func(c loop.Chunk) error {
		for b := c.Lo; b < c.Hi; b++ {
			lo, hi := starts[b], starts[b+1]
			a.mulVecNarrow(y, v, lo, hi)
			vector.Part(l.sums[at[b]:at[b+1]], lo, v[lo:hi], y[lo:hi], 1)
		}
		return nil
	})
	var sum vector.Sum
	for b := range blocks {
		sum.Add(starts[b+1]-starts[b], l.sums[at[b]:])
	}
	return sum.Total(), err
}
