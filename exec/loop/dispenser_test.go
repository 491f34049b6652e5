package loop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// plans returns every plan of a scheme.
func plans(s Scheme, grain int) (all []Plan) {
	for _, l := range Layouts() {
		for _, shares := range []bool{false, true} {
			for _, v := range Victims() {
				all = append(all, Plan{Scheme: s, Layout: l, Shares: shares, Victim: v, Grain: grain})
			}
		}
	}
	return all
}

// ledger checks what a dispenser hands out: each item once, at least a grain at a time but at
// the end of a queue or where two meet, and stolen only from others.
type ledger struct {
	items []int // the worker that has each, plus 1
	empty []bool
	left  int
}

func newLedger(n, queues int) *ledger {
	return &ledger{items: make([]int, n), empty: make([]bool, queues), left: n}
}

func (l *ledger) note(d *Dispenser, c Chunk) error {
	if c.Lo < 0 || c.Lo >= c.Hi || c.Hi > len(l.items) {
		return fmt.Errorf("chunk %+v of %d items", c, len(l.items))
	}
	for i := c.Lo; i < c.Hi; i++ {
		if l.items[i] != 0 {
			return fmt.Errorf("item %d twice: to worker %d and in %+v", i, l.items[i]-1, c)
		}
		l.items[i] = c.Worker + 1
	}
	l.left -= c.Hi - c.Lo
	own := d.Own(c.Worker)
	if c.Queue != own && !l.empty[own] {
		// The worker has found it empty: no later chunk may come of it.
		l.empty[own] = true
	}
	if l.empty[c.Queue] {
		return fmt.Errorf("%+v comes from a queue that was empty before", c)
	}
	return nil
}

// drain asks for the workers in the order that pick says until none gets anything.
func drain(d *Dispenser, n, workers int, pick func(n int) int) (steps int, err error) {
	l := newLedger(n, d.Queues())
	for asking := make([]int, workers); ; steps++ {
		if steps == 0 {
			for w := range asking {
				asking[w] = w
			}
		}
		if len(asking) == 0 {
			break
		}
		i := pick(len(asking))
		w := asking[i]
		c, ok := d.Next(w)
		if !ok {
			asking = slices.Delete(asking, i, i+1)
			if _, again := d.Next(w); again {
				return steps, fmt.Errorf("worker %d got nothing and then something", w)
			}
			continue
		}
		if c.Worker != w {
			return steps, fmt.Errorf("worker %d got %+v", w, c)
		}
		if err := l.note(d, c); err != nil {
			return steps, err
		}
	}
	if l.left != 0 {
		return steps, fmt.Errorf("%d items are left", l.left)
	}
	return steps, nil
}

// TestDispenser: all plans hand out each item once, whichever worker asks when.
func TestDispenser(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, s := range Schemes() {
		for _, n := range []int{0, 1, 5, 97, 1000} {
			for _, locations := range [][]int{{0}, {0, 0}, {0, 1, 0, 1}, {7, 3, 3, 3, 7}, times(20, 2)} {
				for _, p := range plans(s, rnd.IntN(4)) {
					orders := map[string]func(int) int{
						"first": func(int) int { return 0 }, "last": func(n int) int { return n - 1 }, "random": rnd.IntN,
					}
					for name, pick := range orders {
						if _, err := drain(NewDispenser(n, locations, p), n, len(locations), pick); err != nil {
							t.Fatalf("%v, %d items, workers at %v, %s first: %v", p, n, locations, name, err)
						}
					}
				}
			}
		}
	}
}

