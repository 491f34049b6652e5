package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// dropAll makes all nodes drop values that no task will read.
func (d *driver) dropAll() {
	for _, n := range d.nodes {
		n.drop()
	}
}

// datum makes a datum known.
func (d *driver) datum(c *core.Core, x *graph.Datum) {
	if !d.lossy && c.Knows(x) { // a recovery's numbers are in no order
		return
	}
	k := c.Datum(x)
	for k >= len(d.values) {
		d.values = append(d.values, value{})
	}
	if v := &d.values[k]; v.of == nil {
		v.of, v.bytes = x, x.Bytes
		for _, i := range c.Holders(k) {
			v.nodes = append(v.nodes, int32(i))
		}
		if c != d.program { // else the holder is the program's memory
			v.lent = slices.Clone(v.nodes)
		}
	}
}

// place gives tasks to nodes as long as they have free slots.
func (d *driver) place() {
	cost := d.m.Costs.Give
	for t, i := range d.core.Assignments() {
		d.needs = d.core.Give(t, i, d.needs[:0])
		cost := cost
		if d.opt.Decided != nil {
			cost += d.opt.Decided()
		}
		d.clock.work(0, cost)
		n, e := d.nodes[i], d.spare
		if e == nil {
			e = &execution{}
		} else {
			d.spare = e.next
		}
		*e = execution{task: t, needs: append(e.needs[:0], d.needs...)}
		if len(n.batch) == 0 {
			d.unsent = append(d.unsent, i)
		}
		n.batch = append(n.batch, e)
	}
	for _, t := range d.core.TakeUnfit() {
		d.fail(fmt.Errorf("sim: no node can execute task %d, %s, or has the memory for it", t.ID(), t.Op.OpName()))
	}
	for _, i := range d.unsent {
		d.nodes[i].sendBatch()
	}
	d.unsent = d.unsent[:0]
	if d.lossy {
		d.recompute()
	}
}

// fire implements [handler]: the driver reads its inbox.
func (d *driver) fire(uint64) {
	d.readScheduled = false
	if d.clock.free > d.now { // the program has used the driver meanwhile
		d.scheduleRead()
		return
	}
	m := d.inbox[d.taken]
	d.inbox[d.taken] = ended{}
	if d.taken++; 2*d.taken >= len(d.inbox) {
		d.inbox = d.inbox[:copy(d.inbox, d.inbox[d.taken:])]
		d.taken = 0
	}
	d.handle(m)
	d.scheduleRead()
}

// handle handles a message of a node.
func (d *driver) handle(m ended) {
	if m.news != nil {
		d.clock.work(d.now, d.m.Costs.Message)
		m.news()
		d.place()
		return
	}
	tasks := 0
	for _, e := range m.ends {
		if e.task != 0 { // 0 says that all tasks have been given back
			tasks++
		}
	}
	d.clock.work(d.now, d.m.Costs.Message+float64(tasks)*d.m.Costs.End)
	id := m.node.id
	d.core.NoteEnded(id, tasks, tasks, core.At(duration(d.now)))
	for _, f := range m.flows {
		d.core.Learned.LearnTransfer(f.from, id, 1, f.bytes, duration(f.took))
	}
	for _, e := range m.ends {
		if e.back {
			if e.task == 0 {
				d.program.EndRecall(id) // a recovery asks for no tasks back
			} else {
				d.core.ReturnTask(id, e.task)
			}
			continue
		}
		if e.lacks != nil {
			d.core.ReturnLacking(id, e.task, e.lacks)
			continue
		}
		t := d.core.EndTask(id, e.task, max(duration(e.took), time.Nanosecond))
		if t == nil {
			continue
		}
		j := t.Graph().Owner.(*job)
		d.freed = j.end(t, d.freed[:0])
		d.core.Push(d.freed, id)
		clear(d.freed)
	}
	m.node.old = m
	d.fetchEarly()
	d.place()
	for _, r := range d.core.Reclaim() {
		n := d.nodes[r.From]
		d.calendar.schedule(n.arrival(d.clock.free), &recall{n, r.Tasks, r.Count}, 0)
	}
}

// fetchEarly makes the driver fetch values that no task of the program uses any more, while others
// compute.
func (d *driver) fetchEarly() {
	for x := range d.program.EarlyFetches() {
		if v := &d.values[x.Datum]; !v.has(0, x.Version) {
			d.nodes[0].fetch(v, x).then = func() {
				if d.values[x.Datum].has(0, x.Version) { // else its source is lost
					d.program.NoteFetched(x)
				}
			}
		}
	}
}

