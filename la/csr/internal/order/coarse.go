package order

// weighted is a graph with weights of its rows and edges: a row of a coarse graph stands for several rows, and an edge
// for several edges.
type weighted struct {
	*Graph
	rows  []int32 // weights of the rows
	edges []int32 // weights of the elements of Adj
	total int     // weight of all rows
}

// unit returns g with all weights 1.
func unit(g *Graph) *weighted {
	w := &weighted{g, make([]int32, g.N()), make([]int32, len(g.Adj)), g.N()}
	for i := range w.rows {
		w.rows[i] = 1
	}
	for e := range w.edges {
		w.edges[e] = 1
	}
	return w
}

// coarser returns a graph in which most rows stand for two rows of g that have a heavy edge, and the coarse row of each
// row. No coarse row weighs more than most, unless a row of g does.
//
// Reference: heavy-edge matching, Karypis and Kumar, A fast and high quality multilevel scheme for partitioning irregular
// graphs, SIAM J. Sci. Comput. 20 (1998).
func (g *weighted) coarser(most int) (c *weighted, coarse []int32) {
	n := g.N()
	mate, coarse := make([]int32, n), make([]int32, n)
	for i := range coarse {
		coarse[i] = -1
	}
	rows := int32(0)
	for i := range int32(n) {
		if coarse[i] >= 0 {
			continue
		}
		best, weight := i, int32(0)
		for e := g.Ptr[i]; e < g.Ptr[i+1]; e++ {
			j := g.Adj[e]
			if coarse[j] < 0 && g.edges[e] > weight && int(g.rows[i])+int(g.rows[j]) <= most {
				best, weight = j, g.edges[e]
			}
		}
		mate[i], coarse[i], coarse[best] = best, rows, rows
		rows++
	}
	c = &weighted{&Graph{Ptr: make([]int, 1, rows+1), Adj: make([]int32, 0, len(g.Adj)/2)}, make([]int32, rows), make([]int32, 0, len(g.Adj)/2), g.total}
	at := make([]int, rows) // where an edge to a coarse row is, plus 1; only those of the present row count
	for i := range int32(n) {
		k := coarse[i]
		if int(k) != len(c.Ptr)-1 {
			continue // its mate came before
		}
		first := len(c.Adj)
		add := func(i int32) {
			c.rows[k] += g.rows[i]
			for e := g.Ptr[i]; e < g.Ptr[i+1]; e++ {
				j := coarse[g.Adj[e]]
				switch {
				case j == k:
				case at[j] > first:
					c.edges[at[j]-1] += g.edges[e]
				default:
					c.Adj, c.edges = append(c.Adj, j), append(c.edges, g.edges[e])
					at[j] = len(c.Adj)
				}
			}
		}
		add(i)
		if mate[i] != i {
			add(mate[i])
		}
		c.Ptr = append(c.Ptr, len(c.Adj))
	}
	return c, coarse
}
