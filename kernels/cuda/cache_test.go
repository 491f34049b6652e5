package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

// TestArena allocates and releases at random and looks at the books.
func TestArena(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	a := newArena()
	a.grow(7*grain, 64*grain)
	var used []*block
	full := 0
	for range 5000 {
		if rnd.IntN(2) == 0 {
			n := int64(1+rnd.IntN(12)) * grain
			b := a.alloc(n)
			if b == nil {
				full++
				for _, s := range a.sizes {
					if s >= n {
						t.Fatalf("no room for %d bytes, though %d are free in one piece", n, s)
					}
				}
				continue
			}
			if b.size != n || b.at%grain != 0 {
				t.Fatalf("%d bytes at %d, want %d", b.size, b.at, n)
			}
			used = append(used, b)
		} else if len(used) > 0 {
			i := rnd.IntN(len(used))
			hole := used[i].hole()
			a.release(used[i])
			used[i] = used[len(used)-1]
			used = used[:len(used)-1]
			if _, ok := a.free[hole]; !ok {
				t.Fatalf("there is no hole of %d bytes, as was said", hole)
			}
		}
		if len(used) > 0 {
			if err := a.check(used[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range used {
		a.release(b)
	}
	if a.used != 0 || len(a.sizes) != 1 || a.sizes[0] != 64*grain || full == 0 {
		t.Errorf("%d used, free %v, full %d times", a.used, a.sizes, full)
	}
}

// named is a value of a size.
type named struct {
	name string
	n    int64
}

func (v *named) Memory() versions.Memory { return versions.Memory{Rows: 1, Width: v.n, Pitch: v.n} }

// check returns what is wrong with the books of c.
func (c *cache) check() error {
	in := map[*entry]*list{}
	for _, l := range []*list{&c.clean, &c.dirty, &c.leaving} {
		bytes := int64(0)
		for e := l.first; e != nil; e = e.next {
			if in[e] != nil || e.list != l || e.next != nil && e.next.prev != e || e.next == nil && l.last != e {
				return fmt.Errorf("%v is not where it belongs", e.key)
			}
			in[e] = l
			bytes += e.size
		}
		if bytes != l.bytes {
			return fmt.Errorf("a list of %d bytes has %d", l.bytes, bytes)
		}
	}
	used := int64(0)
	for _, e := range c.entries {
		var want *list
		switch {
		case e.block == nil || e.holds > 0 || e.in:
		case e.out:
			want = &c.leaving
		case e.state == modified:
			want = &c.dirty
		default:
			want = &c.clean
		}
		if in[e] != want {
			return fmt.Errorf("%v is in the wrong list", e.key)
		}
		delete(in, e)
		if e.block != nil {
			used += e.size
			if err := c.arena.check(e.block); err != nil {
				return err
			}
		} else if e.state != invalid || e.busy() && e.holds == 0 {
			return fmt.Errorf("%v has no block in state %d", e.key, e.state)
		}
	}
	if len(in) > 0 || used != c.arena.used {
		return fmt.Errorf("%d unknown entries, %d bytes used, %d in the arena", len(in), used, c.arena.used)
	}
	return nil
}

// TestCacheBooks tells a cache of random events.
func TestCacheBooks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	c := newCache(20 * grain)
	c.arena.grow(0, c.growth(grain))
	var all []*entry
	for i := range 40 {
		v := &named{fmt.Sprint(i), int64(1+i%3) * grain}
		all = append(all, c.entryFor(v, 1))
	}
	placements := 0
	for range 20000 {
		e := all[rnd.IntN(len(all))]
		switch k := rnd.IntN(8); {
		case k == 0 && e.block == nil:
			before := *e
			ok, d := c.place(e, rnd.IntN(4) == 0)
			switch {
			case ok && (e.block == nil || e.block.size != e.size):
				t.Fatal("placed without a block")
			case !ok && e.block != nil:
				t.Fatal("a block for what is not placed")
			case d != nil && (ok || d.state != modified || d.busy()):
				t.Fatalf("asks to save %v", d)
			case ok:
				placements++
				if before.state != invalid {
					t.Fatal("a state without a block")
				}
				c.beginIn(e)
			case d != nil:
				c.beginOut(d)
			}
		case k == 1 && e.in:
			c.endIn(e, rnd.IntN(5) > 0)
			if e.state == invalid && !e.busy() {
				c.drop(e)
			}
		case k == 2 && e.out:
			c.endOut(e, rnd.IntN(5) > 0)
		case k == 3 && e.state != invalid && e.holds < 3:
			c.now++
			c.hold(e)
			c.touch(e)
		case k == 4 && e.holds > 0:
			if rnd.IntN(2) == 0 && !e.out {
				c.wrote(e)
			}
			c.release(e)
		case k == 5 && !e.busy() && rnd.IntN(10) == 0:
			c.drop(e)
		case k == 6:
			e.wanted = max(c.now, 1)
		case k == 7:
			if d := c.tired(); d != nil && rnd.IntN(4) == 0 {
				c.beginOut(d)
			}
		}
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
	}
	if placements < 100 || c.evictions < 50 {
		t.Errorf("%d placements, %d evictions", placements, c.evictions)
	}
}

// TestCacheVictims: of what nobody uses, the value is given up whose next use is
// farthest away by what was seen so far, and never one that is held.
func TestCacheVictims(t *testing.T) {
	c := newCache(4*grain + 1)
	c.arena.grow(0, c.growth(grain))
	if c.growth(grain) != 0 || c.arena.size != 4*grain {
		t.Fatalf("%d bytes", c.arena.size)
	}
	get := map[string]*entry{}
	use := func(name string) {
		c.now++
		e := get[name]
		if e == nil {
			v := &named{name, grain}
			e = c.entryFor(v, 1)
			get[name] = e
		}
		c.hold(e)
		if e.block == nil {
			if ok, _ := c.place(e, false); !ok {
				t.Fatalf("no room for %s", name)
			}
			c.beginIn(e)
			c.endIn(e, true)
		}
		c.touch(e)
		c.release(e)
	}
	// A loop over five with room for four: what was used last comes last. LRU would
	// lose every one just before its next use.
	loads := 0
	for round := range 20 {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if e := get[name]; e == nil || e.block == nil {
				if round >= 4 {
					loads++
				}
			}
			use(name)
		}
	}
	if loads > 2*16 {
		t.Errorf("%d loads in 16 rounds; LRU needs 80, the best is 20", loads)
	}
	for _, e := range get {
		if e.block != nil {
			c.hold(e)
		}
	}
	v := &named{"f", grain}
	f := c.entryFor(v, 1)
	if ok, d := c.place(f, false); ok || d != nil {
		t.Errorf("placed %v, to save %v when all are held", ok, d)
	}
	for _, e := range get {
		if e.block != nil {
			c.release(e)
		}
	}
	if ok, _ := c.place(f, true); ok {
		t.Error("a prefetch takes the room of what is used again and again")
	}
	// Dirty ones have to be written back first; that is asked for one at a time.
	for _, e := range get {
		if e.block != nil {
			c.wrote(e)
		}
	}
	ok, d := c.place(f, false)
	if ok || d == nil || d.state != modified {
		t.Fatalf("placed %v, to save %v when all are dirty", ok, d)
	}
	c.beginOut(d)
	if ok, d := c.place(f, false); ok || d != nil {
		t.Errorf("placed %v, to save %v while one is written back", ok, d)
	}
	c.endOut(d, true)
	if ok, _ := c.place(f, false); !ok || d.block != nil {
		t.Errorf("placed %v when one was written back", ok)
	}
}

// check returns what is wrong with the books of an arena of one allocation, given
// any block.
func (a *arena) check(b *block) error {
	for b.prev != nil {
		b = b.prev
	}
	begin := b.at
	at, used := begin, int64(0)
	for ; b != nil; b = b.next {
		switch {
		case b.at != at || b.size <= 0:
			return fmt.Errorf("block at %d of %d bytes, want one at %d", b.at, b.size, at)
		case b.next != nil && (b.next.prev != b || b.isFree && b.next.isFree):
			return fmt.Errorf("blocks at %d and %d: not neighbours, or both free", b.at, b.next.at)
		case !b.isFree:
			used += b.size
		}
		at += b.size
	}
	if at-begin != a.size || used != a.used {
		return fmt.Errorf("%d bytes, %d used; want %d, %d", at-begin, used, a.size, a.used)
	}
	return nil
}
