package order

import "math"

// AMD returns an order of approximate minimum degree. Each step eliminates a row whose number of entries, or rather an
// upper bound of that number, is the smallest. Rows with many entries come last from the beginning.
//
// The matrix that is left after some steps is kept as a quotient graph. A variable is a row that is not eliminated yet;
// it may stand for several rows with the same pattern, and then has their number as its size. An element is a row that
// has been eliminated; it stands for the entries among its variables that its elimination has filled in. Lists of a
// variable hold its elements, and then the variables with which it has an entry that no element covers:
//
//	list of variable i   e₁ e₂ … │ j₁ j₂ …
//	list of element e    i₁ i₂ i₃ …
//
// An element whose variables all are in a later one is absorbed by that.
//
// Reference: Amestoy, Davis and Duff, An approximate minimum degree ordering algorithm, SIAM J. Matrix Anal. Appl. 17
// (1996), with the aggressive absorption of their Algorithm 837, ACM TOMS 30 (2004).
func AMD(g *Graph) []int32 { return amdWithHalo(g, g.N()) }

// amdWithHalo returns such an order of the first rows of g, which are eliminated. The others, their halo, stay; degrees
// count them.
//
// Reference: Pellegrini, Roman and Amestoy, Hybridizing nested dissection and halo approximate minimum degree for
// efficient sparse matrix ordering, Concurrency: Practice and Experience 12 (2000).
func amdWithHalo(g *Graph, rows int) []int32 {
	a := newAMD(g, rows)
	for a.left > g.N()-rows {
		a.eliminate(a.minimum())
	}
	return a.order()
}

// amd is an elimination under way. A node is a variable or an element: the number of its row.
type amd struct {
	start    []int   // of the list of a node in lists
	length   []int32 // of that list
	elements []int32 // the number of elements in the list of a variable; −1 of an element, or of a variable that is gone
	lists    []int32
	free     int // the first place of lists that is not in use

	// size is how many rows a variable stands for: 0 if it is gone, and negative while it is in the element that is being
	// made. Of an element it is the number of rows eliminated with it.
	size   []int32
	degree []int32 // of a variable, a bound of the number of its entries; of an element, the sum of its variables' sizes
	into   []int32 // the variable or element that a node has become a part of, or −1

	// mark[e] is 0 for an element that is gone. In a step mark[e]−flag is how many rows e has beyond the new element, if
	// mark[e] ≥ flag. While variables are compared mark[i] = flag says that i is in the first list.
	mark []int
	flag int

	// Variables of equal degree are in a list each.
	head, next, prev []int32
	least            int32 // no list before this one has a variable

	bucket, chain []int32 // variables of equal hash are in a list each: the first of each list, and the next
	hash          []int32

	pivots []int32 // the elements, in the order of elimination
	dense  []int32 // the rows with many entries
	left   int     // how many rows are not eliminated yet
	halo   int32   // the first row of the halo
}

// newAMD returns the graph before the first step.
func newAMD(g *Graph, rows int) *amd {
	n := g.N()
	a := &amd{
		start: make([]int, n), length: make([]int32, n), elements: make([]int32, n),
		lists: make([]int32, len(g.Adj)+len(g.Adj)/5+n), free: len(g.Adj),
		size: make([]int32, n), degree: make([]int32, n), into: make([]int32, n), mark: make([]int, n), flag: 2,
		head: make([]int32, n), next: make([]int32, n), prev: make([]int32, n),
		bucket: make([]int32, n), chain: make([]int32, n), hash: make([]int32, n), left: n, halo: int32(rows),
	}
	copy(a.lists, g.Adj)
	copy(a.start, g.Ptr)
	many := int32(manyEntries(n))
	for i := range n {
		a.head[i], a.bucket[i], a.into[i] = -1, -1, -1
		a.mark[i], a.size[i] = 1, 1
		a.length[i] = int32(g.Ptr[i+1] - g.Ptr[i])
	}
	for i := range int32(n) {
		if a.length[i] > many && i < a.halo {
			a.size[i], a.elements[i] = 0, -1
			a.dense = append(a.dense, i)
			a.left--
			continue
		}
		a.degree[i] = a.length[i]
		a.insert(i)
	}
	return a
}

// manyEntries returns the number of entries beyond which a row of a matrix of order n comes last from the beginning.
func manyEntries(n int) int { return int(max(16, min(10*math.Sqrt(float64(n)), float64(n)))) }

