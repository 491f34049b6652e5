package core

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Reconstruction is how a plan is executed: by which tasks, on data of other names, which then take the
// place of those that are lost. It is pure: a job executes them, or a simulation.
type Reconstruction struct {
	Plan   Plan
	set    uint64                         // of names that stand for data of the program
	fresh  func(set uint64) transport.Ref // that nobody has yet
	index  *DataIndex                     // of what executes it
	latest map[*Entry]*chain
	All    []*Entry // that are not needed afterwards
	reads  map[Instance]*graph.Datum
}

// chain is a datum as it is made again: one memory for successive versions.
type chain struct {
	datum graph.Datum
	entry *Entry
	as    uint32 // the version of the datum that the chain has when what was submitted has ended
}

// NewReconstruction returns what makes data again by a plan, as a set of their own, under fresh names.
func NewReconstruction(p Plan, set uint64, fresh func(uint64) transport.Ref) Reconstruction {
	return Reconstruction{Plan: p, set: set, fresh: fresh, latest: map[*Entry]*chain{}, reads: map[Instance]*graph.Datum{}}
}

// Specs returns the tasks, in the order of the program, and has their data be known. Of what is lost
// second copies may have the latest version: then it is copied from there.
func (r *Reconstruction) Specs(data *DataIndex, lost []*Entry) (specs []*graph.Spec) {
	r.index = data
	for _, x := range r.Plan.Tasks {
		specs = append(specs, r.spec(x))
	}
	for _, e := range lost {
		if from, there := r.Plan.Sources[Instance{e, e.Version}]; there {
			c := r.chain(e, from, true)
			c.as, r.latest[e] = e.Version, c
			specs = append(specs, &graph.Spec{Op: &versions.Op{Name: OpNone}, Operands: []graph.Operand{{Datum: &c.datum, Mode: graph.InOut}}})
		}
	}
	return specs
}

// Scrap returns what only the plan needs: it makes room when no task of it is left that uses it.
func (r *Reconstruction) Scrap(lost []*Entry) map[*Entry]bool {
	scrap := map[*Entry]bool{}
	for _, x := range r.All {
		scrap[x] = true
	}
	for _, e := range lost {
		if c := r.latest[e]; c != nil && c.as == e.Version {
			delete(scrap, c.entry)
		}
	}
	return scrap
}

// spec returns a task that makes the results of another one again.
func (r *Reconstruction) spec(x *Record) *graph.Spec {
	s := &graph.Spec{Op: x.op, Params: x.params, Constraints: x.constraints, Priority: x.priority, Failure: &graph.Failure{Retries: x.Retries, Timeout: x.Timeout}}
	mine := map[*Entry]*graph.Datum{}
	for _, u := range x.Uses {
		d := mine[u.Of]
		if d == nil {
			mode := u.Mode
			for _, o := range x.Uses {
				if o.Of == u.Of {
					mode |= o.Mode
				}
			}
			d = r.datumFor(u.Of, u.Version, mode)
			mine[u.Of] = d
		}
		s.Operands = append(s.Operands, graph.Operand{Datum: d, Mode: u.Mode})
	}
	return s
}

// datumFor returns the datum that stands for a version of another one, or that will be the
// next version of it when the task has ended.
func (r *Reconstruction) datumFor(e *Entry, version uint32, mode graph.Mode) *graph.Datum {
	from, there := r.Plan.Sources[Instance{e, version}]
	c := r.latest[e]
	switch {
	case mode&graph.Out != 0:
		if there || mode&graph.In == 0 || c == nil || c.as != version {
			c = r.chain(e, from, there && mode&graph.In != 0)
			r.latest[e] = c
		}
		c.as = version + 1
		return &c.datum
	case there:
		d := r.reads[Instance{e, version}]
		if d == nil {
			if from.Ref == e.Ref {
				d = new(graph.Datum)
				e.Label.set(d)
				r.index.Put(d, e)
				e.Show(d)
			} else { // the driver has one place for all versions under a name
				d = &r.chain(e, from, true).datum
			}
			r.reads[Instance{e, version}] = d
		}
		return d
	case c == nil || c.as != version: // zero
		c = r.chain(e, source{}, false)
		c.as, r.latest[e] = version, c
	}
	return &c.datum
}

// chain returns a datum of its own for e: a copy of a version that is there, or nothing yet.
func (r *Reconstruction) chain(e *Entry, from source, copied bool) *chain {
	set := e.Set
	if set == 0 {
		set = r.set
	}
	x := &Entry{Facts: e.Facts, Set: set, Ref: r.fresh(set), CopyOf: e}
	if copied {
		name := from.Ref
		x.Version, x.Copied, x.Holders = 1, &name, slices.Clone(from.Holders)
	}
	c := &chain{entry: x}
	e.Label.set(&c.datum)
	r.index.Put(&c.datum, x)
	x.Show(&c.datum)
	r.All = append(r.All, x)
	return c
}

// Adopts gives data what was made for them.
func (r *Reconstruction) Adopts(lost []*Entry, s *Scheduler) {
	for _, e := range lost {
		c := r.latest[e]
		if c == nil || c.as != e.Version || !e.Lost() {
			continue
		}
		for i := range s.Seats { // some may have what they could not be asked for
			if i > 0 && !s.Absent(i) {
				s.forgets(i, e)
				s.where.Drop(i, e.Ref)
			}
		}
		e.Ref, e.Holders, e.Shares = c.entry.Ref, c.entry.Holders, nil
		c.entry.Holders = nil
		for _, h := range e.Holders {
			m := s.Seats[h].memory
			m.Forget(c.entry)
			m.Pin([]*Entry{e})
			m.Unpin([]*Entry{e})
		}
	}
}
