package graph

// SetRenaming makes every task that accesses d by Out write a new value, which renew returns, so
// that it need not wait for tasks that still use the old one. The memory of a value is dropped when
// its last user has ended. [Datum.Latest] is the value at the end. SetRenaming must be called
// before the first task on d is added. renew runs on the goroutine that adds the task; a panic in
// it is the failure of that task, which is then not executed.
func (d *Datum) SetRenaming(renew func() any) {
	x := d.makeSpecial()
	x.renew = renew
	x.value = &renamed{value: d.Value}
	x.value.uses.Store(1)
}

// Copies returns what renamed data and reductions of the graph have allocated beyond the data's
// initial values. A datum's latest value may outlive the graph; it counts as the graph's until
// another graph replaces it. Copies may be called at any time.
func (g *Graph) Copies() Copies {
	g.groups.mu.Lock()
	defer g.groups.mu.Unlock()
	return g.groups.copies
}

// PutBack gives every renamed datum whose value has changed since the last call its first value,
// Value, back: assign copies the latest into it. All tasks must have ended, and those on the data
// without error. A panic of assign is a failure: see Failed.
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

// renaming infers the dependencies of a common access to a renamed datum. An Out waits for nothing:
// it gets a value of its own. The others hold the value of the latest version, and wait as usual.
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

// renew returns a new value if u overwrites the old one, else nil. If the program's function
// panics, t is tainted and will not run.
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

// detach makes u the maker of a version that depends neither on the previous one nor on its
// readers.
func (g *Graph) detach(u *use) {
	v := u.datum.latest()
	g.observeBetween(renews, u.datum)
	reads := u.datum.reads
	u.datum.advance(&u.out)
	// v has no successor: its last reader drops it, or this call.
	if v.ended.Add(reads) == 0 {
		g.drop(v)
	}
}
