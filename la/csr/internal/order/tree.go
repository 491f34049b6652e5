package order

// Tree returns the elimination tree of the matrix whose row k is row p[k] of g: parent[k] is the row of the first entry
// below the diagonal in column k of the Cholesky factor, or −1.
//
// Reference: J. W. H. Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal. Appl. 11 (1990).
func Tree(g *Graph, p, inverse []int32) (parent []int32) {
	parent, ancestor := make([]int32, len(p)), make([]int32, len(p))
	for k := range int32(len(p)) {
		parent[k], ancestor[k] = -1, -1
		for _, j := range g.Row(p[k]) {
			for i := inverse[j]; i < k; { // climb to the root, and shorten the way for later climbs
				up := ancestor[i]
				ancestor[i] = k
				if up < 0 {
					parent[i] = k
					break
				}
				i = up
			}
		}
	}
	return parent
}

// Postorder returns the nodes of a forest so that each subtree is consecutive and ends with its root. Children come in
// ascending order.
func Postorder(parent []int32) []int32 {
	n := len(parent)
	first, next := make([]int32, n), make([]int32, n)
	for i := range first {
		first[i] = -1
	}
	root := int32(-1)
	for i := int32(n) - 1; i >= 0; i-- {
		if p := parent[i]; p >= 0 {
			next[i], first[p] = first[p], i
		} else {
			next[i], root = root, i
		}
	}
	post := make([]int32, 0, n)
	for i := root; i >= 0; {
		for first[i] >= 0 {
			i, first[i] = first[i], -1
		}
		post = append(post, i)
		if next[i] >= 0 {
			i = next[i]
		} else {
			i = parent[i]
		}
	}
	return post
}

// Counts returns the number of entries in each column of the Cholesky factor, with the diagonal. The tree must be in
// postorder: each subtree is consecutive and ends with its root.
//
// An entry (i, j) of the matrix makes i a row of column j of the factor, and of all columns on the path from j to i in
// the tree. Row i of the factor is a subtree of these paths. Counts adds 1 at each leaf of such a subtree and subtracts
// 1 where two paths meet; the sums over subtrees are the counts.
//
// Reference: Gilbert, Ng and Peyton, An efficient algorithm to compute row and column counts for sparse Cholesky
// factorization, SIAM J. Matrix Anal. Appl. 15 (1994).
func Counts(g *Graph, p, inverse, parent []int32) []int32 {
	n := int32(len(p))
	count := make([]int32, n)
	first := make([]int32, n)    // the first descendant of a node
	latest := make([]int32, n)   // the last leaf so far of the subtree of a row
	reach := make([]int32, n)    // the largest first descendant of the leaves so far of a row
	ancestor := make([]int32, n) // for the least common ancestor of two leaves
	for j := range n {
		first[j], latest[j], reach[j], ancestor[j] = -1, -1, -1, j
	}
	for j := range n {
		if first[j] < 0 {
			count[j] = 1 // a leaf of the tree
		}
		for i := j; i >= 0 && first[i] < 0; i = parent[i] {
			first[i] = j
		}
	}
	for j := range n {
		if parent[j] >= 0 {
			count[parent[j]]-- // j is not an entry of its parent's column
		}
		for _, row := range g.Row(p[j]) {
			i := inverse[row]
			if i <= j || first[j] <= reach[i] {
				continue
			}
			count[j]++ // j is a leaf of the subtree of row i
			reach[i] = first[j]
			if before := latest[i]; before >= 0 {
				meet := before
				for meet != ancestor[meet] {
					meet = ancestor[meet]
				}
				for before != meet {
					before, ancestor[before] = ancestor[before], meet
				}
				count[meet]--
			}
			latest[i] = j
		}
		if parent[j] >= 0 {
			ancestor[j] = parent[j]
		}
	}
	for j := range n {
		if parent[j] >= 0 {
			count[parent[j]] += count[j]
		}
	}
	return count
}
