package graph

import "fmt"

// count adds n values of that size, which may be negative. The caller holds the lock for groups.
func (c *Copies) count(n int, bytes int64) {
	c.Live += int64(n)
	c.Bytes += int64(n) * bytes
	c.Peak, c.PeakBytes = max(c.Peak, c.Live), max(c.PeakBytes, c.Bytes)
}

// hold makes v the value of u, until releaseValue, even if the datum gets a later value.
func (g *Graph) hold(u *use, v *renamed) {
	v.uses.Add(1)
	g.groups.mu.Lock()
	g.groups.keep(u, v)
	g.groups.mu.Unlock()
}

// releaseValue ends the use of a renamed value by u, if it has one.
func (g *Graph) releaseValue(u *use) {
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

// drop takes one user off v. After the last one v is garbage, and no longer counted.
func (v *renamed) drop() {
	if v.uses.Add(-1) != 0 || v.of == nil {
		return
	}
	v.of.groups.mu.Lock()
	v.of.groups.copies.count(-1, v.bytes)
	v.of.groups.mu.Unlock()
}

// value is Task.Value for a special datum. With Reduce a use gets its copy when it first asks, and
// keeps it: a copy that another member has given back, with that one's sum, or a new one.
func (g *Graph) value(u *use) any {
	g.groups.mu.Lock()
	v, ok := g.groups.values[u]
	gr := g.groups.of[u]
	if ok || u.mode != Reduce {
		g.groups.mu.Unlock()
		switch r, is := v.(*renamed); {
		case is:
			return r.value
		case ok:
			return v
		}
		return u.datum.Value
	}
	if n := len(gr.free); n > 0 {
		c := gr.free[n-1]
		gr.free = gr.free[:n-1]
		g.groups.keep(u, c)
		g.groups.mu.Unlock()
		return c
	}
	g.groups.mu.Unlock()
	// neutral may take long, and panic, so it runs without the lock. Only this use asks for its
	// value.
	c := u.datum.special.neutral()
	g.groups.mu.Lock()
	gr.copies = append(gr.copies, c)
	g.groups.copies.count(1, u.datum.Bytes)
	g.groups.keep(u, c)
	g.groups.mu.Unlock()
	return c
}

// keep makes v the value of u. The caller holds the lock.
func (s *groups) keep(u *use, v any) {
	if s.values == nil {
		s.values = make(map[*use]any)
	}
	s.values[u] = v
}

// blame makes a panic of a function of the program, about d, the fault of a task.
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
