package loopapps

import "math"

// kdTree finds the nearest of n points of d coordinates. A node with more than leaf points is halved along the
// coordinate with the widest spread.
type kdTree struct {
	d      int
	x      []float64 // the points, in the order of the tree
	ids    []int     // for each point in this order: its number
	splits []split   // splits[i] is the split of node i, whose halves are nodes 2i+1 and 2i+2
}

// split describes how the points of a node are halved. The coordinate is at most value in the first half and at
// least value in the second.
type split struct {
	axis  int
	value float64
}

// leaf is the largest number of points of a node that is not halved.
const leaf = 16

// newKDTree returns an unordered tree, to which points are added with [kdTree.add].
func newKDTree(n, d int) *kdTree {
	nodes := 1
	for m := n; m > leaf; m = (m + 1) / 2 {
		nodes = 2*nodes + 1
	}
	return &kdTree{d: d, x: make([]float64, 0, n*d), ids: make([]int, 0, n), splits: make([]split, nodes/2)}
}

func (t *kdTree) add(id int, x []float64) { t.ids, t.x = append(t.ids, id), append(t.x, x...) }

func (t *kdTree) point(i int) []float64 { return t.x[i*t.d : i*t.d+t.d] }

// node is a node with its points, lo to hi−1 in the order of the tree.
type node struct{ index, lo, hi int }

// root returns the node of all points.
func (t *kdTree) root() node { return node{0, 0, len(t.ids)} }

// halves returns the two halves of a node that is no leaf.
func (n node) halves() (a, b node) {
	mid := (n.lo + n.hi + 1) / 2
	return node{2*n.index + 1, n.lo, mid}, node{2*n.index + 2, mid, n.hi}
}

func (n node) leaf() bool { return n.hi-n.lo <= leaf }

// grow makes the tree below a node. If depth is positive, it stops after that many levels and returns the nodes
// that remain to be grown; these can be grown in parallel.
func (t *kdTree) grow(n node, depth int) (left []node) {
	if n.leaf() {
		return nil
	}
	t.halve(n)
	a, b := n.halves()
	if depth == 1 {
		return []node{a, b}
	}
	return append(t.grow(a, max(0, depth-1)), t.grow(b, max(0, depth-1))...)
}

// halve orders the points of a node so that its halves are contiguous.
func (t *kdTree) halve(n node) {
	axis, spread := 0, -1.0
	for j := range t.d {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := n.lo; i < n.hi; i++ {
			v := t.x[i*t.d+j]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > spread {
			axis, spread = j, hi-lo
		}
	}
	mid := (n.lo + n.hi + 1) / 2
	t.selectPoint(n.lo, n.hi-1, mid, axis)
	t.splits[n.index] = split{axis, t.x[mid*t.d+axis]}
}

// selectPoint moves point k to its place in the order by a coordinate, among lo to hi. Points before it are not
// larger and points behind it are not smaller. This is Hoare's selection.
func (t *kdTree) selectPoint(lo, hi, k, axis int) {
	at := func(i int) float64 { return t.x[i*t.d+axis] }
	for lo < hi {
		// With the median of three, ordered points are not the worst case.
		a, b, c := at(lo), at((lo+hi)/2), at(hi)
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for at(i) < pivot {
				i++
			}
			for at(j) > pivot {
				j--
			}
			if i <= j {
				t.swap(i, j)
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

func (t *kdTree) swap(i, j int) {
	if i == j {
		return
	}
	t.ids[i], t.ids[j] = t.ids[j], t.ids[i]
	x, y := t.point(i), t.point(j)
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
}

// neighbour is a point and the square of its distance.
type neighbour struct {
	square float64
	id     int
}

// before reports whether a is nearer than b. At equal distances the smaller number is nearer.
func (a neighbour) before(b neighbour) bool {
	return a.square < b.square || a.square == b.square && a.id < b.id
}

// nearest is the nearest points so far, in order. Its final length is its capacity.
type nearest []neighbour

// offer adds a point if it is one of the nearest.
func (s *nearest) offer(p neighbour) {
	l := *s
	if len(l) < cap(l) {
		l = append(l, p)
		*s = l
	} else if !p.before(l[len(l)-1]) {
		return
	}
	i := len(l) - 1
	for ; i > 0 && p.before(l[i-1]); i-- {
		l[i] = l[i-1]
	}
	l[i] = p
}

// beyond reports whether points at that distance or farther cannot be among the nearest.
func (s nearest) beyond(square float64) bool {
	return len(s) == cap(s) && square > s[len(s)-1].square
}

// search offers s all points of the tree that may be nearest to q. offsets has room for d numbers. It must be
// zeros, and is again zeros at the end.
func (t *kdTree) search(q, offsets []float64, s *nearest) {
	if len(t.ids) > 0 && cap(*s) > 0 {
		t.visit(t.root(), q, offsets, s)
	}
}

// visit searches below a node. offsets has, for each coordinate, a lower bound of the distance between q and the
// points of the node.
func (t *kdTree) visit(n node, q, offsets []float64, s *nearest) {
	if n.leaf() {
		for i := n.lo; i < n.hi; i++ {
			s.offer(neighbour{square(t.point(i), q), t.ids[i]})
		}
		return
	}
	at := t.splits[n.index]
	near, far := n.halves()
	away := at.value - q[at.axis]
	if away < 0 {
		near, far = far, near
	}
	t.visit(near, q, offsets, s)
	// Sum in the same order as square, so that rounding cannot exclude a point.
	was := offsets[at.axis]
	offsets[at.axis] = away
	sum := 0.0
	for _, o := range offsets {
		sum += o * o
	}
	if !s.beyond(sum) {
		t.visit(far, q, offsets, s)
	}
	offsets[at.axis] = was
}

// square returns ‖x − y‖².
func square(x, y []float64) (s float64) {
	for j, v := range x {
		s += (v - y[j]) * (v - y[j])
	}
	return s
}
