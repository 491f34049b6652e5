package order

// leaf is the number of rows up to which a graph is not divided.
const leaf = 200

// NestedDissection returns an order of nested dissection: the rows of a separator come last, after those of the two parts
// into which it divides the graph, each in such an order. Small parts come in an order of approximate minimum degree.
//
// Separators are found in a coarse graph, and refined in finer ones. Different parts are divided independently: each(n, do)
// calls do(0) to do(n−1) in any order, and may do so on several goroutines. The error is that of each.
//
// Reference: George, Nested dissection of a regular finite element mesh, SIAM J. Numer. Anal. 10 (1973); Karypis and
// Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci. Comput. 20 (1998).
func NestedDissection(g *Graph, each func(n int, do func(i int)) error) ([]int32, error) {
	n := g.N()
	p := make([]int32, n)
	last := n // rows with many entries come last
	var rest []int32
	for i := range int32(n) {
		if len(g.Row(i)) > manyEntries(n) {
			last--
			p[last] = i
			continue
		}
		rest = append(rest, i)
	}
	whole := portion{g, rest, p[:last]}
	if len(rest) < n {
		whole.g = g.sub(rest)
	}
	var leaves []portion
	for level := []portion{whole}; len(level) > 0; {
		parts := make([][2]portion, len(level))
		if err := each(len(level), func(k int) { parts[k] = level[k].divide() }); err != nil {
			return nil, err
		}
		var next []portion
		for k, two := range parts {
			if two[0].g == nil {
				leaves = append(leaves, level[k])
				continue
			}
			next = append(next, two[:]...)
		}
		level = next
	}
	// The leaf of a row, from 1, and its number there.
	in, number := make([]int32, n), make([]int32, n)
	for l, part := range leaves {
		for k, i := range part.rows {
			in[i], number[i] = int32(l+1), int32(k)
		}
	}
	err := each(len(leaves), func(l int) {
		part := leaves[l]
		for k, i := range amdWithHalo(g.withHalo(part.rows, in, number), len(part.rows)) {
			part.p[k] = part.rows[i]
		}
	})
	return p, err
}

// portion is the subgraph g of some rows, and the place for their order.
type portion struct {
	g       *Graph
	rows, p []int32
}

// divide divides a portion, and sets the order of the separator. The parts have no graphs if the portion is small, or if
// there is no separator.
func (d portion) divide() (two [2]portion) {
	if d.g.N() <= leaf {
		return two
	}
	var parts [3][]int32
	for i, s := range bisect(unit(d.g)) {
		parts[s] = append(parts[s], int32(i))
	}
	if len(parts[0]) == 0 || len(parts[1]) == 0 {
		return two
	}
	p := d.p
	for s := range two {
		two[s] = portion{d.g.sub(parts[s]), parts[s], p[:len(parts[s])]}
		p = p[len(parts[s]):]
	}
	for _, part := range parts {
		for k, i := range part {
			part[k] = d.rows[i]
		}
	}
	copy(p, parts[separator])
	return two
}

// sub returns the graph of some rows of g.
func (g *Graph) sub(rows []int32) *Graph {
	number := make([]int32, g.N()) // of a row in the subgraph, from 1
	entries := 0
	for k, i := range rows {
		number[i] = int32(k + 1)
		entries += len(g.Row(i))
	}
	h := &Graph{Ptr: make([]int, 1, len(rows)+1), Adj: make([]int32, 0, entries)}
	for _, i := range rows {
		for _, j := range g.Row(i) {
			if k := number[j]; k > 0 {
				h.Adj = append(h.Adj, k-1)
			}
		}
		h.Ptr = append(h.Ptr, len(h.Adj))
	}
	return h
}

// withHalo returns the graph of some rows of g, followed by their halo: the other rows that they have entries in. Entries
// between rows of the halo are left out. in tells the rows from others, and number is their number.
func (g *Graph) withHalo(rows, in, number []int32) *Graph {
	h := &Graph{Ptr: make([]int, 1, 2*len(rows)+1)}
	outside := map[int32]int32{} // the number of a row in the halo
	var halo [][]int32           // the rows of the halo
	for k, i := range rows {
		for _, j := range g.Row(i) {
			if in[j] == in[i] {
				h.Adj = append(h.Adj, number[j])
				continue
			}
			x, ok := outside[j]
			if !ok {
				x = int32(len(halo))
				outside[j] = x
				halo = append(halo, nil)
			}
			h.Adj = append(h.Adj, int32(len(rows))+x)
			halo[x] = append(halo[x], int32(k))
		}
		h.Ptr = append(h.Ptr, len(h.Adj))
	}
	for _, r := range halo {
		h.Adj = append(h.Adj, r...)
		h.Ptr = append(h.Ptr, len(h.Adj))
	}
	return h
}