// FuzzDispenser is TestDispenser for all numbers: each byte of order says who asks next.
func FuzzDispenser(f *testing.F) {
	f.Add(uint8(GSS), uint8(PerCore), uint8(Rnd), true, uint16(1000), uint8(4), uint8(2), uint16(1), []byte{0, 1, 2, 3})
	f.Add(uint8(MFSC), uint8(PerSocket), uint8(SeqPri), false, uint16(4), uint8(4), uint8(3), uint16(0), []byte{})
	f.Fuzz(func(t *testing.T, scheme, layout, victim uint8, shares bool, n uint16, workers, sockets uint8, grain uint16, order []byte) {
		p := Plan{
			Scheme: Schemes()[int(scheme)%len(Schemes())], Layout: Layouts()[int(layout)%len(layouts)], Shares: shares,
			Victim: Victims()[int(victim)%len(victims)], Grain: int(grain),
		}
		locations := make([]int, int(workers)+1)
		for w := range locations {
			locations[w] = w * 31 % (int(sockets) + 1)
		}
		at := 0
		steps, err := drain(NewDispenser(int(n), locations, p), int(n), len(locations), func(asking int) int {
			if at++; at <= len(order) {
				return int(order[at-1]) % asking
			}
			return at % asking
		})
		if err != nil || steps > int(n)+len(locations) {
			t.Fatalf("%v, %d items, %d workers: %v after %d steps", p, n, len(locations), err, steps)
		}
	})
}

// TestAtOnce: each item once also where all workers ask at once.
func TestAtOnce(t *testing.T) {
	const n, workers = 20000, 4
	for _, s := range []Scheme{SS, Static, GSS, FAC2} {
		for _, p := range append(plans(s, 1), Plan{NewPartitioner: ownFixed(3)}, Plan{Layout: PerCore, Shares: true, NewPartitioner: ownFixed(3)}) {
			d := NewDispenser(n, []int{0, 0, 1, 1}, p)
			took := make([][]Chunk, workers)
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for c, ok := d.Next(w); ok; c, ok = d.Next(w) {
						took[w] = append(took[w], c)
					}
				})
			}
			all.Wait()
			chunks := slices.Concat(took...)
			slices.SortFunc(chunks, func(a, b Chunk) int { return a.Lo - b.Lo })
			at := 0
			for _, c := range chunks {
				if c.Lo != at {
					t.Fatalf("%v: %+v begins at %d, want %d", p, c, c.Lo, at)
				}
				at = c.Hi
			}
			if at != n {
				t.Fatalf("%v: %d items of %d", p, at, n)
			}
		}
	}
}

// fixed is a scheme of the program's own: chunks of so many items.
type fixed int

func (f fixed) Next(int) int { return int(f) }

func ownFixed(n int) func(Shape) Partitioner { return func(Shape) Partitioner { return fixed(n) } }

// TestVictims: who has nothing takes from whom its plan says, chunks as the scheme cuts
// them there.
func TestVictims(t *testing.T) {
	locations := []int{0, 1, 0, 1, 0, 1}
	for victim, want := range map[Victim][]int{
		Seq:    {3, 4, 5, 0, 1},
		SeqPri: {4, 0, 3, 5, 1},
	} {
		d := NewDispenser(600, locations, Plan{Scheme: Static, Layout: PerCore, Victim: victim, Shares: true})
		var from []int
		for c, ok := d.Next(2); ok; c, ok = d.Next(2) {
			if n := c.Hi - c.Lo; n < 16 || n > 17 { // a share of 100 items, cut for 6 workers
				t.Errorf("%v: %+v", victim, c)
			}
			if c.Queue != 2 && !slices.Contains(from, c.Queue) {
				from = append(from, c.Queue)
			}
		}
		if !slices.Equal(from, want) {
			t.Errorf("%v: %v, want %v", victim, from, want)
		}
	}
	// At random all come, those near first under RNDPRI, and two workers differ.
	for _, victim := range []Victim{Rnd, RndPri} {
		d := NewDispenser(60000, locations, Plan{Scheme: SS, Layout: PerCore, Victim: victim, Shares: true, Grain: 10})
		seen, near := make([]int, 6), 0
		for i := 0; i < 3000; i++ {
			c, _ := d.Next(0)
			seen[c.Queue]++
			if locations[c.Queue] == 0 {
				near = max(near, i)
			}
		}
		switch { // of 1000 chunks each, 0's own first
		case victim == RndPri && !slices.Equal(seen, []int{1000, 0, seen[2], 0, seen[4], 0}):
			t.Errorf("%v: %v", victim, seen)
		case victim == RndPri && (seen[2] < 900 || seen[4] < 900):
			t.Errorf("%v: %v", victim, seen)
		case victim == Rnd && slices.Min(seen) < 300:
			t.Errorf("%v: %v", victim, seen)
		}
	}
}

