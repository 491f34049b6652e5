package sim

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// Runtime is an exec.Runtime on one node in virtual time. It is for one goroutine.
type Runtime struct {
	*world
	crew  *crew
	fixed graph.Locations
}

// New returns a runtime on the first node of a machine. The error is a *MachineError.
func New(opt Options) (*Runtime, error) {
	s, err := newWorld(opt)
	if err != nil {
		return nil, err
	}
	r := &Runtime{world: s}
	k := s.m.kind(s.m.Nodes[0].Kind)
	r.crew = s.crew(0, newSpeeds(k), newHost(s, k), true)
	r.crew.ends = r.ends
	for _, w := range s.workers {
		r.fixed |= 1 << uint(w.Location)
	}
	return r, nil
}

// NewJob implements [exec.Runtime].
func (s *Runtime) NewJob(ctx context.Context) exec.Job {
	j := &localJob{s: s}
	j.begin(s.world, ctx)
	j.ready = func(tasks []*graph.Task) { s.crew.push(tasks, -1) }
	return j
}

// ends ends a task that a worker has executed.
func (s *Runtime) ends(f flight, w int, freed []*graph.Task) []*graph.Task {
	j := f.task.Graph().Owner.(*job)
	if s.rec != nil {
		s.rec.ended(j, f.task, f.cost.version, w, f.start, s.now)
	}
	if s.fixed&(s.fixed-1) != 0 {
		f.task.Used(s.workers[w].Location, s.fixed)
	}
	return j.end(f.task, freed)
}

// localJob is an [exec.Job] on one node.
type localJob struct {
	job
	s *Runtime
}

// Submit implements [exec.Job].
func (j *localJob) Submit(spec *graph.Spec) (graph.TaskID, error) {
	spec.Check()
	if err := j.admit(); err != nil {
		return 0, err
	}
	j.s.works(j.s.m.Costs.Submit)
	if j.s.until(j.s.free); j.Err() != nil {
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
	return j.Err()
}
