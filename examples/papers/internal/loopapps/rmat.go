package loopapps

import "math/bits"

// RMAT is a recursive random graph. Its adjacency matrix is cut into quadrants recursively; each
// edge goes to the upper left one with probability 0.57, to the upper right and the lower left
// with 0.19 each, and to the lower right with 0.05, as in Graph500. So a few vertices, mostly
// those with small numbers, have many edges.
//
// Reference: Chakrabarti, Zhan and Faloutsos, "R-MAT: a recursive model for graph mining" (2004).
type RMAT struct {
	vertices, edges, levels int
	seed                    uint64
}

// NewRMAT returns a graph with the given numbers of vertices, at least one, and edges, some of which may be
// equal.
func NewRMAT(vertices, edges int, seed uint64) *RMAT {
	return &RMAT{vertices, edges, bits.Len(uint(vertices - 1)), seed}
}

// Vertices implements [Graph].
func (g *RMAT) Vertices() int { return g.vertices }

// Edges implements [Graph].
func (g *RMAT) Edges() int { return g.edges }

// Edge implements [Graph]. An edge depends on its number and the seed only, so any edge can be
// made at any time.
func (g *RMAT) Edge(e int) (u, v int) {
	// Each level takes sixteen random bits. These are the bounds of the quadrants.
	const a, b, c = 37356, 37356 + 12452, 37356 + 2*12452
	state := g.seed*0x9e3779b97f4a7c15 + uint64(e)<<20
	for {
		u, v = 0, 0
		var random uint64
		for level := range g.levels {
			if level%4 == 0 {
				state++
				random = mix(state)
			}
			r := random & 0xffff
			random >>= 16
			// The processor cannot predict the quadrant, so avoid branches.
			down := lessThan(b-1, r)
			right := lessThan(a-1, r) - lessThan(b-1, r) + lessThan(c-1, r)
			u, v = u<<1|down, v<<1|right
		}
		if u < g.vertices && v < g.vertices {
			return u, v
		}
	}
}

// lessThan returns 1 if x < y, else 0.
func lessThan(x, y uint64) int {
	_, borrow := bits.Sub64(x, y, 0)
	return int(borrow)
}
