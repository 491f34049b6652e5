package graph

// Dependence is the kind of an edge.
type Dependence uint8

// The kinds of dependence between two tasks on one datum.
const (
	RAW Dependence = iota // read after write: the data flow
	WAR                   // write after read
	WAW                   // write after write
)

func (d Dependence) String() string { return [...]string{"RAW", "WAR", "WAW"}[d] }

// Observer is told of the edges as they are inferred, including those to tasks that
// have ended already, so that what it sees depends on the program only and not on its
// timing. It is called by the goroutine that adds the task, before that can run. The
// graph itself keeps no edges.
type Observer interface {
	// Depends says that task depends on task "on" by version number v of d:
	// the version that "on" made (RAW, WAW) or reads (WAR).
	Depends(on, task TaskID, kind Dependence, d *Datum, v uint32)
}

// numbering numbers the data of a graph that is observed, from 0.
type numbering struct{ count uint32 }

// place is the number of a datum in a graph; it gets another one in another graph.
type place struct {
	of     *numbering
	number uint32
}

// access is what edges follow from: what a task does with a datum, or what
// happens to the datum between two tasks.
type access struct {
	task  TaskID // for what happens in between: the latest
	datum uint32 // its number
	kind  accessKind
}

// accessKind fits into kindBits bits.
type accessKind uint8

const (
	reads      accessKind = iota
	updates               // reads it and makes the next version
	overwrites            // makes the next version
	opens                 // a group begins: its members come after the tasks that made or read the version
	closes                // it ends: what has read the version has made the next one
	renews                // the next version has nothing to do with those before
	commutes              // as reads: by a member of a group
	reduces               // the same
)

// mode returns the mode of an access; 0: it is none of a task.
func (k accessKind) mode() Mode { return [...]Mode{In, InOut, Out, 0, 0, 0, Commute, Reduce}[k] }

// observe notes what t does with its operands. It is called when t is in the
// graph, and before it can run.
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
			g.tell(a, u.datum)
		}
	}
	if g.Log != nil && (len(list) > 0 || g.Log.Whole) {
		g.Log.add(t, list)
	}
}

// happens notes what happens to d between two tasks. Fences are no tasks to an
// observer: it is told of edges between members and tasks.
func (g *Graph) happens(kind accessKind, d *Datum) {
	if g.Observer == nil && g.Log == nil {
		return
	}
	a := access{g.last, g.number(d), kind}
	if g.Observer != nil {
		g.tell(a, d)
	}
	if g.Log != nil {
		g.Log.add(nil, []access{a})
	}
}

// number returns the number of d in the graph. Data are numbered as they are first
// seen. A datum that has been in another graph gets a new number: the pointer to the
// numbering tells them apart.
func (g *Graph) number(d *Datum) uint32 {
	if g.numbering == nil {
		g.numbering = &numbering{}
	}
	if n := g.numbering; d.observed == nil || d.observed.of != n {
		d.observed = &place{n, n.count}
		n.count++
		if g.Log != nil {
			g.Log.seen(d)
		}
	}
	return d.observed.number
}

// tell tells the Observer of the edges that follow from a, an access to d.
func (g *Graph) tell(a access, d *Datum) {
	v := d.number / 2
	if a.kind == updates || a.kind == overwrites {
		v-- // a has made another one
	}
	g.past.after(a, func(on TaskID, kind Dependence) { g.Observer.Depends(on, a.task, kind, d, v) })
}

// past is for each datum, by its number, who has made the latest version, several
// if a group has, and who has read it. It is all that edges depend on:
//
//	reads         RAW from the makers; becomes a reader, as do members of groups
//	updates       RAW from the makers, WAR from the readers; becomes the maker
//	overwrites    WAW from the makers, WAR from the readers; becomes the maker
//	opens         members depend on makers and readers alike, but not on one another
//	closes        the members are the makers
//	renews        nobody: the next version depends on nothing
type past []struct{ makers, readers []TaskID }

// after makes a part of the past and yields the edges that follow from it, if
// yield is not nil.
func (p *past) after(a access, yield func(on TaskID, kind Dependence)) {
	for int(a.datum) >= len(*p) {
		*p = append(*p, struct{ makers, readers []TaskID }{})
	}
	x := &(*p)[a.datum]
	switch a.kind {
	case opens:
		x.makers, x.readers = append(x.readers, x.makers...), nil
		return
	case closes:
		x.makers, x.readers = x.readers, x.makers[:0]
		return
	case renews:
		x.makers, x.readers = x.makers[:0], x.readers[:0]
		return
	}
	if yield != nil {
		made := RAW
		if a.kind == overwrites {
			made = WAW
		}
		for _, m := range x.makers {
			yield(m, made)
		}
		if a.kind == updates || a.kind == overwrites {
			for _, r := range x.readers {
				yield(r, WAR)
			}
		}
	}
	if a.kind != updates && a.kind != overwrites {
		x.readers = append(x.readers, a.task)
		return
	}
	x.makers, x.readers = append(x.makers[:0], a.task), x.readers[:0]
}