// insert puts a variable into the list of its degree, unless it is in the halo.
func (a *amd) insert(i int32) {
	if i >= a.halo {
		return
	}
	d := a.degree[i]
	first := a.head[d]
	a.next[i], a.prev[i] = first, -1
	if first >= 0 {
		a.prev[first] = i
	}
	a.head[d] = i
	a.least = min(a.least, d)
}

// remove takes a variable from the list of its degree.
func (a *amd) remove(i int32) {
	if i >= a.halo {
		return
	}
	next, prev := a.next[i], a.prev[i]
	if next >= 0 {
		a.prev[next] = prev
	}
	if prev >= 0 {
		a.next[prev] = next
	} else {
		a.head[a.degree[i]] = next
	}
}

// minimum removes a variable of the least degree from its list.
func (a *amd) minimum() int32 {
	for a.head[a.least] < 0 {
		a.least++
	}
	i := a.head[a.least]
	a.remove(i)
	return i
}

// eliminate makes variable e an element.
func (a *amd) eliminate(e int32) {
	rows := a.size[e]
	a.left -= int(rows)
	a.pivots = append(a.pivots, e)
	a.size[e] = -rows // e is not a variable of its own element
	a.makeElement(e)
	a.beyond(e)
	rows += a.update(e)
	a.flag += len(a.mark) + 1 // more than any mark
	a.compare(e)
	a.restore(e)
	a.size[e] = rows
}

// makeElement makes the list of element e: the variables in the list of variable e and in its elements, which e absorbs.
// It takes these variables from the lists of degrees, and marks them by negative sizes.
func (a *amd) makeElement(e int32) {
	old := a.elements[e] // how many elements e absorbs
	if old > 0 && a.free+int(a.degree[e]) > len(a.lists) {
		a.compact()
	}
	from := a.start[e]
	to := from // without elements the new list takes the place of the old one
	if old > 0 {
		to = a.free
	}
	first, degree := to, int32(0)
	add := func(list []int32) {
		for _, i := range list {
			if size := a.size[i]; size > 0 {
				degree += size
				a.size[i] = -size
				a.remove(i)
				a.lists[to] = i
				to++
			}
		}
	}
	list := a.lists[from : from+int(a.length[e])]
	for _, f := range list[:old] {
		add(a.lists[a.start[f] : a.start[f]+int(a.length[f])])
		a.into[f], a.mark[f] = e, 0
	}
	add(list[old:])
	a.start[e], a.length[e], a.elements[e], a.degree[e] = first, int32(to-first), -1, degree
	a.free = max(a.free, to)
}

// compact moves the lists that are in use to the front of the memory.
func (a *amd) compact() {
	// The first place of each list gets the number of its node, and the node what was in the place.
	for i := range a.start {
		if a.live(i) {
			at := a.start[i]
			a.start[i] = int(a.lists[at])
			a.lists[at] = ^int32(i)
		}
	}
	to := 0
	for from := 0; from < a.free; {
		i := ^a.lists[from]
		if i < 0 {
			from++
			continue
		}
		n := int(a.length[i])
		a.lists[from] = int32(a.start[i])
		copy(a.lists[to:], a.lists[from:from+n])
		a.start[i] = to
		to += n
		from += n
	}
	a.free = to
}

// live reports whether a node has a list that is still read.
func (a *amd) live(i int) bool {
	if a.length[i] == 0 {
		return false
	}
	if a.elements[i] >= 0 {
		return a.size[i] != 0
	}
	return a.size[i] != 0 && a.mark[i] != 0
}

// beyond computes, for each element that shares a variable with e, how many rows it has that e has not.
func (a *amd) beyond(e int32) {
	mark, flag := a.mark, a.flag
	for _, i := range a.lists[a.start[e] : a.start[e]+int(a.length[e])] {
		n := a.elements[i]
		if n == 0 {
			continue
		}
		size := -int(a.size[i])
		at := a.start[i]
		for _, f := range a.lists[at : at+int(n)] {
			if m := mark[f]; m >= flag {
				mark[f] = m - size
			} else if m != 0 {
				mark[f] = flag + int(a.degree[f]) - size
			}
		}
	}
}

