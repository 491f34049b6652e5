package cluster

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// remaking is how a plan is executed: by which tasks, on data of other names, which then take the
// place of those that are lost. It is pure: a job executes them, or a simulation.
type remaking struct {
	plan   plan
	set    uint64                         // of names that stand for data of the program
	fresh  func(set uint64) transport.Ref // that nobody has yet
	index  *dataIndex                     // of what executes it
	latest map[*entry]*chain
	all    []*entry // that are not needed afterwards
	reads  map[instance]*graph.Datum
}

// chain is a datum as it is made again: one memory for successive versions.
type chain struct {
	datum graph.Datum
	entry *entry
	as    uint32 // the version of the datum that the chain has when what was submitted has ended
}

func newRemaking(p plan, set uint64, fresh func(uint64) transport.Ref) remaking {
	return remaking{plan: p, set: set, fresh: fresh, latest: map[*entry]*chain{}, reads: map[instance]*graph.Datum{}}
}

// specs returns the tasks, in the order of the program, and has their data be known. Of what is lost
// second copies may have the latest version: then it is copied from there.
func (r *remaking) specs(data *dataIndex, lost []*entry) (specs []*graph.Spec) {
	r.index = data
	for _, x := range r.plan.tasks {
		specs = append(specs, r.spec(x))
	}
	for _, e := range lost {
		if from, there := r.plan.sources[instance{e, e.version}]; there {
			c := r.chain(e, from, true)
			c.as, r.latest[e] = e.version, c
			specs = append(specs, &graph.Spec{Op: &versions.Op{Name: opNone}, Operands: []graph.Operand{{Datum: &c.datum, Mode: graph.InOut}}})
		}
	}
	return specs
}

// scrap returns what only the plan needs: it makes room when no task of it is left that uses it.
func (r *remaking) scrap(lost []*entry) map[*entry]bool {
	scrap := map[*entry]bool{}
	for _, x := range r.all {
		scrap[x] = true
	}
	for _, e := range lost {
		if c := r.latest[e]; c != nil && c.as == e.version {
			delete(scrap, c.entry)
		}
	}
	return scrap
}

// spec returns a task that makes the results of another one again.
func (r *remaking) spec(x *record) *graph.Spec {
	s := &graph.Spec{Op: x.op, Params: x.params, Constraints: x.constraints, Priority: x.priority, Failure: &graph.Failure{Retries: x.retries, Timeout: x.timeout}}
	mine := map[*entry]*graph.Datum{}
	for _, u := range x.uses {
		d := mine[u.of]
		if d == nil {
			mode := u.mode
			for _, o := range x.uses {
				if o.of == u.of {
					mode |= o.mode
				}
			}
			d = r.datumFor(u.of, u.version, mode)
			mine[u.of] = d
		}
		s.Operands = append(s.Operands, graph.Operand{Datum: d, Mode: u.mode})
	}
	return s
}

// datumFor returns the datum that stands for a version of another one, or that will be the
// next version of it when the task has ended.
func (r *remaking) datumFor(e *entry, version uint32, mode graph.Mode) *graph.Datum {
	from, there := r.plan.sources[instance{e, version}]
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
		d := r.reads[instance{e, version}]
		if d == nil {
			if from.ref == e.ref {
				d = new(graph.Datum)
				e.label.set(d)
				r.index.put(d, e)
				e.show(d)
			} else { // the driver has one place for all versions under a name
				d = &r.chain(e, from, true).datum
			}
			r.reads[instance{e, version}] = d
		}
		return d
	case c == nil || c.as != version: // zero
		c = r.chain(e, source{}, false)
		c.as, r.latest[e] = version, c
	}
	return &c.datum
}

// chain returns a datum of its own for e: a copy of a version that is there, or nothing yet.
func (r *remaking) chain(e *entry, from source, copied bool) *chain {
	set := e.set
	if set == 0 {
		set = r.set
	}
	x := &entry{facts: e.facts, set: set, ref: r.fresh(set), copyOf: e}
	if copied {
		name := from.ref
		x.version, x.copied, x.holders = 1, &name, slices.Clone(from.holders)
	}
	c := &chain{entry: x}
	e.label.set(&c.datum)
	r.index.put(&c.datum, x)
	x.show(&c.datum)
	r.all = append(r.all, x)
	return c
}

// adopts gives data what was made for them.
func (r *remaking) adopts(lost []*entry, s *scheduler) {
	for _, e := range lost {
		c := r.latest[e]
		if c == nil || c.as != e.version || !e.lost() {
			continue
		}
		for i := range s.seats { // some may have what they could not be asked for
			if i > 0 && !s.absent(i) {
				s.forgets(i, e)
				s.where.drop(i, e.ref)
			}
		}
		e.ref, e.holders, e.shares = c.entry.ref, c.entry.holders, nil
		c.entry.holders = nil
		for _, h := range e.holders {
			m := s.seats[h].memory
			m.forget(c.entry)
			m.pin([]*entry{e})
			m.unpin([]*entry{e})
		}
	}
}
