package supernodal

import (
	"cmp"
	"slices"

	"github.com/tessera-la/tessera/la/csr/internal/order"
)

// Analysis is what follows from the pattern of a matrix and an order of elimination. It is read-only once made.
//
// Supernode s has the columns First[s] … First[s+1]−1 of the factor, and the rows Rows[RowPtr[s]:RowPtr[s+1]], in
// ascending order: first its own columns, then those below. Children come before their parent, and each subtree is
// consecutive.
type Analysis struct {
	Order    []int32 // column k of the factor is that of row Order[k] of the matrix
	Inverse  []int32
	First    []int32
	Parent   []int32 // of a supernode; −1 of a root
	Child    []int32 // the children of s are Child[ChildPtr[s]:ChildPtr[s+1]], in ascending order
	ChildPtr []int32
	RowPtr   []int
	Rows     []int32
	Panel    []int // the panel of s is elements Panel[s] … Panel[s+1]−1 of the factor

	Entries int64   // of the factor, for this order, without the zeros that supernodes have
	Flops   float64 // multiplications and additions of a factorization, the zeros of supernodes included
	Work    []float64
}

// Supernodes returns the number of supernodes.
func (a *Analysis) Supernodes() int { return len(a.Parent) }

// rows returns the rows of supernode s, and how many of them are its columns.
func (a *Analysis) rows(s int32) (rows []int32, columns int) {
	return a.Rows[a.RowPtr[s]:a.RowPtr[s+1]], int(a.First[s+1] - a.First[s])
}

// children returns the children of s in ascending order.
func (a *Analysis) children(s int32) []int32 { return a.Child[a.ChildPtr[s]:a.ChildPtr[s+1]] }

// below returns the number of rows of supernode s below its columns.
func (a *Analysis) below(s int32) int {
	return a.RowPtr[s+1] - a.RowPtr[s] - int(a.First[s+1]-a.First[s])
}

// Columns is what the columns of a factor have: the first look at an order of elimination.
type Columns struct {
	Order   []int32 // an order that gives the same factor, in which the elimination tree is in postorder
	Parent  []int32 // the elimination tree
	Counts  []int32 // entries
	Entries int64   // of all columns
	Flops   float64 // multiplications and additions of a factorization
}

// Count returns the columns of the factor for an order of elimination.
func Count(g *order.Graph, p []int32) *Columns {
	inverse, _ := order.Inverse(p)
	tree := order.Tree(g, p, inverse)
	post := order.Postorder(tree)
	at, _ := order.Inverse(post)
	c := &Columns{Order: make([]int32, len(p)), Parent: make([]int32, len(p))}
	for k, i := range post {
		c.Order[k], c.Parent[k] = p[i], -1
		if tree[i] >= 0 {
			c.Parent[k] = at[tree[i]]
		}
	}
	inverse, _ = order.Inverse(c.Order)
	c.Counts = order.Counts(g, c.Order, inverse, c.Parent)
	for _, n := range c.Counts {
		c.Entries += int64(n)
		c.Flops += float64(n) * float64(n)
	}
	return c
}

// Analyze returns the analysis for an order of elimination, of which c are the columns. The columns of the factor come in
// another order, which is equivalent: the factor has the same entries.
func Analyze(g *order.Graph, c *Columns) *Analysis {
	a := &Analysis{Entries: c.Entries}
	nodes, next := amalgamate(c.Parent, c.Counts)
	a.arrange(nodes, next, c.Order)
	a.structure(g)
	a.measure()
	return a
}

