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
func (s *driver) dropAll() {
	for _, n := range s.nodes {
		n.drop()
	}
}

// datum makes a datum known.
func (s *driver) datum(c *core.Core, d *graph.Datum) {
	if !s.lossy && c.Knows(d) { // a recovery's numbers are in no order
		return
	}
	k := c.Datum(d)
	for k >= len(s.values) {
		s.values = append(s.values, value{})
	}
	if v := &s.values[k]; v.of == nil {
		v.of, v.bytes = d, d.Bytes
		for _, i := range c.Holders(k) {
			v.nodes = append(v.nodes, int32(i))
		}
		if c != s.program { // else the holder is the program's memory
			v.lent = slices.Clone(v.nodes)
		}
	}
}

// place gives tasks to nodes as long as they have free slots.
func (s *driver) place() {
	cost := s.m.Costs.Give
	for t, i := range s.core.Assignments() {
		s.needs = s.core.Give(t, i, s.needs[:0])
		cost := cost
		if s.opt.Decided != nil {
			cost += s.opt.Decided()
		}
		s.clock.work(0, cost)
		n, e := s.nodes[i], s.spare
		if e == nil {
			e = &execution{}
		} else {
			s.spare = e.next
		}
		*e = execution{task: t, needs: append(e.needs[:0], s.needs...)}
		if len(n.batch) == 0 {
			s.unsent = append(s.unsent, i)
		}
		n.batch = append(n.batch, e)
	}
	for _, t := range s.core.TakeUnfit() {
		s.fail(fmt.Errorf("sim: no node can execute task %d, %s, or has the memory for it", t.ID(), t.Op.OpName()))
	}
	for _, i := range s.unsent {
		s.nodes[i].sendBatch()
	}
	s.unsent = s.unsent[:0]
	if s.lossy {
		s.recompute()
	}
}

// fire implements [handler]: the driver reads its inbox.
func (s *driver) fire(uint64) {
	s.readScheduled = false
	if s.clock.free > s.now { // the program has used the driver meanwhile
		s.scheduleRead()
		return
	}
	m := s.inbox[s.taken]
	s.inbox[s.taken] = ended{}
	if s.taken++; 2*s.taken >= len(s.inbox) {
		s.inbox = s.inbox[:copy(s.inbox, s.inbox[s.taken:])]
		s.taken = 0
	}
	s.handle(m)
	s.scheduleRead()
}

// handle handles a message of a node.
func (s *driver) handle(m ended) {
	if m.news != nil {
		s.clock.work(s.now, s.m.Costs.Message)
		m.news()
		s.place()
		return
	}
	tasks := 0
	for _, e := range m.ends {
		if e.task != 0 { // 0 says that all tasks have been given back
			tasks++
		}
	}
	s.clock.work(s.now, s.m.Costs.Message+float64(tasks)*s.m.Costs.End)
	id := m.node.id
	s.core.NoteEnded(id, tasks, tasks, core.At(duration(s.now)))
	for _, f := range m.flows {
		s.core.Learned.LearnTransfer(f.from, id, 1, f.bytes, duration(f.took))
	}
	for _, e := range m.ends {
		if e.back {
			if e.task == 0 {
				s.program.EndRecall(id) // a recovery asks for no tasks back
			} else {
				s.core.ReturnTask(id, e.task)
			}
			continue
		}
		if e.lacks != nil {
			s.core.ReturnLacking(id, e.task, e.lacks)
			continue
		}
		t := s.core.EndTask(id, e.task, max(duration(e.took), time.Nanosecond))
		if t == nil {
			continue
		}
		j := t.Graph().Owner.(*job)
		s.freed = j.end(t, s.freed[:0])
		s.core.Push(s.freed, id)
		clear(s.freed)
	}
	m.node.old = m
	s.fetchEarly()
	s.place()
	for _, r := range s.core.Reclaim() {
		n := s.nodes[r.From]
		s.calendar.schedule(n.arrival(s.clock.free), &recall{n, r.Tasks, r.Count}, 0)
	}
}

// fetchEarly makes the driver fetch values that no task of the program uses any more, while others
// compute.
func (s *driver) fetchEarly() {
	for x := range s.program.EarlyFetches() {
		if v := &s.values[x.Datum]; !v.has(0, x.Version) {
			s.nodes[0].fetch(v, x).then = func() {
				if s.values[x.Datum].has(0, x.Version) { // else its source is lost
					s.program.NoteFetched(x)
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
func (s *driver) newJob(ctx context.Context, by *parent, core *core.Core) *clusterJob {
	j := &clusterJob{driver: s, core: core}
	j.begin(s.world, ctx, by, s.clock)
	j.ready = func(tasks []*graph.Task) {
		core.Push(tasks, -1)
		s.place()
	}
	j.ends = func(c *crew, f flight, w int, freed []*graph.Task) []*graph.Task {
		return s.of[c.node].ended(f, w, freed)
	}
	j.stepAside = func(c *crew, t *graph.Task, freed []*graph.Task) []*graph.Task {
		return s.of[c.node].gate.StepAside(t, freed)
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
func (s *driver) recompute() {
	if m := s.recovering; m != nil {
		if m.done < m.count && !s.core.IsHalted() {
			return
		}
		s.losses.Again += m.done
		s.remaking.Adopt()
		s.recovering, s.remaking, s.core = nil, nil, s.program
		s.dropAll()
	}
	if !s.core.IsHalted() {
		return
	}
	r, lost := s.program.Recover()
	switch {
	case lost != nil:
		lost.Node = s.latest
		s.fail(lost)
		return
	case r == nil:
		s.program.Resume()
		s.place()
		return
	}
	s.losses.Data, s.losses.Bytes = s.losses.Data+r.Lost, s.losses.Bytes+r.Bytes
	s.core, s.remaking = r.Core, r
	j := s.newJob(nil, nil, r.Core)
	s.recovering = j
	var ready []*graph.Task
	for _, x := range r.Specs {
		for i := range x.Operands {
			s.datum(r.Core, x.Operands[i].Datum)
		}
		s.clock.work(s.now, s.m.Costs.Driver)
		t, now := j.graph.Add(x)
		if j.count++; now {
			ready = append(ready, t)
		}
	}
	r.Push(ready, -1)
	s.place()
}

// awaitRecovery waits until all lost data that a job needs are computed again.
func (s *driver) awaitRecovery(j *clusterJob) {
	for j.Err() == nil && j.core.HaltIfLost() {
		s.place()
		j.await(func() bool { return s.recovering == nil && !j.core.Paused })
	}
}
