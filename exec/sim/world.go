package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Options configures a [Runtime] or a [Cluster].
type Options struct {
	// Context, if not nil, can cancel a Cluster's work outside of jobs: to keep millions of values
	// takes seconds.
	Context context.Context
	// Machine is the machine to simulate. It must not be changed while it is in use.
	Machine *Machine
	// Policy decides which ready task a worker takes next, as exec.Options.Policy, and NewPolicy
	// makes the program's own. For a Cluster they are the policies of each node.
	Policy    dispatch.Kind
	NewPolicy func(dispatch.Machine) dispatch.Policy
	// Nodes decides which node of a Cluster gets a task, as cluster.Options: only Policy,
	// ByPriority, NewPolicy, Owner and Stay count.
	Nodes cluster.Options
	// Decided, if not nil, returns the seconds that the program's own policy, or a Cluster's
	// driver, has taken to decide since the last call. Built-in policies take the time in Costs.
	Decided func() float64
	// Bodies are the ops whose tasks have children, with the body that such a task runs after its
	// own cost. If a task is on a node of a Cluster that has nodes below it, these execute its
	// children.
	Bodies map[*versions.Op]Body
	// Window is the number of tasks of a job that may be in flight; 0 means
	// exec.DefaultWindow.
	Window int
	// Setup says that the time before the first Reset only prepares a Cluster: times of
	// Machine.Failures count from that Reset.
	Setup bool
	// Record keeps the events of each task, for Recording. It takes some hundred bytes for each.
	Record bool
}

// world is the common part of runtimes in virtual time: the clock, the calendar, the workers.
type world struct {
	opt      Options
	m        *Machine
	selector *versions.Selector
	workers  []exec.Worker
	crews    []*crew
	calendar calendar
	now      float64
	since    float64 // when counting began
	began    uint64  // runs started so far
	rng      *rand.Rand
	tasks    graph.Pool
	jobs     uint64
	err      error // why the simulation cannot go on
	closed   bool
	rec      *recorder

	clock   clock
	parents map[*parent]bool // parents whose bodies have not returned

	// files is the time at which the shared file system has finished all requests so far.
	files float64
	// full is how long the window was full, without the time since pause; paused says that it is
	// full now.
	full, pause float64
	paused      bool
}

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

// crew returns a new crew on a host. If located is set, its workers are at several locations, one a
// socket; else, on a node of a Cluster, at one.
func (s *world) crew(node int, sp *speeds, h *host, by *clock, located bool) *crew {
	k := sp.kind
	of := &costs{speeds: sp}
	m := dispatch.Machine{Costs: of, Accelerators: k.accelerators()}
	first := len(s.workers)
	for i := range k.Tasks() {
		at := i * len(h.sockets) / k.Tasks()
		w := exec.Worker{ID: first + i, Node: at, Target: sp.target}
		if located {
			w.Location = at
		}
		s.workers = append(s.workers, w)
		m.Locations = append(m.Locations, w.Location)
	}
	place := 0
	for d := range k.each() {
		if located {
			place = max(place, len(h.sockets)-1) + 1
		}
		s.workers = append(s.workers, exec.Worker{ID: len(s.workers), Location: place, Accelerator: d.Name,
			Target: d.target()})
		m.Locations = append(m.Locations, place)
	}
	build := s.opt.NewPolicy
	if build == nil {
		build = func(m dispatch.Machine) dispatch.Policy { return dispatch.New(s.opt.Policy, m) }
	}
	c := newCrew(s, node, sp, h, by, dispatch.NewQueue(k.policy(m, s.opt.Policy, build, sp), k.Tasks(), k.AllTasks()))
	c.first, of.crew = first, c
	s.crews = append(s.crews, c)
	return c
}

// clock is the time of a driver or submitter, which does one thing at a time.
type clock struct {
	// free is when its present work ends, and worked how long it will have worked by then.
	free, worked float64
}

// works adds work of some seconds, which begins now or when the clock is free.
func (c *clock) works(now, seconds float64) {
	c.free = max(c.free, now) + seconds
	c.worked += seconds
}

// working returns how long it has worked until now.
func (c *clock) working(now float64) float64 { return c.worked - max(c.free-now, 0) }

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
	what.of.happens(what.arg)
	return true
}

// errStuck says that tasks are left and no event is.
var errStuck = errors.New("sim: nothing happens any more, and tasks are left")

// errLong says that the time exceeds a time.Duration.
var errLong = fmt.Errorf("sim: that takes more than %g s", mostSeconds)

// mostSeconds is 285 years.
const mostSeconds = 9e9

// costs are the [dispatch.Costs] of a crew.
type costs struct {
	*speeds
	crew *crew
}

// Run implements [dispatch.Costs].
func (c *costs) Run(t *graph.Task, worker int) float64 {
	if x, ok := t.Params.(*took); ok {
		return x.expected
	}
	sp := c.speeds
	if x := c.crew.device(worker); x != nil {
		if !x.accepts(t) {
			return math.Inf(1)
		}
		sp = x.speeds
	}
	x, err := sp.cost(t)
	if err != nil {
		return 0
	}
	return x.alone * x.ratio
}

// Move implements [dispatch.Costs].
func (c *costs) Move(t *graph.Task, worker int) float64 {
	if c.crew.devices == nil {
		return 0
	}
	return c.crew.moving(t, c.crew.device(worker))
}