// recall is a message that asks a node to give tasks back.
type recall struct {
	n     *node
	tasks []uint64
	most  int
}

// fire implements [handler].
func (r *recall) fire(uint64) {
	r.n.crew.shares[0].receive(r.n.driver.m.Network.Message, func() { r.n.giveBack(r.tasks, r.most) })
}

// newJob returns a job: that of by's children if by is not nil.
func (d *driver) newJob(ctx context.Context, by *parent, core *core.Core) *clusterJob {
	j := &clusterJob{driver: d, core: core}
	j.begin(d.world, ctx, by, d.clock)
	j.ready = func(tasks []*graph.Task) {
		core.Push(tasks, -1)
		d.place()
	}
	j.ends = func(c *crew, f flight, w int, freed []*graph.Task) []*graph.Task {
		return d.of[c.node].ended(f, w, freed)
	}
	j.stepAside = func(c *crew, t *graph.Task, freed []*graph.Task) []*graph.Task {
		return d.of[c.node].gate.StepAside(t, freed)
	}
	return j
}

// Submit implements [exec.Job].
func (j *clusterJob) Submit(spec *graph.Spec) (graph.TaskID, error) {
	spec.Check()
	s := j.driver
	if err := j.admit(); err != nil {
		return 0, err
	}
	j.until(max(s.now, s.clock.free))
	for i := range spec.Operands {
		s.datum(j.core, spec.Operands[i].Datum)
	}
	s.clock.work(s.now, s.m.Costs.Driver)
	j.core.Unseal()
	j.core.Submitted(spec)
	t, ready := j.graph.Add(spec)
	j.count++
	id := t.ID()
	if ready {
		j.one[0] = t
		j.ready(j.one[:])
	}
	return id, j.Err()
}

// Wait implements [exec.Job]: it brings values to the program's memory that belong there.
func (j *clusterJob) Wait() error {
	s := j.driver
	j.core.Seal()
	s.fetchEarly()
	j.finish()
	if j.Err() != nil {
		return j.Err()
	}
	home, left := s.nodes[0], 0
	for again := true; again; again = s.lossy && j.Err() == nil && j.core.HaltIfLost() {
		if s.lossy {
			s.awaitRecovery(j)
		}
		for x := range j.core.LateFetches() {
			if v := &s.values[x.Datum]; !v.has(0, x.Version) {
				left++
				home.fetch(v, x).then = func() {
					left--
					j.changed()
				}
			}
		}
		j.await(func() bool { return left == 0 })
	}
	j.core.NoteAllHome()
	j.until(home.crew.flush())
	j.core.EndJob()
	s.dropAll()
	return j.Err()
}

// recompute computes lost data again when no task is under way, and then lets the program's tasks go
// on.
func (d *driver) recompute() {
	if m := d.recovering; m != nil {
		if m.done < m.count && !d.core.IsHalted() {
			return
		}
		d.losses.Again += m.done
		d.remaking.Adopt()
		d.recovering, d.remaking, d.core = nil, nil, d.program
		d.dropAll()
	}
	if !d.core.IsHalted() {
		return
	}
	r, lost := d.program.Recover()
	switch {
	case lost != nil:
		lost.Node = d.latest
		d.fail(lost)
		return
	case r == nil:
		d.program.Resume()
		d.place()
		return
	}
	d.losses.Data, d.losses.Bytes = d.losses.Data+r.Lost, d.losses.Bytes+r.Bytes
	d.core, d.remaking = r.Core, r
	j := d.newJob(nil, nil, r.Core)
	d.recovering = j
	var ready []*graph.Task
	for _, x := range r.Specs {
		for i := range x.Operands {
			d.datum(r.Core, x.Operands[i].Datum)
		}
		d.clock.work(d.now, d.m.Costs.Driver)
		t, now := j.graph.Add(x)
		if j.count++; now {
			ready = append(ready, t)
		}
	}
	r.Push(ready, -1)
	d.place()
}

// awaitRecovery waits until all lost data that a job needs are computed again.
func (d *driver) awaitRecovery(j *clusterJob) {
	for j.Err() == nil && j.core.HaltIfLost() {
		d.place()
		j.await(func() bool { return d.recovering == nil && !j.core.Paused })
	}
}
