package order

// Graph is the pattern of a symmetric n×n matrix without its diagonal: row i has entries in the columns
// Adj[Ptr[i]:Ptr[i+1]]. Each entry has its mirror image, and no entry occurs twice.
type Graph struct {
	Ptr []int
	Adj []int32
}

// N returns the order of the matrix.
func (g *Graph) N() int { return len(g.Ptr) - 1 }

// Row returns the columns of row i.
func (g *Graph) Row(i int32) []int32 { return g.Adj[g.Ptr[i]:g.Ptr[i+1]] }

// Natural returns the order 0, 1, …, n−1.
func Natural(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	return p
}

// Inverse returns the inverse of a permutation. ok is false if p is none.
func Inverse(p []int32) (inverse []int32, ok bool) {
	inverse = make([]int32, len(p))
	for i := range inverse {
		inverse[i] = -1
	}
	for k, i := range p {
		if uint(i) >= uint(len(p)) || inverse[i] >= 0 {
			return nil, false
		}
		inverse[i] = int32(k)
	}
	return inverse, true
}
