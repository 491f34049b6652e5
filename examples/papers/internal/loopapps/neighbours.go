package loopapps

import (
	"context"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
)

// Neighbours finds the k nearest of n points for each of 4n queries. All are uniform in [0, 1)ᵈ. It uses trees:
// one for each block of the points or, in forms that choose their number, one for each location that has
// workers. Fewer trees are larger, and a search takes longer only by the logarithm of the size.
type Neighbours struct {
	*points           // the points among which it searches
	queries *points   // the points whose neighbours it searches
	k       int       // at most n
	have    []nearest // indexed by query
	want    []nearest
}

// queriesPerPoint is the number of queries per point.
const queriesPerPoint = 4

// newNeighbours makes n points of d coordinates in the given number of blocks, and the queries in blocks of the
// same size.
func newNeighbours(ctx context.Context, rt exec.Runtime, n, d, k, blocks int, seed uint64) (*Neighbours, error) {
	random := func(n, blocks int, seed uint64) (*points, error) {
		return newPoints(ctx, rt, n, d, blocks, func(i int, x []float64) {
			for j := range x {
				x[j] = uniform(seed, i*d+j)
			}
		})
	}
	p, err := random(n, blocks, seed)
	if err != nil {
		return nil, err
	}
	q, err := random(queriesPerPoint*n, queriesPerPoint*min(blocks, n), seed+1)
	return &Neighbours{points: p, queries: q, k: min(k, n)}, err
}

// SetForm implements [Formed].
func (b *Neighbours) SetForm(f Form) { b.points.form, b.queries.form = f, f }

// Bytes implements [Problem].
func (b *Neighbours) Bytes() int64 { return b.points.Bytes() + b.queries.Bytes() }

// Describe implements [Problem].
func (b *Neighbours) Describe() string {
	return fmt.Sprintf("%d points of %d coordinates in %d blocks, %d queries for %d neighbours", b.n, b.d, b.data.Blocks(), b.queries.n, b.k)
}

// Run implements [Problem]. It has two loops for the trees and one for the queries, or a task for each tree and
// one for each pair of a tree and a block of queries.
func (b *Neighbours) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) ([]loop.Stats, error) {
	arranged, err := b.prepare(ctx, rt, 1)
	if err != nil {
		return nil, err
	}
	queries, err := b.queries.prepare(ctx, rt, 0)
	if err != nil {
		return nil, err
	}
	b.have = make([]nearest, b.queries.n)
	room := make(nearest, b.queries.n*b.k)
	for i := range b.have {
		b.have[i] = room[i*b.k : i*b.k : i*b.k+b.k]
	}
	loops := make([]loop.Stats, 3)
	next := func(k int) loop.Options {
		options := opt
		options.Stats, options.Site = &loops[k], &sites[k]
		return options
	}
	if arranged.parts == nil {
		trees, err := b.plant(ctx, rt, arranged, next(0), 0, nil)
		if err != nil {
			return nil, err
		}
		return []loop.Stats{loops[0], loops[2]}, b.ask(ctx, rt, queries, trees, &loops[2])
	}
	// There are few trees, so several workers grow one: some nodes of each tree are left for a loop.
	depth := 1
	for 1<<depth < 4*len(rt.Workers()) {
		depth++
	}
	left := make([][]node, arranged.units())
	trees, err := b.plant(ctx, rt, arranged, next(0), depth, left)
	if err != nil {
		return nil, err
	}
	type part struct {
		tree *kdTree
		node
	}
	var parts []part
	for i, t := range trees {
		for _, n := range left[i] {
			parts = append(parts, part{t, n})
		}
	}
	if err := loop.For(ctx, rt, len(parts), next(1), func(c loop.Chunk) error {
		for _, p := range parts[c.Lo:c.Hi] {
			p.tree.grow(p.node, 0)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	options, numbers := next(2), queries.numbers()
	options.Parts = queries.parts.Parts()
	return loops, loop.For(ctx, rt, queries.parts.Len(), options, func(c loop.Chunk) error {
		offsets := make([]float64, b.d)
		for s := range queries.parts.Spans(c.Lo, c.Hi) {
			block := queries.data.Block(s.Block)
			for r := s.Lo; r < s.Hi; r++ {
				i := s.First + r - s.Lo
				if numbers != nil {
					i = numbers[i]
				}
				for _, t := range trees {
					t.search(block.Row(r), offsets, &b.have[i])
				}
			}
		}
		return nil
	})
}

// plant returns a tree for each unit, grown to the given depth. left has the nodes that remain to be grown.
func (b *Neighbours) plant(ctx context.Context, rt exec.Runtime, f formed, opt loop.Options, depth int, left [][]node) ([]*kdTree, error) {
	firsts, numbers := firstsOf(f.data), f.numbers()
	trees := make([]*kdTree, f.units())
	return trees, f.each(ctx, rt, opt, func(u int) error {
		n := 0
		for range f.items(u, firsts, numbers) {
			n++
		}
		t := newKDTree(n, b.d)
		for i, x := range f.items(u, firsts, numbers) {
			t.add(i, x)
		}
		nodes := t.grow(t.root(), depth)
		if left != nil {
			left[u] = nodes
		}
		trees[u] = t
		return nil
	})
}

// ask searches the neighbours of each block of queries in each tree, with one task for each pair. The tasks of
// a block run one after the other and pass on the neighbours found so far.
func (b *Neighbours) ask(ctx context.Context, rt exec.Runtime, q formed, trees []*kdTree, stats *loop.Stats) error {
	began := time.Now()
	job, firsts := rt.NewJob(ctx), firstsOf(q.data)
	lists := make([]graph.Datum, q.data.Blocks())
	for _, t := range trees {
		for block, first := range firsts {
			if err := submit(job, func() error {
				offsets := make([]float64, b.d)
				for r := range q.data.Items(block) {
					t.search(q.data.Block(block).Row(r), offsets, &b.have[first+r])
				}
				return nil
			}, graph.Operand{Datum: &lists[block], Mode: graph.InOut}); err != nil {
				break // Wait returns the error of the job
			}
		}
	}
	err := job.Wait()
	*stats = loop.Stats{Items: b.queries.n, Took: time.Since(began), Workers: []loop.WorkerStats{{Chunks: len(trees) * len(lists), Items: b.queries.n}}}
	return err
}

// exhaustive is the largest number of distances for which Verify checks all queries. With more it checks an
// evenly spread part of them.
const exhaustive = 1 << 28

// Verify implements [Problem]. The first time it computes the distances to all points.
func (b *Neighbours) Verify(first bool) error {
	if first {
		b.want = make([]nearest, b.queries.n)
		step := max(1, (b.n*b.queries.n+exhaustive-1)/exhaustive)
		for i, q := range b.queries.all() {
			b.want[i] = b.have[i]
			if i%step != 0 {
				continue
			}
			all := make(nearest, 0, b.k)
			for j, x := range b.points.all() {
				all.offer(neighbour{square(x, q), j})
			}
			b.want[i] = all
		}
	}
	for i, l := range b.have {
		for j, p := range b.want[i] {
			if len(l) != b.k || l[j] != p {
				return fmt.Errorf("query %d: the neighbours are %v, want %v", i, l, b.want[i])
			}
		}
	}
	return nil
}
