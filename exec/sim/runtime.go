package sim

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// Runtime is an exec.Runtime on one node in virtual time. One goroutine uses it.
type Runtime struct {
	*world
	crew *crew
}

// New returns a runtime on the first node of a machine. The error is a *MachineError.
func New(opt Options) (*Runtime, error) {
	s, err := newWorld(opt)
	if err != nil {
		return nil, err
	}
	r := &Runtime{world: s}
	s.children = s.localChildren
	k := s.m.kind(s.m.Nodes[0].Kind)
	r.crew = s.addCrew(0, newSpeeds(k), newHost(s, k), &s.clock, true)
	for _, w := range s.workers[:k.Tasks()] {
		r.crew.fixed |= 1 << uint(w.Location)
	}
	return r, nil
}

// NewJob implements [exec.Runtime].
func (r *Runtime) NewJob(ctx context.Context) exec.Job {
	return newLocalJob(r.world, ctx, r.crew, nil, &r.clock)
}

// localChildren returns the job of p's children if p's node executes them itself.
func (w *world) localChildren(p *parent) exec.Job {
	by := p.crew.asDriver
	if by == nil {
		by = &p.crew.own
	}
	return newLocalJob(w, p.of.ctx, p.crew, p, by)
}

// localJob is an [exec.Job] on one node.
type localJob struct {
	job
	on *crew
}

// newLocalJob returns a job whose tasks a crew executes: the children of by, if by is not nil.
func newLocalJob(s *world, ctx context.Context, c *crew, by *parent, k *clock) *localJob {
	j := &localJob{on: c}
	j.begin(s, ctx, by, k)
	j.ready = c.push
	j.ends = j.ended
	return j
}

// ended ends a task that a worker has executed.
func (j *localJob) ended(c *crew, f flight, w int, freed []*graph.Task) []*graph.Task {
	if c.world.rec != nil {
		c.world.rec.ended(&j.job, f.task, f.cost.version, c.first+w, f.start, f.end)
	}
	if fixed := c.fixed; fixed&(fixed-1) != 0 || fixed != 0 && c.devices != nil {
		if c.device(w) != nil {
			fixed = 0
		}
		f.task.Used(c.world.workers[c.first+w].Location, fixed)
	}
	return j.end(f.task, freed)
}

// Submit implements [exec.Job].
func (j *localJob) Submit(spec *graph.Spec) (graph.TaskID, error) {
	spec.Check()
	if err := j.on.unmet(spec); err != nil {
		return 0, err
	}
	if err := j.admit(); err != nil {
		return 0, err
	}
	j.clock.work(j.w.now, j.w.m.Costs.Submit)
	if j.until(j.clock.free); j.Err() != nil {
		return 0, j.Err()
	}
	t, ready := j.graph.Add(spec)
	j.count++
	id := t.ID()
	if ready {
		j.one[0] = t
		j.ready(j.one[:])
	}
	return id, nil
}

// Wait implements [exec.Job].
func (j *localJob) Wait() error {
	j.finish()
	if j.Err() == nil {
		j.until(j.on.flush())
	}
	return j.Err()
}
