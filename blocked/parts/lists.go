package parts

import (
	"context"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Lists is a [Collection] of items of any type in slices of the program, one for each block.
type Lists[E any] [][]E

// Blocks implements [Collection].
func (l Lists[E]) Blocks() int { return len(l) }

// Items implements [Collection].
func (l Lists[E]) Items(block int) int { return len(l[block]) }

// Bytes implements [Collection]. It does not count memory to which items point.
func (l Lists[E]) Bytes(block int) int64 {
	return int64(len(l[block])) * int64(unsafe.Sizeof(*new(E)))
}

// Locate implements [Collection], by the page in the middle of each block.
func (l Lists[E]) Locate(rt exec.Runtime) []int {
	at := make([]unsafe.Pointer, len(l))
	for b := range l {
		at[b] = middle(l[b])
	}
	return Near(rt, at)
}

// Rechunk returns a copy of the items in blocks of n, in their order; the last block may have
// fewer. It panics with ErrShape if n < 1; the error is that of [loop.For].
func (l Lists[E]) Rechunk(ctx context.Context, rt exec.Runtime, n int) (Lists[E], error) {
	if n < 1 {
		panic(blocked.ErrShape)
	}
	one := inOrder(l)
	to := make(Lists[E], tiles.Count(one.Len(), n))
	return to, loop.For(ctx, rt, len(to), loop.Options{}, func(c loop.Chunk) error {
		for b := c.Lo; b < c.Hi; b++ {
			to[b] = l.gather(one, b*n, min(b*n+n, one.Len()))
		}
		return nil
	})
}

// Materialize returns a copy of the items with one block for each partition: block j has the items of
// partition j. See [RowBlocks.Materialize].
func (l Lists[E]) Materialize(ctx context.Context, rt exec.Runtime, ps *Partitions) (Lists[E], error) {
	to := make(Lists[E], len(ps.list))
	return to, loop.For(ctx, rt, len(to), loop.Options{Parts: ones(ps)}, func(c loop.Chunk) error {
		for j := c.Lo; j < c.Hi; j++ {
			lo, hi := ps.bounds(j)
			to[j] = l.gather(ps, lo, hi)
		}
		return nil
	})
}

// gather returns a copy of items lo to hi−1 in the order of the partitions.
func (l Lists[E]) gather(ps *Partitions, lo, hi int) []E {
	to := make([]E, 0, hi-lo)
	for s := range ps.Spans(lo, hi) {
		to = append(to, l[s.Block][s.Lo:s.Hi]...)
	}
	return to
}
