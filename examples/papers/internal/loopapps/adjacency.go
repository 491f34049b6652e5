package loopapps

import (
	"context"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
)

// Graph is the source of the edges of an undirected graph.
type Graph interface {
	// Vertices and Edges return the numbers of vertices and edges.
	Vertices() int
	Edges() int
	// Edge returns the ends of edge e. It must return the same in each call. A repeated edge counts once; an
	// edge from a vertex to itself does not count.
	Edge(e int) (u, v int)
}

// Pattern is the positions of the ones in a square, symmetric matrix of zeros and ones: row i has ones in the
// columns ja[ia[i]:ia[i+1]], ascending. The ones themselves are not stored, and columns take 32 bits, since a
// program that traverses a graph does little but read it.
type Pattern struct {
	ia []int
	ja []int32
}

// Vertices returns the order of the matrix.
func (p *Pattern) Vertices() int { return len(p.ia) - 1 }

// Entries returns the number of ones: two for each edge.
func (p *Pattern) Entries() int { return len(p.ja) }

// Bytes returns the size of the arrays.
func (p *Pattern) Bytes() int64 { return int64(8*len(p.ia) + 4*len(p.ja)) }

// adjacency returns the adjacency matrix of a graph with fewer than 2³¹ vertices. It iterates over the edges
// twice, so that it needs hardly any memory besides the matrix.
func adjacency(ctx context.Context, rt exec.Runtime, g Graph) (*Pattern, error) {
	n := g.Vertices()
	p := &Pattern{ia: make([]int, n+2)}
	// ia[i+2] first counts the elements of row i. Prefix sums then turn ia[i+1] into the begin of row i; it
	// advances to the row's end while elements are added.
	if err := each(ctx, rt, g, func(u, v int) { count(p.ia, u+2) }); err != nil {
		return nil, err
	}
	for i := 2; i < len(p.ia); i++ {
		p.ia[i] += p.ia[i-1]
	}
	p.ja = make([]int32, p.ia[n+1])
	pages.Large(p.ja)
	if err := each(ctx, rt, g, func(u, v int) { p.ja[count(p.ia, u+1)] = int32(v) }); err != nil {
		return nil, err
	}
	p.ia = p.ia[:n+1]
	return p, p.tidy(ctx, rt)
}

// each calls do for both directions of each edge.
func each(ctx context.Context, rt exec.Runtime, g Graph, do func(u, v int)) error {
	return loop.For(ctx, rt, g.Edges(), loop.Options{}, func(c loop.Chunk) error {
		for e := c.Lo; e < c.Hi; e++ {
			if u, v := g.Edge(e); u != v {
				do(u, v)
				do(v, u)
			}
		}
		return nil
	})
}

// count atomically adds one to of[i], and returns the old value.
func count(of []int, i int) int {
	return int(atomic.AddUintptr((*uintptr)(unsafe.Pointer(&of[i])), 1) - 1)
}

// tidy sorts the rows and removes duplicates. It returns the memory behind the last row to the system.
func (p *Pattern) tidy(ctx context.Context, rt exec.Runtime) error {
	const end = -1 // marks the end of a row that became shorter
	if err := loop.For(ctx, rt, p.Vertices(), loop.Options{}, func(c loop.Chunk) error {
		for i := c.Lo; i < c.Hi; i++ {
			row := p.ja[p.ia[i]:p.ia[i+1]]
			slices.Sort(row)
			if n := len(slices.Compact(row)); n < len(row) {
				row[n] = end
			}
		}
		return nil
	}); err != nil {
		return err
	}
	to, from := 0, 0
	for i, next := range p.ia[1:] {
		row := p.ja[from:next]
		if n := slices.Index(row, end); n >= 0 {
			row = row[:n]
		}
		p.ia[i], from = to, next
		to += copy(p.ja[to:], row)
	}
	p.ia[p.Vertices()] = to
	rest := p.ja[to:]
	p.ja = p.ja[:to:to]
	clear(rest)
	pages.Renew(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rest))), 4*len(rest)))
	return nil
}
