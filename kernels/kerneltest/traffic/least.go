package traffic

import (
	"container/heap"

	"github.com/tessera-la/tessera/versions"
)

// Operand is an operand of a call: a value, and what the call does with it.
type Operand struct {
	Value any
	Use   versions.Use
}

// Least returns the fewest values that have to be copied in and out if
// calls run one after the other, in this order, on an accelerator with room for
// the given number of values, whatever it keeps and gives up. All values have one
// size; at the beginning and at the end they are on the host. It panics if a call
// has more operands than there is room for.
//
// Between two uses of a value it is kept, which takes one of the places that the
// calls in between leave, or given up, which costs a copy in if the later use
// reads, and a copy out if the earlier one was not the last to write and wrote.
// Which intervals to keep is a flow of least cost through the line of calls, one
// unit for each place (Belady 1966, with weights). A value that was written and
// then read, and is given up before it is written again, is counted as if it were
// clean: so the result may be less than what is possible. It is exact where a
// value is only read after its last write, as in the tiled Cholesky.
//
// The sum counts. Of it, out is one copy for each value that is written; copies out
// that a later one makes good are counted with those in.
func Least(calls [][]Operand, places int) (in, out int) {
	type seen struct {
		call  int
		wrote bool
	}
	lastWrite := map[any]int{}
	for t, ops := range calls {
		if len(ops) > places {
			panic("traffic: a call does not fit")
		}
		for _, o := range ops {
			if o.Use&versions.Writes != 0 {
				lastWrite[o.Value] = t
			}
		}
	}
	g := newLine(len(calls))
	latest := map[any]seen{}
	dropped := int64(0)
	for t, ops := range calls {
		// Its own operands have their places, whatever that costs others.
		g.add(t, t+1, len(ops), -must)
		g.add(t, t+1, places, 0)
		for _, o := range ops {
			before, again := latest[o.Value]
			cost := int64(0)
			if o.Use&versions.Reads != 0 {
				cost = 1
				if again && before.wrote && lastWrite[o.Value] != before.call {
					cost = 2
				}
			}
			switch {
			case !again:
				in += int(cost)
			case cost > 0 && before.call < t-1:
				dropped += cost
				g.add(before.call+1, t, 1, -cost)
			}
			latest[o.Value] = seen{t, o.Use&versions.Writes != 0}
		}
		dropped += must * int64(len(ops))
	}
	return in + int(dropped+g.flow(places)), len(lastWrite)
}

// must is a cost above that of all intervals together.
const must = 1 << 30

// line is a graph of points 0 to n with arcs that lead forward.
type line struct {
	arcs [][]arc
}

type arc struct {
	to, room int
	cost     int64
	back     int // the index of its reverse among those of to
}

func newLine(n int) *line { return &line{make([][]arc, n+1)} }

func (g *line) add(from, to, room int, cost int64) {
	g.arcs[from] = append(g.arcs[from], arc{to, room, cost, len(g.arcs[to])})
	g.arcs[to] = append(g.arcs[to], arc{from, 0, -cost, len(g.arcs[from]) - 1})
}

// flow sends so many units from the first point to the last one and returns the
// least cost: one shortest path after the other (Busacker and Gowen 1960).
func (g *line) flow(units int) (cost int64) {
	const far = int64(1) << 60
	n := len(g.arcs)
	potential := make([]int64, n) // costs less their differences are not negative
	for i := 1; i < n; i++ {
		potential[i] = far
	}
	for u := range n {
		for _, a := range g.arcs[u] {
			if a.room > 0 {
				potential[a.to] = min(potential[a.to], potential[u]+a.cost)
			}
		}
	}
	distance := make([]int64, n)
	from := make([]*arc, n) // the reverse of the arc on the way here
	for range units {
		for i := 1; i < n; i++ {
			distance[i] = far
		}
		todo := &queue{{0, 0}}
		for todo.Len() > 0 {
			x := heap.Pop(todo).(point)
			if x.distance > distance[x.at] {
				continue
			}
			for _, a := range g.arcs[x.at] {
				if d := x.distance + a.cost + potential[x.at] - potential[a.to]; a.room > 0 && d < distance[a.to] {
					distance[a.to] = d
					from[a.to] = &g.arcs[a.to][a.back]
					heap.Push(todo, point{d, a.to})
				}
			}
		}
		for i, d := range distance {
			potential[i] += d
		}
		for u := n - 1; u != 0; {
			r := from[u]
			a := &g.arcs[r.to][r.back]
			a.room--
			r.room++
			cost += a.cost
			u = r.to
		}
	}
	return cost
}

// point is a point of a line, and how far it is.
type point struct {
	distance int64
	at       int
}

// queue is a heap of points, the nearest first.
type queue []point

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].distance < q[j].distance }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(point)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
