package sim

import (
	"iter"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// body returns the body of a task with children, nil for other tasks.
func (w *world) body(t *graph.Task) Body {
	if w.opt.Bodies == nil {
		return nil
	}
	op, _ := t.Op.(*versions.Op)
	return w.opt.Bodies[op]
}

// beginChildren starts the body of a task of job j, which worker has run for the task's own cost. The task now
// waits for its children. So others may start in its place: beginChildren appends them to freed, the tasks that
// the crew hands to its queue next.
//
// The body is a coroutine, by iter.Pull: p.next resumes it, and it runs alone until it calls p.yield, in pause.
// Then p.next returns, and events go on.
//
//	event ─► parent.fire ─► p.next ─► body ─┬─► pause ─► p.yield ─► p.next returns true
//	                                        └─► return ───────────► p.next returns false
//
// The first call of p.next sets p.yield before the body runs. So p.yield is set wherever the body may pause.
func (c *crew) beginChildren(body Body, j *job, f flight, worker int, freed []*graph.Task) []*graph.Task {
	s := c.world
	p := &parent{crew: c, of: j, flight: f, worker: worker}
	call := &versions.Call{Params: f.task.Params, Ctx: j.ctx}
	for i := range f.task.Len() {
		call.Args = append(call.Args, f.task.Operand(i).Datum.Value)
	}
	children := s.children(p)
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		if p.err = body(call, children); p.err == nil {
			p.err = children.Wait()
		}
	})
	if s.parents == nil {
		s.parents = map[*parent]bool{}
	}
	s.parents[p] = true
	p.scheduled = true
	s.calendar.schedule(s.now, p, 0)
	if j.stepAside != nil {
		freed = j.stepAside(c, f.task, freed)
	}
	return freed
}

// pause suspends the body, which calls it, until condition() may hold.
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