// update gives the variables of e their new lists, in which e stands for all elements that it has absorbed, and the part
// of their degrees that is outside e. e absorbs elements that have no rows beyond it, too. Variables that are in e only
// are eliminated with e; update returns the number of their rows.
func (a *amd) update(e int32) (rows int32) {
	mark, flag, lists := a.mark, a.flag, a.lists
	for _, i := range lists[a.start[e] : a.start[e]+int(a.length[e])] {
		first := a.start[i]
		to := first
		degree, hash := 0, uint32(0)
		at := first + int(a.elements[i])
		end := first + int(a.length[i])
		for _, f := range lists[first:at] {
			switch beyond := mark[f] - flag; {
			case mark[f] == 0:
			case beyond > 0:
				degree += beyond
				hash += uint32(f)
				lists[to] = f
				to++
			default:
				a.into[f], mark[f] = e, 0
			}
		}
		variables := to
		for _, j := range lists[at:end] {
			if size := a.size[j]; size > 0 {
				degree += int(size)
				hash += uint32(j)
				lists[to] = j
				to++
			}
		}
		if to == first && i < a.halo {
			n := -a.size[i]
			rows += n
			a.degree[e] -= n
			a.left -= int(n)
			a.into[i], a.size[i], a.elements[i] = e, 0, -1
			continue
		}
		a.degree[i] = min(a.degree[i], int32(min(degree, math.MaxInt32)))
		// The list has room for e: it held e, or an element that is gone now.
		lists[to] = lists[variables]
		lists[variables] = lists[first]
		lists[first] = e
		a.elements[i], a.length[i] = int32(variables-first+1), int32(to-first+1)
		h := int32(hash % uint32(len(a.bucket)))
		a.hash[i], a.chain[i] = h, a.bucket[h]
		a.bucket[h] = i
	}
	return rows
}

// compare finds variables of e that have the same lists, and makes them one variable.
func (a *amd) compare(e int32) {
	for _, i := range a.lists[a.start[e] : a.start[e]+int(a.length[e])] {
		if a.size[i] == 0 {
			continue
		}
		h := a.hash[i]
		j := a.bucket[h]
		a.bucket[h] = -1
		for ; j >= 0 && a.chain[j] >= 0; j = a.chain[j] {
			for _, x := range a.lists[a.start[j]+1 : a.start[j]+int(a.length[j])] { // the first one is e
				a.mark[x] = a.flag
			}
			before := j
			for k := a.chain[j]; k >= 0; k = a.chain[k] {
				if !a.same(j, k) {
					before = k
					continue
				}
				a.size[j] += a.size[k]
				a.into[k], a.size[k], a.elements[k] = j, 0, -1
				a.chain[before] = a.chain[k]
			}
			a.flag++
		}
	}
}

// same reports whether the lists of variables j and k are equal but for their order. Those in the list of j are marked.
func (a *amd) same(j, k int32) bool {
	if a.length[j] != a.length[k] || a.elements[j] != a.elements[k] || (j < a.halo) != (k < a.halo) {
		return false
	}
	for _, x := range a.lists[a.start[k]+1 : a.start[k]+int(a.length[k])] {
		if a.mark[x] != a.flag {
			return false
		}
	}
	return true
}

// restore completes the degrees of the variables of e and puts them into the lists of degrees. It takes those that are
// gone from the list of e.
func (a *amd) restore(e int32) {
	first := a.start[e]
	to := first
	for _, i := range a.lists[first : first+int(a.length[e])] {
		size := -a.size[i]
		if size == 0 {
			continue
		}
		a.size[i] = size
		a.degree[i] = int32(min(int(a.degree[i])+int(a.degree[e]-size), a.left-int(size)))
		a.insert(i)
		a.lists[to] = i
		to++
	}
	if a.free == first+int(a.length[e]) {
		a.free = to
	}
	a.length[e] = int32(to - first)
	if to == first {
		a.mark[e] = 0
	}
}

// order returns the rows in the order of their elimination.
func (a *amd) order() []int32 {
	n := len(a.start)
	// The rows that are eliminated with each element are a list.
	first, next := a.head, a.next
	for i := range first {
		first[i] = -1
	}
	pivot := make([]bool, n)
	for _, e := range a.pivots {
		pivot[e] = true
	}
	for i := int(a.halo) - 1; i >= 0; i-- {
		if pivot[i] || a.into[i] < 0 {
			continue
		}
		e := a.into[i]
		for !pivot[e] {
			e = a.into[e]
		}
		for j := int32(i); j != e && !pivot[j]; { // all on the way lead to e
			j, a.into[j] = a.into[j], e
		}
		next[i], first[e] = first[e], int32(i)
	}
	p := make([]int32, 0, n)
	for _, e := range a.pivots {
		p = append(p, e)
		for i := first[e]; i >= 0; i = next[i] {
			p = append(p, i)
		}
	}
	return append(p, a.dense...)
}
