package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

func newWorld(opt Options) (*world, error) {
	m := opt.Machine
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if opt.Window == 0 {
		opt.Window = exec.DefaultWindow
	}
	selector, err := versions.NewSelector(versions.Config{Mode: versions.Static})
	if err != nil {
		return nil, err
	}
	s := &world{opt: opt, m: m, selector: selector, rng: rand.New(rand.NewPCG(m.Noise.Seed, 0))}
	if opt.Record {
		s.rec = &recorder{}
	}
	return s, nil
}

// work adds work of some seconds, which begins now or when the clock is free.
func (c *clock) work(now, seconds float64) {
	c.free = max(c.free, now) + seconds
	c.worked += seconds
}

// workedBy returns how long it has worked until now.
func (c *clock) workedBy(now float64) float64 { return c.worked - max(c.free-now, 0) }

// throttled returns how long the window has been full.
func (s *world) throttled() float64 {
	if s.paused {
		return s.full + s.now - s.pause
	}
	return s.full
}

// Workers implements [exec.Runtime].
func (s *world) Workers() []exec.Worker { return slices.Clone(s.workers) }

// Target implements [exec.Runtime].
func (s *world) Target() *versions.Target { return s.workers[0].Target }

// Selector implements [exec.Runtime].
func (s *world) Selector() *versions.Selector { return s.selector }

// Close implements [exec.Runtime].
func (s *world) Close() error {
	s.closed = true
	for p := range s.parents {
		p.stop()
	}
	return nil
}

// Now returns the virtual time, in seconds.
func (s *world) Now() float64 { return s.now }

// fail stops the simulation with err, unless it has failed before.
func (s *world) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// over reports whether the simulation has failed or was cancelled.
func (s *world) over() bool {
	if c := s.opt.Context; c != nil && c.Err() != nil {
		s.fail(context.Cause(c))
	}
	return s.err != nil
}

// until handles all events up to the time at.
func (s *world) until(at float64) {
	for len(s.calendar.heap) > 0 && s.calendar.heap[0].at <= at {
		s.step()
	}
	s.now = max(s.now, at)
}

// step handles the next event. It reports false if there is none.
func (s *world) step() bool {
	if len(s.calendar.heap) == 0 {
		s.fail(errStuck)
		return false
	}
	at, what := s.calendar.next()
	if !(at <= mostSeconds) {
		s.fail(errLong)
		return false
	}
	s.now = max(s.now, at)
	what.of.fire(what.arg)
	return true
}

// errStuck says that tasks are left and no event is.
var errStuck = errors.New("sim: nothing happens any more, and tasks are left")

// errLong says that the time exceeds a time.Duration.
var errLong = fmt.Errorf("sim: that takes more than %g s", mostSeconds)

// mostSeconds is 285 years.
const mostSeconds = 9e9

// conversion returns how long a thread takes to convert the operands of a task with a mode, and
// when the shared file system has read or written them.
func (s *world) conversion(t *graph.Task, mode graph.Mode) (seconds, files float64) {
	c := &s.m.Costs
	if c.Serial == 0 {
		return 0, s.now
	}
	n := 0.0
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&mode != 0 {
			n += float64(o.Datum.Bytes)
		}
	}
	if c.Files > 0 {
		s.files = max(s.files, s.now) + n/c.Files
	}
	return c.Serial * n, s.files
}

// converted returns when the conversion on an otherwise idle core is over.
func (s *world) converted(t *graph.Task, mode graph.Mode) float64 {
	seconds, files := s.conversion(t, mode)
	return max(s.now+seconds, files)
}

// noise returns the random factor of the next time.
func (s *world) noise() float64 {
	if s.m.Noise.Spread == 0 {
		return 1
	}
	return math.Exp(s.m.Noise.Spread * s.rng.NormFloat64())
}
