package loopapps

import (
	"context"
	"fmt"
	"hash/maphash"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
)

// Components computes the connected components of a graph with adjacency matrix G, n×n and symmetric. Each
// vertex starts with its own number, from 1, as its label c, and
//
//	u = max(rowmax(G∘cᵀ), c)
//
// is repeated until nothing changes or maxRounds have passed. Then connected vertices have the largest number
// among them as their label. As G's elements are ones, G∘cᵀ has elements of c where G has elements.
type Components struct {
	g    *Pattern
	c, u []uint32
	seed maphash.Seed
	want uint64 // hash of the expected labels
}

// maxRounds is the largest number of rounds of Components.
const maxRounds = 100

// newComponents prepares the computation of the components of a graph.
func newComponents(g *Pattern) *Components {
	n := g.Vertices()
	x := &Components{g: g, c: make([]uint32, n), u: make([]uint32, n), seed: maphash.MakeSeed()}
	pages.Large(x.c) // its elements are read in arbitrary order
	pages.Large(x.u)
	return x
}

// Bytes implements [Problem]: the matrix and the labels.
func (x *Components) Bytes() int64 { return x.g.Bytes() + int64(4*(len(x.c)+len(x.u))) }

// Run implements [Problem]. Each round is a loop over the rows.
func (x *Components) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) (rounds []loop.Stats, err error) {
	for i := range x.c {
		x.c[i] = uint32(i + 1)
	}
	sum := loop.Reduction[int]{New: func() int { return 0 }, Add: func(sum, part *int) { *sum += *part }}
	for len(rounds) < maxRounds {
		var s loop.Stats
		opt.Stats, opt.Site = &s, &sites[0]
		changed, err := loop.Reduce(ctx, rt, len(x.c), opt, sum, func(c loop.Chunk, changed *int) error {
			*changed += rowMax(x.g, x.c, x.u, c.Lo, c.Hi)
			return nil
		})
		if err != nil {
			return rounds, err
		}
		x.c, x.u = x.u, x.c
		if rounds = append(rounds, s); changed == 0 {
			break
		}
	}
	return rounds, nil
}

// Verify implements [Problem]. The first time it uses union-find. Later results must have the same hash. A
// second vector of labels would be memory that papers loop does not report.
func (x *Components) Verify(first bool) error {
	hash := maphash.Bytes(x.seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x.c))), 4*len(x.c)))
	if !first && hash == x.want {
		return nil
	}
	x.unite()
	for i, l := range x.c {
		if l != x.u[i]+1 {
			return fmt.Errorf("vertex %d has the label %v; union-find says %d", i+1, l, x.u[i]+1)
		}
	}
	x.want = hash
	return nil
}

// unite sets u for each vertex to the largest vertex that is connected with it.
func (x *Components) unite() {
	parent := x.u
	for i := range parent {
		parent[i] = uint32(i)
	}
	find := func(i uint32) uint32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	// The root of a set is its largest vertex.
	for i := range parent {
		for _, j := range x.g.ja[x.g.ia[i]:x.g.ia[i+1]] {
			a, b := find(uint32(i)), find(uint32(j))
			parent[min(a, b)] = max(a, b)
		}
	}
	for i := range parent {
		parent[i] = find(uint32(i))
	}
}

// Describe implements [Problem].
func (x *Components) Describe() string {
	return fmt.Sprintf("R-MAT graph, %d vertices, matrix with %d elements", len(x.c), x.g.Entries())
}
