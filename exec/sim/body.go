package sim

import "github.com/tessera-la/tessera/exec"

// fire implements [handler]: it resumes the body.
func (p *parent) fire(uint64) {
	p.scheduled = false
	if p.ended {
		return
	}
	if _, more := p.next(); more {
		return
	}
	c := p.crew
	p.ended = true
	delete(c.world.parents, p)
	if p.err != nil {
		c.world.fail(&exec.TaskError{Task: p.flight.task.ID(), Op: p.flight.task.Op.OpName(), Worker: c.first + p.worker,
			Err: p.err})
		return
	}
	c.freed = p.of.ends(c, p.flight, p.worker, c.freed[:0])
	c.push(c.freed)
	clear(c.freed)
}
