package la

import "github.com/tessera-la/tessera/exec"

// session returns the engine for calls that belong together: e itself or, in
// place of a nil one, an engine that behaves as a nil one does, but whose
// workers start with the first tasks and stay until end is called, which must
// be. It is for one goroutine.
func (e *Engine) session() (s *Engine, end func()) {
	if e != nil {
		return e, func() {}
	}
	s = &Engine{table: buildTable(), selector: preferred(), brief: true}
	return s, func() {
		if s.rt != nil {
			s.rt.Close()
		}
	}
}

// runtime returns the workers for one call, and the function that gives them
// back.
func (e *Engine) runtime() (rt exec.Runtime, end func(), err error) {
	switch {
	case e == nil:
		local, err := exec.NewLocal(exec.Options{Selector: preferred()})
		if err != nil {
			return nil, nil, err
		}
		return local, func() { local.Close() }, nil
	case e.rt == nil: // a session's first tasks
		local, err := e.start()
		if err != nil {
			return nil, nil, err
		}
		e.rt = local
	}
	return e.rt, func() {}, nil
}
