package engine

import "github.com/tessera-la/tessera/exec"

// Session returns an engine for several calls that should share workers, and end, which the
// caller must call. For a non-nil e it is e itself. For nil it is a session: a temporary engine
// that chooses as a nil Engine does, starts its workers in the first call with tasks, and closes
// them in end. One goroutine uses a session.
func (e *Engine) Session() (s *Engine, end func()) {
	if e != nil {
		return e, func() {}
	}
	s = &Engine{table: buildTable(), selector: preferred(), session: true}
	return s, func() {
		if s.rt != nil {
			s.rt.Close()
		}
	}
}

// acquire returns the workers for one call; the caller calls end after it.
func (e *Engine) acquire() (rt exec.Runtime, end func(), err error) {
	switch {
	case e == nil: // workers for this call only
		local, err := exec.NewLocal(exec.Options{Selector: preferred()})
		if err != nil {
			return nil, nil, err
		}
		return local, func() { local.Close() }, nil
	case e.rt == nil: // the first call of a session starts them
		local, err := e.start()
		if err != nil {
			return nil, nil, err
		}
		e.rt = local
	}
	return e.rt, func() {}, nil
}