// arrange numbers supernodes and columns in a postorder of the tree of supernodes. Of the children of a supernode those
// come first whose subtrees need much more memory while they are computed than they leave behind. That minimizes the
// memory for contributions. Columns are rows of q; column j is followed by column next[j] in its supernode.
//
// Reference: J. W. H. Liu, On the storage requirement in the out-of-core multifrontal method for sparse factorization,
// ACM TOMS 12 (1986).
func (a *Analysis) arrange(nodes []supernode, next, q []int32) {
	n := len(nodes)
	children := childrenOf(nodes)
	var roots []int32
	peak, left := make([]int64, n), make([]int64, n) // of a subtree: at most, and after it
	for i := range nodes {                           // children come before their parents
		if nodes[i].parent < 0 {
			roots = append(roots, int32(i))
		}
		slices.SortStableFunc(children[i], func(x, y int32) int { return cmp.Compare(peak[y]-left[y], peak[x]-left[x]) })
		m := int64(nodes[i].rows - nodes[i].columns)
		left[i] = m * (m + 1) / 2
		var waiting int64
		for _, c := range children[i] {
			peak[i] = max(peak[i], waiting+peak[c])
			waiting += left[c]
		}
		peak[i] = max(peak[i], waiting, left[i])
	}
	a.First = make([]int32, 1, n+1)
	a.Order = make([]int32, 0, len(q))
	a.Parent = make([]int32, n)
	number := make([]int32, n)
	visit := func(i int32) {
		s := int32(len(a.First) - 1)
		number[i] = s
		for c := nodes[i].first; ; c = next[c] {
			a.Order = append(a.Order, q[c])
			if c == nodes[i].last {
				break
			}
		}
		a.First = append(a.First, int32(len(a.Order)))
		for _, c := range children[i] {
			a.Parent[number[c]] = s
		}
		a.Parent[s] = -1
	}
	done := make([]int, n) // children that were visited
	var path []int32
	for _, root := range roots {
		for path = append(path, root); len(path) > 0; {
			i := path[len(path)-1]
			if done[i] < len(children[i]) {
				path = append(path, children[i][done[i]])
				done[i]++
				continue
			}
			visit(i)
			path = path[:len(path)-1]
		}
	}
	a.Inverse, _ = order.Inverse(a.Order)
	a.ChildPtr, a.Child = make([]int32, n+1), make([]int32, n)
	for _, p := range a.Parent {
		if p >= 0 {
			a.ChildPtr[p+1]++
		}
	}
	for s := range n {
		a.ChildPtr[s+1] += a.ChildPtr[s]
	}
	at := slices.Clone(a.ChildPtr)
	for s, p := range a.Parent {
		if p >= 0 {
			a.Child[at[p]] = int32(s)
			at[p]++
		}
	}
}

// structure finds the rows of all supernodes: their columns, the entries of the matrix, and the rows of their children.
func (a *Analysis) structure(g *order.Graph) {
	n := a.Supernodes()
	a.RowPtr = make([]int, 1, n+1)
	seen := make([]int32, len(a.Order))
	for k := range seen {
		seen[k] = -1
	}
	for s := range int32(n) {
		lo, hi := a.First[s], a.First[s+1]
		add := func(k int32) {
			if k >= hi && seen[k] != s {
				seen[k] = s
				a.Rows = append(a.Rows, k)
			}
		}
		for k := lo; k < hi; k++ {
			a.Rows = append(a.Rows, k)
		}
		from := len(a.Rows)
		for k := lo; k < hi; k++ {
			for _, i := range g.Row(a.Order[k]) {
				add(a.Inverse[i])
			}
		}
		for _, c := range a.children(s) {
			rows, columns := a.rows(c)
			for _, k := range rows[columns:] {
				add(k)
			}
		}
		slices.Sort(a.Rows[from:])
		a.RowPtr = append(a.RowPtr, len(a.Rows))
	}
}

// measure computes where panels are, and the work.
func (a *Analysis) measure() {
	n := a.Supernodes()
	a.Panel = make([]int, n+1)
	a.Work = make([]float64, n)
	for s := range int32(n) {
		rows, columns := a.rows(s)
		a.Panel[s+1] = a.Panel[s] + columns*len(rows)
		for k := range columns {
			r := float64(len(rows) - k)
			a.Work[s] += r * r
		}
		a.Flops += a.Work[s]
	}
}

// Stored returns the number of elements of all panels.
func (a *Analysis) Stored() int64 { return int64(a.Panel[a.Supernodes()]) }

// maxRows returns the largest number of rows of a supernode.
func (a *Analysis) maxRows() (rows int) {
	for s := range a.Supernodes() {
		rows = max(rows, a.RowPtr[s+1]-a.RowPtr[s])
	}
	return rows
}
