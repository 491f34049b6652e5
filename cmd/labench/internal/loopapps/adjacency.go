package loopapps

import (
	"context"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/james-bowman/sparse"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/la/csr"
)

// Graph is where the edges of an undirected graph come from.
type Graph interface {
	// Vertices and Edges return how many there are.
	Vertices() int
	Edges() int
	// Edge returns the ends of edge e, the same in each call. An edge may occur twice, which
	// counts once, or lead from a vertex to itself, which does not count.
	Edge(e int) (u, v int)
}

// Adjacency returns the adjacency matrix of a graph: ones, symmetric, the columns of a row
// ascending. It goes through the edges twice, so that it needs next to no memory beside
// that of the matrix.
func Adjacency(ctx context.Context, rt exec.Runtime, g Graph) (*csr.Matrix, error) {
	n := g.Vertices()
	a := rows{ia: make([]int, n+2)}
	// Row i's length is counted in Ia[i+2]. Its sum with those before becomes Ia[i+1], where
	// the row begins, from where that goes on to where it ends as its elements come.
	if err := each(ctx, rt, g, func(u, v int) { count(a.ia, u+2) }); err != nil {
		return nil, err
	}
	for i := 2; i < len(a.ia); i++ {
		a.ia[i] += a.ia[i-1]
	}
	a.ja = make([]int, a.ia[n+1])
	pages.Large(a.ja)
	if err := each(ctx, rt, g, func(u, v int) { a.ja[count(a.ia, u+1)] = v }); err != nil {
		return nil, err
	}
	a.ia = a.ia[:n+1]
	data, err := a.tidy(ctx, rt)
	if err != nil {
		return nil, err
	}
	return csr.New(rt, sparse.NewCSR(n, n, a.ia, a.ja, data))
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

// count adds one to an element that others may count in, and returns what it was.
func count(of []int, i int) int {
	return int(atomic.AddUintptr((*uintptr)(unsafe.Pointer(&of[i])), 1) - 1)
}

// rows is which elements there are: row i has the columns ja[ia[i]:ia[i+1]].
type rows struct{ ia, ja []int }

// tidy sorts the rows, leaves out what is there twice, and returns the elements.
func (a *rows) tidy(ctx context.Context, rt exec.Runtime) ([]float64, error) {
	length := make([]int, len(a.ia)-1)
	if err := loop.For(ctx, rt, len(length), loop.Options{}, func(c loop.Chunk) error {
		for i := c.Lo; i < c.Hi; i++ {
			row := a.ja[a.ia[i]:a.ia[i+1]]
			slices.Sort(row)
			length[i] = len(slices.Compact(row))
		}
		return nil
	}); err != nil {
		return nil, err
	}
	to := 0
	for i, n := range length {
		from := a.ia[i]
		a.ia[i] = to
		to += copy(a.ja[to:], a.ja[from:from+n])
	}
	a.ia[len(length)] = to
	a.ja = a.ja[:to]
	data := make([]float64, to)
	pages.Large(data)
	return data, loop.For(ctx, rt, to, loop.Options{}, func(c loop.Chunk) error {
		for k := c.Lo; k < c.Hi; k++ {
			data[k] = 1
		}
		return nil
	})
}
