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
func (w *world) throttled() float64 {
	if w.paused {
		return w.full + w.now - w.pause
	}
	return w.full
}

// Workers implements [exec.Runtime].
func (w *world) Workers() []exec.Worker { return slices.Clone(w.workers) }

// Target implements [exec.Runtime].
func (w *world) Target() *versions.Target { return w.workers[0].Target }

// Selector implements [exec.Runtime].
func (w *world) Selector() *versions.Selector { return w.selector }

// Close implements [exec.Runtime].
func (w *world) Close() error {
	w.closed = true
	for p := range w.parents {
		p.stop()
	}
	return nil
}

// Now returns the virtual time, in seconds.
func (w *world) Now() float64 { return w.now }

// fail stops the simulation with err, unless it has failed before.
func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// over reports whether the simulation has failed or was cancelled.
func (w *world) over() bool {
	if c := w.opt.Context; c != nil && c.Err() != nil {
		w.fail(context.Cause(c))
	}
	return w.err != nil
}

// until handles all events up to the time at.
func (w *world) until(at float64) {
	for len(w.calendar.heap) > 0 && w.calendar.heap[0].at <= at {
		w.step()
	}
	w.now = max(w.now, at)
}

// step handles the next event. It reports false if there is none.
func (w *world) step() bool {
	if len(w.calendar.heap) == 0 {
		w.fail(errStuck)
		return false
	}
	at, what := w.calendar.next()
	if !(at <= mostSeconds) {
		w.fail(errLong)
		return false
	}
	w.now = max(w.now, at)
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
func (w *world) conversion(t *graph.Task, mode graph.Mode) (seconds, files float64) {
	c := &w.m.Costs
	if c.Serial == 0 {
		return 0, w.now
	}
	n := 0.0
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&mode != 0 {
			n += float64(o.Datum.Bytes)
		}
	}
	if c.Files > 0 {
		w.files = max(w.files, w.now) + n/c.Files
	}
	return c.Serial * n, w.files
}

// converted returns when the conversion on an otherwise idle core is over.
func (w *world) converted(t *graph.Task, mode graph.Mode) float64 {
	seconds, files := w.conversion(t, mode)
	return max(w.now+seconds, files)
}

// noise returns the random factor of the next time.
func (w *world) noise() float64 {
	if w.m.Noise.Spread == 0 {
		return 1
	}
	return math.Exp(w.m.Noise.Spread * w.rng.NormFloat64())
}
