package sim

import "github.com/tessera-la/tessera/exec"

// fire implements [handler]: it resumes the body.
func (p *parent) fire(uint64) {
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
