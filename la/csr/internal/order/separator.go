package order

import "slices"

// side is where a row is: in one of two parts, or in the separator. No row of a part has an entry in the other part.
type side = uint8

const separator side = 2

// bisection is a graph in two parts and a separator.
type bisection struct {
	g       *weighted
	at      []side
	weight  [3]int     // of the parts and the separator
	most    int        // no part may weigh more
	touches [2][]int32 // the weight of the rows in each part that a row of the separator has entries in

	open   [2]bool  // the parts into which rows are moved
	queues [2]queue // rows of the separator by the gain of moving them into a part
	locked []bool   // rows that have moved
	log    []int32  // rows that have moved, and ^ of those that came into the separator with the next one
}

const (
	coarsest   = 100  // the graph is made coarser down to so many rows
	tries      = 8    // as many bisections of the coarsest graph are made,
	candidates = 4    // and so many of them refined
	several    = 3000 // in graphs of up to so many rows; larger ones have the best one alone
)

// bisect divides the rows of g.
func bisect(g *weighted) []side { return bisections(g)[0].at }

// bisections returns bisections of g, the best one first.
func bisections(g *weighted) (all []*bisection) {
	limit := max(g.total*3/5, 1)
	if g.N() > coarsest {
		if c, coarse := g.coarser(max(2, 3*g.total/(2*coarsest))); c.N() < g.N()-g.N()/10 {
			for _, from := range bisections(c) {
				b := newBisection(g, limit)
				for i, k := range coarse {
					b.put(int32(i), from.at[k])
				}
				b.refine()
				all = append(all, b)
			}
			return best(all, g.N())
		}
	}
	// Grow a part from several rows.
	for k := range min(tries, g.N()) {
		b := newBisection(g, limit)
		b.grow(int32(k * g.N() / tries % g.N()))
		b.refine()
		all = append(all, b)
	}
	return best(all, g.N())
}

// best returns the bisections that are worth refining in a graph of so many rows, the best one first.
func best(all []*bisection, rows int) []*bisection {
	slices.SortStableFunc(all, func(x, y *bisection) int {
		switch {
		case x.better(y.weight):
			return -1
		case y.better(x.weight):
			return 1
		}
		return 0
	})
	if rows > several {
		return all[:1]
	}
	return all[:min(candidates, len(all))]
}

// newBisection returns a bisection of g without rows.
func newBisection(g *weighted, most int) *bisection {
	n := g.N()
	return &bisection{g: g, at: make([]side, n), most: most, touches: [2][]int32{make([]int32, n), make([]int32, n)}, locked: make([]bool, n), queues: [2]queue{newQueue(n), newQueue(n)}}
}

// put puts a row that is nowhere yet.
func (b *bisection) put(i int32, to side) {
	b.at[i] = to
	b.weight[to] += int(b.g.rows[i])
}

// grow makes part 0 of the rows that are nearest to row start, up to half the weight. Its rows with entries in part 1
// become the separator.
func (b *bisection) grow(start int32) {
	n := b.g.N()
	for i := range b.at {
		b.at[i] = 1
	}
	list, next, sum := []int32{start}, int32(0), 0
	b.at[start] = 0
	for k := 0; sum < b.g.total/2; k++ {
		if k == len(list) { // the next component
			for int(next) < n && b.at[next] == 0 {
				next++
			}
			if int(next) == n {
				break
			}
			b.at[next] = 0
			list = append(list, next)
		}
		sum += int(b.g.rows[list[k]])
		for _, j := range b.g.Row(list[k]) {
			if b.at[j] == 1 {
				b.at[j] = 0
				list = append(list, j)
			}
		}
		if sum >= b.g.total/2 {
			for _, j := range list[k+1:] {
				b.at[j] = 1
			}
			list = list[:k+1]
		}
	}
	for _, i := range list {
		for _, j := range b.g.Row(i) {
			if b.at[j] == 1 {
				b.at[i] = separator
				break
			}
		}
	}
	b.weight = [3]int{}
	for i, s := range b.at {
		b.weight[s] += int(b.g.rows[i])
	}
}

