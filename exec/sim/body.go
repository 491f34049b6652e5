package sim

import (
	"context"
	"iter"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Body is the code of a task with children, as the op's version has it with the job of exec.Nested:
// it submits children, and may wait for them. The task ends when all children have ended. A Body
// must wait for nothing but the job.
type Body func(c *versions.Call, children exec.Job) error

// parent is a task with children that has run its own cost. Its body is a coroutine: events go on
// while it waits.
type parent struct {
	crew   *crew
	of     *job
	flight flight
	worker int
	err    error

	next  func() (struct{}, bool) // resumes the body until it waits or returns
	stop  func()
	yield func(struct{}) bool
	so    func() bool // the condition that it waits for; nil: it does not wait
	noted bool        // an event that resumes it is in the calendar
	over  bool        // body and children have ended
}

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
	s := c.s
	p := &parent{crew: c, of: of, flight: f, worker: w}
	call := &versions.Call{Params: f.task.Params, Ctx: of.ctx}
	for i := range f.task.Len() {
		call.Args = append(call.Args, f.task.Operand(i).Datum.Value)
	}
	in := p.job(of.ctx)
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
	p.noted = true
	s.calendar.note(s.now, p, 0)
	if of.aside != nil {
		freed = of.aside(c, f.task, freed)
	}
	return freed
}

// job returns the children's job. The nodes below execute them if the task has come from above,
// else the node itself does.
func (p *parent) job(ctx context.Context) exec.Job {
	c := p.crew
	if c.asDriver != nil && p.of.clock != c.asDriver {
		opt := c.s.opt.Nodes
		opt.Idle = false
		s := newDriver(c.s, opt, c.below, c.asDriver)
		return s.newJob(ctx, p, s.program)
	}
	by := c.asDriver
	if by == nil {
		by = &c.own
	}
	return newLocalJob(c.s, ctx, c, p, by)
}

// pause suspends the body until so() may hold.
func (p *parent) pause(so func() bool) {
	p.so = so
	p.yield(struct{}{}) // false if the runtime is closed; the job reports that
	p.so = nil
}

// wake resumes the body if its condition holds.
func (p *parent) wake() {
	if p.so != nil && !p.noted && p.so() {
		p.noted = true
		p.crew.s.calendar.note(p.crew.s.now, p, 0)
	}
}

// happens implements [handler]: it resumes the body.
func (p *parent) happens(uint64) {
	p.noted = false
	if p.over {
		return
	}
	if _, more := p.next(); more {
		return
	}
	c := p.crew
	p.over = true
	delete(c.s.parents, p)
	if p.err != nil {
		c.s.fail(&exec.TaskError{Task: p.flight.task.ID(), Op: p.flight.task.Op.OpName(), Worker: c.first + p.worker,
			Err: p.err})
		return
	}
	c.freed = p.of.ends(c, p.flight, p.worker, c.freed[:0])
	c.push(c.freed)
	clear(c.freed)
}
