package graph

// observe notes t's accesses. It is called when t is in the graph, and before it can run.
func (g *Graph) observe(t *Task) {
	var room [inline]access
	list := room[:0]
	for i := range t.uses {
		u := &t.uses[i]
		a := access{task: t.id}
		switch u.mode {
		case 0:
			continue
		case Out:
			a.kind = overwrites
		case InOut:
			a.kind = updates
		case Commute:
			a.kind = commutes
		case Reduce:
			a.kind = reduces
		}
		a.datum = g.number(u.datum)
		list = append(list, a)
		if g.Observer != nil {
			g.emitEdges(a, u.datum)
		}
	}
	if g.Log != nil && (len(list) > 0 || g.Log.Whole) {
		g.Log.add(ProgramTask{Task: t.id, Priority: t.Priority}, list)
	}
}

// observeBetween notes what happens to d between two tasks. An observer does not see fences: it gets the
// edges between members and tasks.
func (g *Graph) observeBetween(kind accessKind, d *Datum) {
	if g.Observer == nil && g.Log == nil {
		return
	}
	a := access{g.last, g.number(d), kind}
	if g.Observer != nil {
		g.emitEdges(a, d)
	}
	if g.Log != nil {
		g.Log.add(ProgramTask{}, []access{a})
	}
}

// number returns the number of d in the graph. Data are numbered as they are first seen. The
// pointer to the numbering shows whether d's number is of this graph.
func (g *Graph) number(d *Datum) uint32 {
	if g.numbering == nil {
		g.numbering = &numbering{}
	}
	if n := g.numbering; d.observed == nil || d.observed.of != n {
		d.observed = &datumNumber{n, n.count}
		n.count++
		if g.Log != nil {
			g.Log.seen(ProgramDatum{d.Name, d.Key, d.Owner, d.Bytes, d.Renamed()})
		}
	}
	return d.observed.number
}

// emitEdges passes the edges that follow from a, an access to d, to the Observer.
func (g *Graph) emitEdges(a access, d *Datum) {
	v := d.number / 2
	if a.kind == updates || a.kind == overwrites {
		v-- // a has made the next version
	}
	g.past.after(a, func(on TaskID, kind Dependence) { g.Observer.Depends(on, a.task, kind, d, v) })
}
