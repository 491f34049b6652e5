package engine

import "github.com/tessera-la/tessera/exec"

// Session returns an engine for several calls that should share workers, and end, which the
// caller must call. For a non-nil e it is e itself. For nil it is a session: a temporary engine
// that chooses as a nil Engine does, takes workers in the first call with tasks, and keeps them
// until end. One goroutine uses a session.
func (e *Engine) Session() (s *Engine, end func()) {
	if e != nil {
		return e, func() {}
	}
	s = &Engine{table: buildTable(), selector: preferred(), plainUpTo: alwaysDirect, session: true}
	return s, func() {
		if s.crew != nil {
			theCrews().leave(s.crew, !s.unclean)
		}
	}
}

// acquire returns the workers for one call. The caller calls end after it, which is clean if no task of it is left.
func (e *Engine) acquire() (rt exec.Runtime, end func(clean bool), err error) {
	switch {
	case e == nil:
		c, err := theCrews().take()
		if err != nil {
			return nil, nil, err
		}
		return c.rt, func(clean bool) { theCrews().leave(c, clean) }, nil
	case e.session:
		if e.crew == nil {
			if e.crew, err = theCrews().take(); err != nil {
				return nil, nil, err
			}
			e.rt = e.crew.rt
		}
		return e.rt, func(clean bool) { e.unclean = e.unclean || !clean }, nil
	}
	return e.rt, func(bool) {}, nil
}
