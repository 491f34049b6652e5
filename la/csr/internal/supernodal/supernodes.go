package supernodal

import (
	"cmp"
	"slices"
)

// supernode is columns of the factor that have the same rows, or almost so.
type supernode struct {
	first   int32 // the column that is eliminated first, of the list that ends with last
	last    int32
	columns int   // their number
	rows    int   // how many rows they have together, with the columns
	entries int64 // of the factor in these columns; the rest of the trapezoid is zeros
	parent  int32
}

// zeros returns how many zeros the trapezoid of s has.
func (s *supernode) zeros() int64 { return trapezoid(s.columns, s.rows) - s.entries }

// trapezoid returns the number of elements of so many columns of a lower triangular matrix with so many rows.
func trapezoid(columns, rows int) int64 {
	c, r := int64(columns), int64(rows)
	return c*r - c*(c-1)/2
}

// childrenOf returns the children of each supernode, in ascending order.
func childrenOf(nodes []supernode) [][]int32 {
	count, all := make([]int32, len(nodes)), make([]int32, len(nodes))
	for i := range nodes {
		if p := nodes[i].parent; p >= 0 {
			count[p]++
		}
	}
	children := make([][]int32, len(nodes))
	for i, n := range count {
		children[i], all = all[:0:n], all[n:]
	}
	for i := range nodes {
		if p := nodes[i].parent; p >= 0 {
			children[p] = append(children[p], int32(i))
		}
	}
	return children
}

// amalgamate returns the supernodes of a factor: columns whose rows are the same but for their own, and beyond that
// parents with children if that brings few zeros. Column j is followed by column next[j] in its supernode. The tree of
// columns must be in postorder; that of supernodes has children before their parents.
func amalgamate(parent, counts []int32) (all []supernode, next []int32) {
	nodes := fundamental(parent, counts)
	next = make([]int32, len(parent))
	for j := range next {
		next[j] = int32(j) + 1
	}
	n := len(nodes)
	merged := make([]int32, n) // the supernode that a supernode has become a part of, or itself
	children := childrenOf(nodes)
	for i := range nodes {
		merged[i] = int32(i)
		p := &nodes[i]
		// Those with the most rows bring the fewest zeros.
		list := children[i]
		slices.SortStableFunc(list, func(x, y int32) int { return cmp.Compare(nodes[y].rows, nodes[x].rows) })
		kept := list[:0] // in place up to the first child that is merged
		own, end := p.first, int32(-1)
		for _, c := range list {
			child := &nodes[c]
			if !worthwhile(child, p) {
				kept = append(kept, c)
				continue
			}
			merged[c] = int32(i)
			if end < 0 {
				kept, p.first = slices.Clip(kept), child.first
			} else {
				next[end] = child.first
			}
			end = child.last
			kept = append(kept, children[c]...)
			p.columns += child.columns
			p.rows += child.columns
			p.entries += child.entries
		}
		if end >= 0 {
			next[end] = own
		}
		children[i] = kept
	}
	// Number those that are left.
	number := make([]int32, n)
	all = nodes[:0:0]
	for i := range nodes {
		if merged[i] == int32(i) {
			number[i] = int32(len(all))
			all = append(all, nodes[i])
		}
	}
	for i := range nodes {
		if merged[i] != int32(i) {
			continue
		}
		for _, c := range children[i] {
			all[number[c]].parent = number[i]
		}
	}
	return all, next
}

// fundamental returns the supernodes without zeros: column j+1 joins column j if it is its parent, has no other child,
// and has the same rows but for j.
func fundamental(parent, counts []int32) []supernode {
	n := len(parent)
	children := make([]int32, n)
	for _, p := range parent {
		if p >= 0 {
			children[p]++
		}
	}
	of := make([]int32, n)
	nodes := make([]supernode, 0, n)
	first := 0
	for j := range n {
		of[j] = int32(len(nodes))
		if j+1 < n && int(parent[j]) == j+1 && children[j+1] == 1 && counts[j+1] == counts[j]-1 {
			continue
		}
		s := supernode{first: int32(first), last: int32(j), columns: j + 1 - first, rows: int(counts[first]), parent: parent[j]}
		s.entries = trapezoid(s.columns, s.rows)
		nodes = append(nodes, s)
		first = j + 1
	}
	for i := range nodes {
		if p := nodes[i].parent; p >= 0 {
			nodes[i].parent = of[p]
		}
	}
	return nodes
}

// The share of zeros up to which a child is merged with its parent depends on how many columns they have together: small
// fronts cost more time for each operation than large ones. These are CHOLMOD's.
const (
	tiny, small, medium               = 4, 16, 48
	smallZeros, mediumZeros, fewZeros = 0.8, 0.1, 0.05
)

// worthwhile reports whether a child is to be merged with its parent.
func worthwhile(child, parent *supernode) bool {
	columns, rows := child.columns+parent.columns, child.columns+parent.rows
	size := trapezoid(columns, rows)
	zeros := size - child.entries - parent.entries
	if columns <= tiny || zeros == child.zeros()+parent.zeros() {
		return true
	}
	share := float64(zeros) / float64(size)
	switch {
	case columns <= small:
		return share < smallZeros
	case columns <= medium:
		return share < mediumZeros
	}
	return share < fewZeros
}
