package loopapps

import "math"

// kdTree finds the nearest of n points of d coordinates. It halves them again and again, along
// the coordinate in which they are spread most, until few are left.
type kdTree struct {
	d      int
	x      []float64 // the points, in the order of the tree
	ids    []int     // their numbers
	splits []split   // of node i, whose halves are nodes 2i+1 and 2i+2
}

// split is how the points of a node are halved: those of the first half have a coordinate of
// at most value, the others of at least that.
type split struct {
	axis  int
	value float64
}

// leaf is the most points that are not halved.
const leaf = 16

// newKDTree returns a tree without order, for points that are added by [kdTree.add].
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

// halves returns the halves of a node that is no leaf.
func (n node) halves() (a, b node) {
	mid := (n.lo + n.hi + 1) / 2
	return node{2*n.index + 1, n.lo, mid}, node{2*n.index + 2, mid, n.hi}
}

func (n node) leaf() bool { return n.hi-n.lo <= leaf }

// grow makes the tree of a node. With depth above 0 it stops that many nodes down and returns
// those that are left to be grown, which may be done at once.
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

// halve puts the points of a node in order.
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

// selectPoint puts point k in its place among lo to hi by a coordinate, those before it that
// are not larger, and behind it those that are not smaller: Hoare's selection.
func (t *kdTree) selectPoint(lo, hi, k, axis int) {
	at := func(i int) float64 { return t.x[i*t.d+axis] }
	for lo < hi {
		// The median of three is no worst case for points in order.
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

// neighbour is a point at a distance, of which this is the square.
type neighbour struct {
	square float64
	id     int
}

// before says which of two neighbours is nearer; of those at the same distance the one with the
// smaller number is.
func (a neighbour) before(b neighbour) bool {
	return a.square < b.square || a.square == b.square && a.id < b.id
}

// nearest is the nearest points so far, in order: as many as there is room for in the end.
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

// beyond reports whether points at least so far away are none of the nearest.
func (s nearest) beyond(square float64) bool {
	return len(s) == cap(s) && square > s[len(s)-1].square
}

// search offers s what of the tree may be nearest to q. Offsets is room for d numbers, zeros, as
// which it is left.
func (t *kdTree) search(q, offsets []float64, s *nearest) {
	if len(t.ids) > 0 && cap(*s) > 0 {
		t.visit(t.root(), q, offsets, s)
	}
}

// visit is search for a node, from which q is at least the offsets away.
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
	// The sum is that of square, in the same order: roundings do not hide a point.
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
