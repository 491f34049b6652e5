package loopapps

import (
	"context"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// CSR is a square sparse matrix in compressed rows: row i has the elements Data[k] in the
// columns Ja[k] for k from Ia[i] to below Ia[i+1].
type CSR struct {
	Ia, Ja []int
	Data   []float64
}

// Rows returns the order of the matrix.
func (a *CSR) Rows() int { return len(a.Ia) - 1 }

// Entries returns the number of elements.
func (a *CSR) Entries() int { return len(a.Ja) }

// Bytes returns the size of the arrays.
func (a *CSR) Bytes() int64 { return int64(8 * (len(a.Ia) + len(a.Ja) + len(a.Data))) }

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
func Adjacency(ctx context.Context, rt exec.Runtime, g Graph) (*CSR, error) {
	n := g.Vertices()
	a := &CSR{Ia: make([]int, n+2)}
	// Row i's length is counted in Ia[i+2]. Its sum with those before becomes Ia[i+1], where
	// the row begins, from where that goes on to where it ends as its elements come.
	if err := each(ctx, rt, g, func(u, v int) { count(a.Ia, u+2) }); err != nil {
		return nil, err
	}
	for i := 2; i < len(a.Ia); i++ {
		a.Ia[i] += a.Ia[i-1]
	}
	a.Ja = make([]int, a.Ia[n+1])
	if err := each(ctx, rt, g, func(u, v int) { a.Ja[count(a.Ia, u+1)] = v }); err != nil {
		return nil, err
	}
	a.Ia = a.Ia[:n+1]
	return a, a.tidy(ctx, rt)
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

// tidy sorts the rows, leaves out what is there twice, and makes the elements.
func (a *CSR) tidy(ctx context.Context, rt exec.Runtime) error {
	length := make([]int, a.Rows())
	if err := loop.For(ctx, rt, a.Rows(), loop.Options{}, func(c loop.Chunk) error {
		for i := c.Lo; i < c.Hi; i++ {
			row := a.Ja[a.Ia[i]:a.Ia[i+1]]
			slices.Sort(row)
			length[i] = len(slices.Compact(row))
		}
		return nil
	}); err != nil {
		return err
	}
	to := 0
	for i, n := range length {
		from := a.Ia[i]
		a.Ia[i] = to
		to += copy(a.Ja[to:], a.Ja[from:from+n])
	}
	a.Ia[a.Rows()] = to
	a.Ja = a.Ja[:to]
	a.Data = make([]float64, to)
	return loop.For(ctx, rt, to, loop.Options{}, func(c loop.Chunk) error {
		for k := c.Lo; k < c.Hi; k++ {
			a.Data[k] = 1
		}
		return nil
	})
}