// better reports whether b is better than a bisection with these weights: its parts are in the limit, or nearer to it;
// its separator is lighter; its parts differ less.
func (b *bisection) better(than [3]int) bool {
	over := func(w [3]int) int { return max(0, w[0]-b.most, w[1]-b.most) }
	if x, y := over(b.weight), over(than); x != y {
		return x < y
	}
	if b.weight[2] != than[2] {
		return b.weight[2] < than[2]
	}
	return max(b.weight[0], b.weight[1]) < max(than[0], than[1])
}

// refine makes the separator lighter, or the parts more equal, until that fails: it moves rows into either part, then
// only into one, then into the other.
func (b *bisection) refine() {
	passes := 12
	if b.g.N() > several {
		passes = 6
	}
	for p, failed := 0, 0; p < passes && failed < 3; p++ {
		before := b.weight
		b.pass(p%3 != 2, p%3 != 1)
		failed++
		if b.better(before) {
			failed = 0
		}
	}
}

// pass moves rows of the separator into one part or both, each at most once and the one with the largest gain first, and goes back
// to the best bisection that it has seen.
//
// Reference: Fiduccia and Mattheyses, A linear-time heuristic for improving network partitions, DAC 1982; for separators
// Hendrickson and Rothberg, Improving the run time and quality of nested dissection ordering, SIAM J. Sci. Comput. 20
// (1998).
func (b *bisection) pass(first, second bool) {
	b.log = b.log[:0]
	clear(b.locked)
	b.open = [2]bool{first, second}
	b.queues[0].clear()
	b.queues[1].clear()
	count := 0
	for i, s := range b.at {
		if s == separator {
			count++
			b.enter(int32(i))
		}
	}
	patience := 50 + 2*count
	best, kept := b.weight, 0
	for bad := 0; bad < patience; bad++ {
		to, i := b.choose()
		if i < 0 {
			break
		}
		b.move(i, to)
		if b.better(best) {
			best, kept, bad = b.weight, len(b.log), 0
		}
	}
	for len(b.log) > kept {
		b.undo()
	}
}

// enter takes a row of the separator into the queues.
func (b *bisection) enter(i int32) {
	t := [2]int32{}
	for _, j := range b.g.Row(i) {
		if s := b.at[j]; s < 2 {
			t[s] += b.g.rows[j]
		}
	}
	b.touches[0][i], b.touches[1][i] = t[0], t[1]
	b.push(i, 0)
	b.push(i, 1)
}

// push takes a row of the separator into a queue, or changes its gain there, unless it has moved.
func (b *bisection) push(i int32, to side) {
	if b.open[to] && !b.locked[i] {
		b.queues[to].set(b.gain(i, to), i)
	}
}

// gain returns by how much the separator gets lighter if row i of it moves to a part: the rows of the other part that it
// has entries in come into the separator.
func (b *bisection) gain(i int32, to side) int32 { return b.g.rows[i] - b.touches[1-to][i] }

// choose returns the next row to move, and where; i is −1 if there is none.
func (b *bisection) choose() (to side, i int32) {
	var gains [2]int32
	var rows [2]int32
	for s := range side(2) {
		q := &b.queues[s]
		// Rows that do not fit into the part now are left out.
		for len(q.items) > 0 && b.weight[s]+int(b.g.rows[q.items[0].row()]) > b.most {
			q.remove(q.items[0].row())
		}
		if rows[s] = -1; len(q.items) > 0 {
			gains[s], rows[s] = q.items[0].gain(), q.items[0].row()
		}
	}
	switch {
	case rows[0] < 0:
		return 1, rows[1]
	case rows[1] < 0:
		return 0, rows[0]
	case gains[0] > gains[1] || gains[0] == gains[1] && b.weight[0] <= b.weight[1]:
		return 0, rows[0]
	}
	return 1, rows[1]
}