// TestShares: shares are contiguous, and as large as a queue's part of the workers; dealt
// chunks go round.
func TestShares(t *testing.T) {
	d := NewDispenser(1000, []int{0, 0, 0, 1}, Plan{Scheme: SS, Layout: PerSocket, Shares: true})
	if c, _ := d.Next(3); c != (Chunk{Lo: 750, Hi: 751, Worker: 3, Queue: 1}) {
		t.Error(c)
	}
	d = NewDispenser(1000, []int{0, 0, 0, 1}, Plan{Scheme: Static, Layout: PerCore})
	for w := range 4 {
		if c, _ := d.Next(w); c != (Chunk{Lo: 250 * w, Hi: 250*w + 250, Worker: w, Queue: w}) {
			t.Error(c)
		}
	}
}

// countdown is a scheme that changes its mind.
type countdown struct{ shape Shape }

func (c *countdown) Next(remaining int) int {
	c.shape.Items--
	return remaining / 2
}

// TestOwnScheme: a scheme of the program's own is asked for each queue, or for all; what it
// says is raised and capped.
func TestOwnScheme(t *testing.T) {
	for _, p := range plans(Auto, 3) {
		if p.Layout == Central && (p.Shares || p.Victim != SeqPri) {
			continue
		}
		made := 0
		p.NewPartitioner = func(s Shape) Partitioner {
			made++
			if s.Workers != 4 || s.Grain != 3 {
				t.Errorf("%v: %+v", p, s)
			}
			return &countdown{s}
		}
		d := NewDispenser(1000, []int{0, 0, 1, 1}, p)
		want := 1
		if p.Shares && p.Layout == PerCore {
			want = 4
		} else if p.Shares && p.Layout == PerSocket {
			want = 2
		}
		if made != want {
			t.Errorf("%v: %d made, want %d", p, made, want)
		}
		if _, err := drain(d, 1000, 4, func(int) int { return 0 }); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// TestPartsDispenser: each item once for parts anywhere, whichever worker asks when; a worker begins
// with a part at its own location where there is one.
func TestPartsDispenser(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, s := range Schemes() {
		for _, locations := range [][]int{{0}, {0, 0}, {0, 1, 0, 1}, {7, 3, 3, 3, 7}} {
			for _, parts := range [][]Part{nil, {{0, 0}}, {{5, 0}, {0, 1}, {90, 1}}, {{40, 3}, {41, 7}, {1, 3}, {40, 7}, {40, 7}, {7, 9}}} {
				n := 0
				for _, x := range parts {
					n += x.Items
				}
				for _, v := range Victims() {
					p := Plan{Scheme: s, Victim: v, Grain: rnd.IntN(4)}
					d := NewPartsDispenser(parts, locations, p)
					for w, l := range locations {
						if slices.ContainsFunc(parts, func(x Part) bool { return x.Location == l }) && parts[d.Own(w)].Location != l {
							t.Errorf("%+v, workers at %v: worker %d begins at part %d", parts, locations, w, d.Own(w))
						}
					}
					if _, err := drain(d, n, len(locations), rnd.IntN); err != nil {
						t.Fatalf("%v, %+v, workers at %v: %v", p, parts, locations, err)
					}
				}
			}
		}
	}
	// Workers of a location begin far apart, and share what are fewer parts than they.
	d := NewPartsDispenser([]Part{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 1}}, []int{0, 0, 1, 1}, Plan{Scheme: SS})
	if d.Own(0) != 0 || d.Own(1) != 2 || d.Own(2) != 4 || d.Own(3) != 4 {
		t.Error(d.Own(0), d.Own(1), d.Own(2), d.Own(3))
	}
}
