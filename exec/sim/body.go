package sim

import (
	"context"
	"iter"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Body is what a task with children does: it submits them to a job of its own, and may wait for
// them. It is what the op's version does with the job of exec.Nested, and the task ends when all
// children have ended. It must wait for nothing but the job.
type Body func(c *versions.Call, children exec.Job) error

// parent is a task with children, from when it has taken what it costs itself. Its body is a
// coroutine: what it waits for happens meanwhile.
type parent struct {
	crew   *crew
	of     *job
	flight flight
	worker int
	err    error

	next  func() (struct{}, bool) // has the body go on, until it waits or has returned
	stop  func()
	yield func(struct{}) bool
	so    func() bool // what it waits for; nil: it does not
	noted bool        // it is going to look
	over  bool        // all has ended
}

// body returns what a task does that has children, nil if it has none.
func (s *world) body(t *graph.Task) Body {
	if s.opt.Bodies == nil {
		return nil
	}
	op, _ := t.Op.(*versions.Op)
	return s.opt.Bodies[op]
}

// bears has a task of a worker begin to have children. It appends the tasks to freed that may
// begin in its place.
func (c *crew) bears(body Body, of *job, f flight, w int, freed []*graph.Task) []*graph.Task {
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

// job returns the one of the children: the nodes below execute them, if the task has come from
// above, or else the node itself.
func (p *parent) job(ctx context.Context) exec.Job {
	c := p.crew
	if c.drives != nil && p.of.clock != c.drives {
		opt := c.s.opt.Nodes
		opt.Idle = false
		s := newDrive(c.s, opt, c.below, c.drives)
		return s.newJob(ctx, p, s.program)
	}
	by := c.drives
	if by == nil {
		by = &c.own
	}
	return newLocalJob(c.s, ctx, c, p, by)
}

// pause waits until something may be so.
func (p *parent) pause(so func() bool) {
	p.so = so
	p.yield(struct{}{}) // false if the runtime is closed, which the job says, too
	p.so = nil
}

// wake has the body go on if what it waits for is so.
func (p *parent) wake() {
	if p.so != nil && !p.noted && p.so() {
		p.noted = true
		p.crew.s.calendar.note(p.crew.s.now, p, 0)
	}
}

// happens implements [handler]: the body goes on.
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
		c.s.fail(&exec.TaskError{Task: p.flight.task.ID(), Op: p.flight.task.Op.OpName(), Worker: c.first + p.worker, Err: p.err})
		return
	}
	c.freed = p.of.ends(c, p.flight, p.worker, c.freed[:0])
	c.push(c.freed)
	clear(c.freed)
}