// move moves a row of the separator to a part.
func (b *bisection) move(i int32, to side) {
	other := 1 - to
	for _, j := range b.g.Row(i) {
		if b.at[j] != other {
			continue
		}
		b.change(j, separator)
		b.log = append(b.log, ^j)
		b.enter(j)
		for _, k := range b.g.Row(j) {
			if b.at[k] == separator && k != j {
				b.touches[other][k] -= b.g.rows[j]
				b.push(k, to)
			}
		}
	}
	b.change(i, to)
	b.locked[i] = true
	b.queues[0].remove(i)
	b.queues[1].remove(i)
	b.log = append(b.log, i)
	for _, j := range b.g.Row(i) {
		if b.at[j] == separator {
			b.touches[to][j] += b.g.rows[i]
			b.push(j, other)
		}
	}
}

// change changes the side of a row.
func (b *bisection) change(i int32, to side) {
	w := int(b.g.rows[i])
	b.weight[b.at[i]] -= w
	b.weight[to] += w
	b.at[i] = to
}

// undo takes back the last move.
func (b *bisection) undo() {
	i := b.log[len(b.log)-1]
	other := 1 - b.at[i]
	b.change(i, separator)
	b.log = b.log[:len(b.log)-1]
	for len(b.log) > 0 && b.log[len(b.log)-1] < 0 {
		b.change(^b.log[len(b.log)-1], other)
		b.log = b.log[:len(b.log)-1]
	}
}

// queue is rows with gains, of which the one with the largest gain comes first; of equal ones that with the smallest
// number. It is a heap in which an item has four children: most changes of a gain move an item by a level or not at all,
// and children share a cache line.
type queue struct {
	items []item
	place []int32 // of a row in items; −1 of others
}

// item is a gain and a row in one number, the larger the earlier it comes.
type item int64

func newItem(gain, row int32) item { return item(gain)<<32 | item(^uint32(row)) }

func (x item) gain() int32 { return int32(x >> 32) }
func (x item) row() int32  { return int32(^uint32(x)) }

// fanout is the number of children of an item.
const fanout = 4

// newQueue returns a queue for rows 0 to n−1.
func newQueue(n int) queue {
	q := queue{place: make([]int32, n)}
	for i := range q.place {
		q.place[i] = -1
	}
	return q
}

func (q *queue) clear() {
	for _, x := range q.items {
		q.place[x.row()] = -1
	}
	q.items = q.items[:0]
}

// set adds a row, or changes its gain.
func (q *queue) set(gain, row int32) {
	x, k := newItem(gain, row), q.place[row]
	if k < 0 {
		q.items = append(q.items, x)
		q.up(len(q.items)-1, x)
		return
	}
	switch old := q.items[k]; {
	case x > old:
		q.up(int(k), x)
	case x < old:
		q.down(int(k), x)
	}
}

// remove removes a row if it is there.
func (q *queue) remove(row int32) {
	k := int(q.place[row])
	if k < 0 {
		return
	}
	q.place[row] = -1
	n := len(q.items) - 1
	x := q.items[n]
	q.items = q.items[:n]
	if k == n {
		return
	}
	if k > 0 && x > q.items[(k-1)/fanout] {
		q.up(k, x)
	} else {
		q.down(k, x)
	}
}

// up puts x at place k or nearer to the first.
func (q *queue) up(k int, x item) {
	for k > 0 && x > q.items[(k-1)/fanout] {
		q.put(k, q.items[(k-1)/fanout])
		k = (k - 1) / fanout
	}
	q.put(k, x)
}

// down puts x at place k or farther from the first.
func (q *queue) down(k int, x item) {
	for {
		first := fanout*k + 1
		if first >= len(q.items) {
			break
		}
		children := q.items[first:min(first+fanout, len(q.items))]
		c, most := 0, children[0]
		for i, y := range children[1:] {
			if y > most {
				c, most = i+1, y
			}
		}
		if x > most {
			break
		}
		q.put(k, most)
		k = first + c
	}
	q.put(k, x)
}

func (q *queue) put(k int, x item) {
	q.items[k] = x
	q.place[x.row()] = int32(k)
}
