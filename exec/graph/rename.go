package graph

import (
	"fmt"
	"sync/atomic"
)

// renamed is the value of a version of a datum that is renamed. Versions that are made
// in place, by InOut, share that of the version before; each Out begins a new one.
type renamed struct {
	value any
	bytes int64
	of    *Graph // that counts it; nil for what the program has given: Datum.Value
	// uses counts the tasks that access it, and the datum as long as it is the
	// latest.
	uses atomic.Int32
}

// count counts a value more, or with n negative less. The caller holds the lock
// for groups.
func (c *Copies) count(n int, bytes int64) {
	c.Live += int64(n)
	c.Bytes += int64(n) * bytes
	c.Peak, c.PeakBytes = max(c.Peak, c.Live), max(c.PeakBytes, c.Bytes)
}

// Copies says how many values beside their own data have at present, and had at
// most: those of renamed data, and the copies of reductions.
type Copies struct {
	Live, Peak       int64
	Bytes, PeakBytes int64 // Datum.Bytes of each
}

// SetRenaming lets every task that writes d by Out, without reading it, write a
// new value, which renew returns, so that it need not wait for those that still
// use the old one. The memory of a value is dropped when its last user has
// ended. [Datum.Latest] is the value at the end. It must be called before the
// first task on d is added. Renew runs on the goroutine that adds the task; a
// panic in it is the failure of that task, which is then not executed.
func (d *Datum) SetRenaming(renew func() any) {
	x := d.uncommon()
	x.renew = renew
	x.value = &renamed{value: d.Value}
	x.value.uses.Store(1)
}

// Latest returns the value that the last task added writes: Value, or another
// one if the datum is renamed. It is there when the tasks have ended.
func (d *Datum) Latest() any {
	if d.special != nil && d.special.value != nil {
		return d.special.value.value
	}
	return d.Value
}

// Copies returns what renamed data and reductions of the graph have allocated,
// beyond the values that the data had at the beginning. A value that outlives the
// graph, because it is a datum's latest one, is the graph's until another graph
// replaces it. It may be called at any time.
func (g *Graph) Copies() Copies {
	g.groups.mu.Lock()
	defer g.groups.mu.Unlock()
	return g.groups.copies
}

// Renamed reports whether [Datum.SetRenaming] was called.
func (d *Datum) Renamed() bool { return d.special != nil && d.special.renew != nil }

// PutBack has every renamed datum of the graph that has got another value since the
// last call have its first one again, Value, into which assign is to copy the latest.
// All tasks must have ended, and those on them well. A panic of assign is a failure:
// see Failed.
func (g *Graph) PutBack(assign func(value, latest any)) {
	for _, d := range g.replaced {
		g.putBack(d, assign)
	}
	g.replaced = nil
}

func (g *Graph) putBack(d *Datum, assign func(value, latest any)) {
	defer func() {
		if p := recover(); p != nil {
			g.blame("renaming", d, g.last, p)
		}
	}()
	old := d.special.value
	assign(d.Value, old.value)
	d.special.value = &renamed{value: d.Value}
	d.special.value.uses.Store(1)
	old.drop()
}

// renaming infers what a common access to a renamed datum waits for. An Out waits for
// nothing: it gets a value of its own. All others hold the value of the latest version,
// and wait as usual.
func (g *Graph) renaming(t *Task, u *use, x *special) (await, writes int32) {
	if v := g.renew(t, u, x); v != nil {
		old := x.value
		x.value = v
		g.groups.mu.Lock()
		g.groups.copies.count(1, u.datum.Bytes)
		g.groups.mu.Unlock()
		old.drop()
		if old.of == nil {
			g.replaced = append(g.replaced, u.datum)
		}
		g.hold(u, x.value)
		g.detach(u)
		return 0, 1
	}
	g.hold(u, x.value)
	if u.mode == In {
		return g.read(t, u), 0
	}
	return g.write(t, u), 1
}

// renew returns a new value if u overwrites the old one, else nil. If the
// program's function panics t is tainted: it is not going to run.
func (g *Graph) renew(t *Task, u *use, x *special) (v *renamed) {
	if u.mode != Out {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			t.taint(g.blame("renaming", u.datum, t.id, p))
			v = nil
		}
	}()
	v = &renamed{value: x.renew(), bytes: u.datum.Bytes, of: g}
	v.uses.Store(1)
	return v
}

// blame makes a panic of a function of the program, on d, the fault of a task.
func (g *Graph) blame(what string, d *Datum, task TaskID, panicked any) *Fault {
	err, ok := panicked.(error)
	if !ok {
		err = fmt.Errorf("graph: %s of %v: panic: %v", what, d, panicked)
	}
	f := &Fault{Task: task, Err: err}
	if g.Failed != nil {
		g.Failed(what, f)
	}
	return f
}

// hold makes v the value of u. It stays that when the datum gets a later one, until
// letGo.
func (g *Graph) hold(u *use, v *renamed) {
	v.uses.Add(1)
	g.groups.mu.Lock()
	g.groups.keep(u, v)
	g.groups.mu.Unlock()
}

// letGo ends the use of a renamed value by u, if it has one.
func (g *Graph) letGo(u *use) {
	g.groups.mu.Lock()
	v, ok := g.groups.values[u].(*renamed)
	if ok {
		delete(g.groups.values, u)
	}
	g.groups.mu.Unlock()
	if ok {
		v.drop()
	}
}

// drop takes one user off v. After the last one it is garbage, and not counted any
// more.
func (v *renamed) drop() {
	if v.uses.Add(-1) != 0 || v.of == nil {
		return
	}
	v.of.groups.mu.Lock()
	v.of.groups.copies.count(-1, v.bytes)
	v.of.groups.mu.Unlock()
}

// detach makes u the maker of a version that does not touch the one before: it
// waits neither for that nor for its readers.
func (g *Graph) detach(u *use) {
	v := u.datum.latest()
	g.happens(renews, u.datum)
	reads := u.datum.reads
	u.datum.advance(&u.out)
	// v has no successor: its last reader, or this, drops it.
	if v.ended.Add(reads) == 0 {
		g.drop(v)
	}
}
