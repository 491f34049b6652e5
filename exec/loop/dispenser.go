package loop

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Dispenser hands out the items of a loop: it has the queues, the scheme that cuts them into
// chunks, and the choice of victims. It has no goroutine and reads no clock: its caller, workers or
// a simulation of them, asks for the next chunk of a worker, and gets the same answers for the same
// order of questions.
type Dispenser struct {
	plan   Plan
	queues []queue
	takers []taker
}

// taker is a worker's state for taking chunks.
type taker struct {
	own int32
	// victims are queues that the worker has not found empty, in the order of Plan.Victim. The
	// first near ones are at the worker's location. They are listed when the worker's own queue is
	// empty.
	victims []int32
	near    int
	listed  bool
	random  rand.PCG
	_       [64]byte // its worker writes it all the time
}

// NewDispenser returns a Dispenser of items for workers at locations: NUMA nodes, numbered from 0.
// It panics with [ErrItems] if items is negative, with [ErrShape] if there are no workers, and with
// [ErrScheme] if the plan is invalid or Auto.
func NewDispenser(items int, locations []int, p Plan) *Dispenser {
	switch {
	case items < 0:
		panic(ErrItems)
	case len(locations) == 0:
		panic(ErrShape)
	case p.problems() != nil || p.automatic():
		panic(ErrScheme)
	}
	d := &Dispenser{plan: p, takers: make([]taker, len(locations))}
	d.layOut(locations)
	d.fill(items)
	return d
}

// share gives a queue its share of the items. Shares of one size have one sequence: last if it
// fits, else the returned one.
func (d *Dispenser) share(q *queue, s Shape, last *sequence) *sequence {
	if d.plan.NewPartitioner != nil {
		q.own = &ownQueue{shape: s, partitioner: d.plan.NewPartitioner(s)}
		return last
	}
	if last == nil || last.items != s.Items {
		last = d.sequence(s)
	}
	q.sequence, q.stride = last, 1
	return last
}

// layOut makes empty queues, and assigns each worker its own.
func (d *Dispenser) layOut(locations []int) {
	switch d.plan.Layout {
	case Central:
		d.queues = make([]queue, 1)
		d.queues[0].location = locations[0]
	case PerSocket:
		// Numbers of locations may have gaps.
		places := slices.Clone(locations)
		slices.Sort(places)
		places = slices.Compact(places)
		d.queues = make([]queue, len(places))
		for i, l := range places {
			d.queues[i].location = l
		}
		for w, l := range locations {
			i, _ := slices.BinarySearch(places, l)
			d.takers[w].own = int32(i)
		}
	case PerCore:
		d.queues = make([]queue, len(locations))
		for w, l := range locations {
			d.queues[w].location = l
			d.takers[w].own = int32(w)
		}
	}
}

// fill puts the items into the queues.
func (d *Dispenser) fill(items int) {
	p, n := len(d.takers), len(d.queues)
	if !d.plan.Shares || n == 1 {
		all := Shape{Items: items, Workers: p, Grain: d.plan.Grain}
		if d.plan.NewPartitioner != nil && n == 1 {
			d.queues[0].own = &ownQueue{shape: all, partitioner: d.plan.NewPartitioner(all)}
			return
		}
		seq := d.sequence(all)
		for i := range d.queues {
			q := &d.queues[i]
			q.sequence, q.first, q.stride = seq, i, n
		}
		return
	}
	workers := make([]int, n)
	for i := range d.takers {
		workers[d.takers[i].own]++
	}
	var last *sequence
	before := 0
	for i := range d.queues {
		q := &d.queues[i]
		q.base = portion(items, before, p)
		before += workers[i]
		share := Shape{Items: portion(items, before, p) - q.base, Workers: p, Grain: d.plan.Grain}
		last = d.share(q, share, last)
	}
}

// sequence returns the chunks of a queue of that shape.
func (d *Dispenser) sequence(q Shape) *sequence {
	if d.plan.NewPartitioner == nil {
		return newSequence(d.plan.Scheme, q)
	}
	own := d.plan.NewPartitioner(q)
	return tabulate(q.Items, func(_, remaining int) int { return raised(q, own.Next(remaining), remaining) })
}

// portion returns ⌊items·a/b⌋ for a ≤ b.
func portion(items, a, b int) int {
	high, low := bits.Mul64(uint64(items), uint64(a))
	q, _ := bits.Div64(high, low, uint64(b))
	return int(q)
}

// Next returns the next chunk for a worker: from its own queue, or from another one if that is
// empty. It returns false if no chunk is left: the worker need not ask again. Different workers may
// call it at once.
func (d *Dispenser) Next(worker int) (Chunk, bool) {
	t := &d.takers[worker]
	if !t.listed {
		if lo, hi, ok := d.queues[t.own].take(); ok {
			return Chunk{Lo: lo, Hi: hi, Worker: worker, Queue: int(t.own)}, true
		}
		d.list(worker)
	}
	return d.steal(worker)
}

// Queues returns the number of queues.
func (d *Dispenser) Queues() int { return len(d.queues) }

// Own returns the number of a worker's own queue.
func (d *Dispenser) Own(worker int) int { return int(d.takers[worker].own) }

// Close makes a queue hand out no more chunks. Workers may ask at the same time.
func (d *Dispenser) Close(queue int) { d.queues[queue].close() }

// list lists the victims of a worker: the queues after its own, in turn.
func (d *Dispenser) list(worker int) {
	t, n := &d.takers[worker], len(d.queues)
	t.listed = true
	if n == 1 {
		return
	}
	t.victims = make([]int32, 0, n-1)
	own := &d.queues[t.own]
	for _, near := range []bool{true, false} {
		for i := 1; i < n; i++ {
			q := (int(t.own) + i) % n
			first := d.queues[q].location == own.location || d.plan.Victim == Seq || d.plan.Victim == Rnd
			if first == near {
				t.victims = append(t.victims, int32(q))
			}
		}
		if near {
			t.near = len(t.victims)
		}
	}
	t.random = *rand.NewPCG(1, uint64(worker))
}

// steal takes a chunk of a victim. Empty queues are removed from the victims.
func (d *Dispenser) steal(worker int) (Chunk, bool) {
	t := &d.takers[worker]
	for len(t.victims) > 0 {
		i := 0
		if d.plan.Victim == Rnd || d.plan.Victim == RndPri {
			among := t.near
			if among == 0 {
				among = len(t.victims)
			}
			i = int(t.random.Uint64() % uint64(among))
		}
		q := t.victims[i]
		if lo, hi, ok := d.queues[q].take(); ok {
			return Chunk{Lo: lo, Hi: hi, Worker: worker, Queue: int(q)}, true
		}
		t.victims = slices.Delete(t.victims, i, i+1)
		t.near = max(t.near-1, 0) // the victim was a near one, if there were any
	}
	return Chunk{}, false
}
