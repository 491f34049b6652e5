package cluster

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// mending has a job make again what is lost.
func mending(j *job) *job {
	j.mender = j.mendAll
	return j
}

// mendAll makes again what of the job's data nobody has, when none of its tasks is under
// way, and lets the job go on.
func (j *job) mendAll() {
	err := j.mendLost()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.outcome.Abort(err)
	}
	stuck := j.stuck
	j.stuck, j.sched.halted, j.mender = nil, false, j.mendAll
	j.arrived(stuck, -1)
	j.place()
	j.news.Broadcast()
}

// mendLost makes again what nobody has, and once more if another node is lost meanwhile.
func (j *job) mendLost() (err error) {
	for range 1000 { // nodes to be lost meanwhile
		j.mu.Lock()
		var lost []*entry
		for e := range j.entries {
			if e.lost() {
				lost = append(lost, e)
			}
		}
		plan, gone := planFor(lost)
		why := j.why()
		j.mu.Unlock()
		switch {
		case gone != nil:
			why.Data = gone.called()
			return why
		case len(lost) == 0:
			return nil
		}
		said := []any{"data", len(lost), "tasks", len(plan.tasks)}
		if why.Node != "" { // otherwise nodes did not give it, and that has been said
			said = append(said, "node", why.Node)
		}
		j.opt.Log.Info("what was lost with a node is made again", said...)
		r := j.replay(plan)
		if err = r.run(lost); err == nil {
			r.adopt(lost)
		}
		r.end()
		if _, again := err.(*NodeLostError); err != nil && !again {
			return err
		}
	}
	return err
}

// replay executes a plan as a job of its own, on data of other names.
type replay struct {
	*job
	parent *job
	plan   plan
	latest map[*entry]*chain
	all    []*entry // that are not needed afterwards
	reads  map[instance]*graph.Datum
	stay   []*entry // second copies that do not make room meanwhile
}

// chain is a datum as it is made again: one memory for successive versions.
type chain struct {
	datum graph.Datum
	entry *entry
	as    uint32 // the version of the datum that the chain has when what was submitted has ended
}

func (j *job) replay(p plan) *replay {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &replay{job: newJob(j.host, j.fleet, j.ctx, j.nodes), parent: j, plan: p, latest: map[*entry]*chain{}, reads: map[instance]*graph.Datum{}}
	r.again = true
	for x, s := range p.sources {
		if c := x.of.second.copy; c != nil && s.ref == c.ref && c.spare {
			c.spare, r.stay = false, append(r.stay, c)
		}
	}
	r.stories, r.retold, r.graph.Observer = j.stories, map[graph.TaskID]graph.TaskID{}, nil
	return r
}

// run submits the tasks of the plan, and waits for them. Of what is lost second copies may
// have the latest version: then it is copied from there.
func (r *replay) run(lost []*entry) error {
	r.mu.Lock()
	err := r.begin()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	r.mu.Lock()
	var specs []*graph.Spec
	for i, x := range r.plan.tasks {
		specs = append(specs, r.spec(x))
		if x.job == r.parent.order && r.stories != nil {
			r.retold[graph.TaskID(i+1)] = x.id
		}
	}
	for _, e := range lost {
		if from, there := r.plan.sources[instance{e, e.version}]; there {
			c := r.chain(e, from, true)
			c.as, r.latest[e] = e.version, c
			specs = append(specs, &graph.Spec{Op: &versions.Op{Name: opNone}, Operands: []graph.Operand{{Datum: &c.datum, Mode: graph.InOut}}})
		}
	}
	// What only the plan needs makes room when no task of it is left that uses it.
	scrap := map[*entry]bool{}
	for _, x := range r.all {
		scrap[x] = true
	}
	for _, e := range lost {
		if c := r.latest[e]; c != nil && c.as == e.version {
			delete(scrap, c.entry)
		}
	}
	r.unused = func(x *entry) {
		if scrap[x] {
			r.discard(x)
		}
	}
	for _, s := range specs {
		for _, o := range s.Operands {
			r.data.of(o.Datum).users++
		}
	}
	r.mu.Unlock()
	for _, s := range specs {
		if err == nil {
			_, err = r.Submit(s)
		}
		r.mu.Lock()
		for _, o := range s.Operands {
			r.leave(r.data.of(o.Datum))
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish()
	return r.Err()
}

// spec returns a task that makes the results of another one again.
func (r *replay) spec(x *record) *graph.Spec {
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
func (r *replay) datumFor(e *entry, version uint32, mode graph.Mode) *graph.Datum {
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
				r.data.put(d, e)
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
func (r *replay) chain(e *entry, from source, copied bool) *chain {
	set := e.set
	if set == 0 {
		set = r.parent.number
	}
	x := &entry{facts: e.facts, set: set, ref: r.name(set), copyOf: e}
	if copied {
		name := from.ref
		x.version, x.copied, x.holders = 1, &name, slices.Clone(from.holders)
	}
	c := &chain{entry: x}
	e.label.set(&c.datum)
	r.data.put(&c.datum, x)
	x.show(&c.datum)
	r.all = append(r.all, x)
	return c
}

// adopt gives data what was made for them.
func (r *replay) adopt(lost []*entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range lost {
		c := r.latest[e]
		if c == nil || c.as != e.version || !e.lost() {
			continue
		}
		for i, n := range r.nodes { // some may have what they could not be asked for
			if i > 0 && !r.sched.absent(i) {
				n.memory.forget(e)
				r.where.drop(i, e.ref)
			}
		}
		e.ref, e.holders, e.shares = c.entry.ref, c.entry.holders, nil
		c.entry.holders = nil
		for _, h := range e.holders {
			m := &r.nodes[h].memory
			m.forget(c.entry)
			m.pin([]*entry{e})
			m.unpin([]*entry{e})
		}
	}
	for d, e := range r.parent.data.all() {
		e.show(d)
	}
}

// end has nodes forget what only the plan needed.
func (r *replay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		r.discard(x)
	}
	for _, c := range r.stay {
		c.spare = true
	}
	delete(r.starved, &r.placement)
	defer r.relieve(&r.placement)
	number := r.number
	if number == 0 {
		return
	}
	r.fleet.again += int64(r.done)
	r.mu.Unlock()
	r.stopping()
	r.host.end(number, r.nodes, nil)
	r.mu.Lock()
	r.number, r.data, r.entries, r.names, r.homes = 0, nil, nil, nil, nil
	r.graph.Release()
}
