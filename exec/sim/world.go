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
	// Context, if not nil, is that of what a Cluster does while there is no job, which would have one
	// of its own: to make millions of values known to nodes takes seconds.
	Context context.Context
	// Machine is what there is. It must not be changed meanwhile.
	Machine *Machine
	// Policy decides which ready task a worker takes next, as exec.Options has it, and
	// NewPolicy makes a policy of the program's own. Of a Cluster they are those of each node.
	Policy    dispatch.Kind
	NewPolicy func(dispatch.Machine) dispatch.Policy
	// Nodes says which node of a Cluster gets a task, as cluster.Options has it: Policy,
	// ByPriority, NewPolicy, Owner and Stay count.
	Nodes cluster.Options
	// Decided, if not nil, returns the seconds that a policy of the program's own has taken to
	// decide since it was asked last: of a Cluster, the driver's. Built-in ones take what Costs say.
	Decided func() float64
	// Bodies are the ops whose tasks have children, and what such a task does when it has taken
	// what it costs itself. On a node of a Cluster that drives others, these execute its children.
	Bodies map[*versions.Op]Body
	// Window is the number of tasks of a job that may be in flight; 0 means
	// exec.DefaultWindow.
	Window int
	// Setup says that what comes before the first Reset only prepares a Cluster: times of
	// Machine.Failures count from then on.
	Setup bool
	// Record keeps what happens to each task, for Recording. It takes some hundred bytes for
	// each.
	Record bool
}

// world is what runtimes in virtual time have in common.
type world struct {
	opt      Options
	m        *Machine
	selector *versions.Selector
	workers  []exec.Worker
	crews    []*crew
	calendar calendar
	now      float64
	since    float64 // when counting began
	began    uint64  // runs
	rng      *rand.Rand
	tasks    graph.Pool
	jobs     uint64
	err      error // why nothing more makes sense
	closed   bool
	rec      *recorder

	clock   clock
	parents map[*parent]bool // whose bodies have not returned

	// files is when what all nodes read and write of files by now has been.
	files float64
	// full is how long the window was full, without the time since pause; it is so now if paused.
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

// crew returns a crew on a host, of which the workers see several locations or, on a node of
// several, one.
func (s *world) crew(node int, sp *speeds, h *host, by *clock, located bool) *crew {
	k := sp.kind
	of := &costs{speeds: sp}
	m := dispatch.Machine{Costs: of, Accelerators: k.accelerators()}
	first := len(s.workers)
	for i := range k.Tasks() {
		at := i * len(h.tanks) / k.Tasks()
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
			place = max(place, len(h.tanks)-1) + 1
		}
		s.workers = append(s.workers, exec.Worker{ID: len(s.workers), Location: place, Accelerator: d.Name, Target: d.target()})
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

// clock is that of a driver, or of a submitter, which does one thing at a time.
type clock struct {
	// free is when it has done what it does now, and worked how long it will have worked by then.
	free, worked float64
}

// works has it do something for so many seconds from now on, as soon as it can.
func (c *clock) works(now, seconds float64) {
	c.free = max(c.free, now) + seconds
	c.worked += seconds
}

// working returns how long it has worked.
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

// fail notes why what comes out makes no sense.
func (s *world) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// over reports whether nothing more makes sense, or is wanted.
func (s *world) over() bool {
	if c := s.opt.Context; c != nil && c.Err() != nil {
		s.fail(context.Cause(c))
	}
	return s.err != nil
}

// until has everything happen that does up to a time.
func (s *world) until(at float64) {
	for len(s.calendar.heap) > 0 && s.calendar.heap[0].at <= at {
		s.step()
	}
	s.now = max(s.now, at)
}

// step has the next thing happen. It reports whether there was one.
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

// errStuck says that tasks are left that nothing will make ready.
var errStuck = errors.New("sim: nothing happens any more, and tasks are left")

// errLong says that a time.Duration does not hold the time.
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
