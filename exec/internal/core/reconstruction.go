package core

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Reconstruction turns a Plan into tasks that compute lost data again. The tasks write stand-ins,
// data with new names; Adopt then gives each lost datum the value of its stand-in.
//
//	lost:      version v of a datum; version v−2 is still on some node
//	Specs:     copy of v−2 ─► task ─► v−1 ─► task ─► v      all in one stand-in
//	Adopt:     the lost datum takes the stand-in's name and holders
//
// In exec/cluster a replay executes the tasks, in a simulation Core.Recover does.
type Reconstruction struct {
	Plan      Plan
	nameSet   uint64                         // the set of names that stand for data of the program
	newName   func(set uint64) transport.Ref // returns an unused name of a set
	data      *DataIndex                     // of the tasks
	current   map[*Entry]*standIn            // by lost datum: the stand-in that has the latest version so far
	StandIns  []*Entry                       // all that Specs has made
	originals map[Instance]*graph.Datum      // surviving versions that tasks read as they are
}

// standIn is a datum that takes the place of a lost one, through successive versions.
type standIn struct {
	datum   graph.Datum
	entry   *Entry
	version uint32 // the version of the lost datum that it has after the tasks made so far
}

// NewReconstruction returns the reconstruction of a plan. Stand-ins of the program's data get new
// names of a set.
func NewReconstruction(p Plan, nameSet uint64, newName func(set uint64) transport.Ref) Reconstruction {
	return Reconstruction{
		Plan: p, nameSet: nameSet, newName: newName,
		current: map[*Entry]*standIn{}, originals: map[Instance]*graph.Datum{},
	}
}

// Specs returns the tasks in the order of the program and enters their data into an index. A lost
// latest version that has a replica is copied from there.
func (r *Reconstruction) Specs(data *DataIndex, lost []*Entry) (specs []*graph.Spec) {
	r.data = data
	for _, x := range r.Plan.Tasks {
		specs = append(specs, r.spec(x))
	}
	for _, e := range lost {
		if from, there := r.Plan.Sources[Instance{e, e.Version}]; there {
			c := r.newStandIn(e, from, true)
			c.version, r.current[e] = e.Version, c
			operands := []graph.Operand{{Datum: &c.datum, Mode: graph.InOut}}
			specs = append(specs, &graph.Spec{Op: &versions.Op{Name: OpNone}, Operands: operands})
		}
	}
	return specs
}

// Temporary returns the stand-ins that no lost datum will adopt. Each can go when no task uses it
// any more.
func (r *Reconstruction) Temporary(lost []*Entry) map[*Entry]bool {
	scrap := map[*Entry]bool{}
	for _, x := range r.StandIns {
		scrap[x] = true
	}
	for _, e := range lost {
		if c := r.current[e]; c != nil && c.version == e.Version {
			delete(scrap, c.entry)
		}
	}
	return scrap
}

// spec returns a task that computes the results of a recorded task again.
func (r *Reconstruction) spec(x *Record) *graph.Spec {
	s := &graph.Spec{
		Op: x.op, Params: x.params, Constraints: x.constraints, Priority: x.priority,
		Failure: &graph.Failure{Retries: x.Retries, Timeout: x.Timeout},
	}
	modes := map[*Entry]graph.Mode{}
	for _, u := range x.Uses {
		modes[u.Of] |= u.Mode
	}
	data := map[*Entry]*graph.Datum{}
	for _, u := range x.Uses {
		if data[u.Of] == nil {
			data[u.Of] = r.datumFor(u.Of, u.Version, modes[u.Of])
		}
		s.Operands = append(s.Operands, graph.Operand{Datum: data[u.Of], Mode: u.Mode})
	}
	return s
}

// datumFor returns the datum that a task uses in place of a version of e: the version that it
// reads, or the one before that which it writes.
func (r *Reconstruction) datumFor(e *Entry, version uint32, mode graph.Mode) *graph.Datum {
	from, survives := r.Plan.Sources[Instance{e, version}]
	c := r.current[e]
	isCurrent := c != nil && c.version == version
	switch {
	case mode&graph.Out != 0:
		// The task updates the current stand-in, or begins a new one: a copy of the surviving version
		// if the task reads that, else empty.
		if survives || mode&graph.In == 0 || !isCurrent {
			c = r.newStandIn(e, from, survives && mode&graph.In != 0)
			r.current[e] = c
		}
		c.version = version + 1
		return &c.datum
	case survives:
		// The task only reads, and a node still has the version.
		d := r.originals[Instance{e, version}]
		if d == nil {
			if from.Ref == e.Ref {
				d = new(graph.Datum)
				e.Label.set(d)
				r.data.Put(d, e)
				e.ShowHolders(d)
			} else { // an older version: the driver's store has one place for each name, so it is copied
				d = &r.newStandIn(e, from, true).datum
			}
			r.originals[Instance{e, version}] = d
		}
		return d
	case !isCurrent:
		// The task only reads, and no task has written the datum: it is zero.
		c = r.newStandIn(e, source{}, false)
		c.version, r.current[e] = version, c
	}
	return &c.datum
}

// newStandIn returns a new stand-in for e: a copy of a surviving version, or empty.
func (r *Reconstruction) newStandIn(e *Entry, from source, copied bool) *standIn {
	set := e.Set
	if set == 0 {
		set = r.nameSet
	}
	x := &Entry{Facts: e.Facts, Set: set, Ref: r.newName(set), StandsFor: e}
	if copied {
		name := from.Ref
		x.Version, x.CopiedFrom, x.Holders = 1, &name, slices.Clone(from.Holders)
	}
	c := &standIn{entry: x}
	e.Label.set(&c.datum)
	r.data.Put(&c.datum, x)
	x.ShowHolders(&c.datum)
	r.StandIns = append(r.StandIns, x)
	return c
}

// Adopt gives each lost datum the name and the holders of its stand-in, if that has the version that
// was lost. The scheduler is the one that has executed the tasks.
func (r *Reconstruction) Adopt(lost []*Entry, s *Scheduler) {
	for _, e := range lost {
		if c := r.current[e]; c != nil && c.version == e.Version && e.Lost() {
			s.replace(e, c.entry)
		}
	}
}

// replace gives a lost datum the name and the holders of another entry.
func (s *Scheduler) replace(e, standIn *Entry) {
	for i := range s.Nodes { // a node may have the version and not be able to give it
		if i > 0 && !s.Absent(i) {
			s.forget(i, e)
			s.directory.MarkStale(i, e.Ref)
		}
	}
	e.Ref, e.Holders, e.Spreaders = standIn.Ref, standIn.Holders, nil
	standIn.Holders = nil
	for _, h := range e.Holders {
		m := s.Nodes[h].memory
		m.Forget(standIn)
		m.Hold(e)
	}
}
