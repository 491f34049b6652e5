package sim

import (
	"iter"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// body returns the body of a task with children, nil for other tasks.
func (s *world) body(t *graph.Task) Body {
	if s.opt.Bodies == nil {
		return nil
	}
	op, _ := t.Op.(*versions.Op)
	return s.opt.Bodies[op]
}

// beginChildren starts the body of a worker's task. It appends the tasks that may start in the
// task's place to freed.
func (c *crew) beginChildren(body Body, of *job, f flight, w int, freed []*graph.Task) []*graph.Task {
	s := c.world
	p := &parent{crew: c, of: of, flight: f, worker: w}
	call := &versions.Call{Params: f.task.Params, Ctx: of.ctx}
	for i := range f.task.Len() {
		call.Args = append(call.Args, f.task.Operand(i).Datum.Value)
	}
	in := s.children(p)
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		if p.err = body(call, in); p.err == nil {
			p.err = in.Wait()
		}
	})
	if s.parents == nil {
		s.parents = map[*parent]bool{}
	}
	s.parents[p] = true
	p.scheduled = true
	s.calendar.schedule(s.now, p, 0)
	if of.aside != nil {
		freed = of.aside(c, f.task, freed)
	}
	return freed
}

// pause suspends the body until condition() may hold.
func (p *parent) pause(condition func() bool) {
	p.condition = condition
	p.yield(struct{}{}) // false if the runtime is closed; the job reports that
	p.condition = nil
}

// wake resumes the body if its condition holds.
func (p *parent) wake() {
	if p.condition != nil && !p.scheduled && p.condition() {
		p.scheduled = true
		p.crew.world.calendar.schedule(p.crew.world.now, p, 0)
	}
}
