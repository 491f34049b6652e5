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

// Observer is told of the edges as they are inferred, including those to
// tasks that have ended already, so that what it sees depends on the program
// only and not on its timing.
type Observer interface {
	// Depends says that task depends on task "on" by version number v of d:
	// the version that "on" made (RAW, WAW) or reads (WAR).
	Depends(on, task TaskID, kind Dependence, d *Datum, v uint32)
}

// observeRead reports the edges into t, a reader of v, and notes it for who
// overwrites v.
func (g *Graph) observeRead(t *Task, u *use, v *version) {
	if g.readers == nil {
		g.readers = make(map[*version][]TaskID)
	}
	list, ok := g.readers[v]
	if n := len(g.spare); !ok && n > 0 {
		list, g.spare = g.spare[n-1], g.spare[:n-1]
	}
	g.readers[v] = append(list, t.id)
	for _, m := range v.makers() {
		g.Observer.Depends(m, t.id, RAW, u.datum, u.datum.number)
	}
}

// observeWrite reports the edges into the maker of the version after v.
func (g *Graph) observeWrite(t *Task, u *use, v *version) {
	if list, ok := g.readers[v]; ok {
		defer func() {
			delete(g.readers, v)
			g.spare = append(g.spare, list[:0])
		}()
	}
	if t.fence() != nil {
		return
	}
	kind := WAW
	if u.mode&In != 0 {
		kind = RAW
	}
	for _, m := range v.makers() {
		g.Observer.Depends(m, t.id, kind, u.datum, u.datum.number)
	}
	for _, r := range g.readers[v] {
		g.Observer.Depends(r, t.id, WAR, u.datum, u.datum.number)
	}
}

// makers returns the tasks that made v, for the observer: several if a group
// did.
func (v *version) makers() []TaskID {
	switch {
	case v.task == nil:
		return nil
	case v.task.fence() != nil:
		return v.task.extra.fence.sources
	}
	return []TaskID{v.task.id}
}
