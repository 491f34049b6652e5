package sim

import (
	"math"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

func newHost(s *world, k *Kind) *host {
	h := &host{}
	for range k.sockets() {
		c := &Cache[*graph.Datum]{}
		c.Init(k.Cache)
		h.sockets, h.caches = append(h.sockets, newSocket(s, k.Cores)), append(h.caches, c)
	}
	return h
}

// newCrew returns the workers of a node of a kind on a host.
func newCrew(s *world, node int, sp *speeds, h *host, by *clock, queue *dispatch.Queue) *crew {
	k := sp.kind
	c := &crew{world: s, node: node, slot: node, kind: k, speeds: sp, host: h, clock: by, queue: queue}
	for _, t := range h.sockets {
		own := min(k.Cores, t.cores)
		few := float64(own) * float64(len(h.sockets)) / float64(k.Tasks())
		c.shares = append(c.shares, &coreShare{socket: t, own: own, few: few, slow: k.Waits})
	}
	n := k.Tasks()
	for i := range n {
		c.workers = append(c.workers, worker{socket: i * len(h.sockets) / n})
		c.asleep = append(c.asleep, n-1-i)
	}
	c.wide = c.wideOf(len(h.sockets))
	c.addDevices()
	return c
}

// addDevices gives a crew the devices of its kind.
func (c *crew) addDevices() {
	for d := range c.kind.each() {
		sp := newSpeeds(&Kind{Name: d.Name, Cores: 1, Ops: d.Ops, Rate: d.Rate, Speeds: d.Speeds})
		sp.target = d.target()
		x := &device{crew: c, worker: len(c.workers), kind: d, speeds: sp, able: map[*versions.Op]bool{}}
		x.memory.init(d.Memory)
		c.devices, c.workers = append(c.devices, x), append(c.workers, worker{})
	}
}

// policy returns a policy for a node with devices of several kinds. Like that of package exec it
// gives workers only tasks that they can execute.
func (k *Kind) policy(m dispatch.Machine, kind dispatch.Kind, build func(dispatch.Machine) dispatch.Policy,
	sp *speeds) dispatch.Policy {
	if kind == dispatch.EarliestFinish || len(k.Devices) < 2 {
		return build(m)
	}
	of := make([]int, k.Tasks())
	targets := []*versions.Target{sp.target}
	for i := range k.Devices {
		targets = append(targets, k.Devices[i].target())
		for range max(k.Devices[i].Count, 1) {
			of = append(of, i+1)
		}
	}
	return dispatch.ByKind(m, of, func(t *graph.Task) (able uint64) {
		for i, on := range targets {
			if op, ok := t.Op.(*versions.Op); ok && fits(op, on) {
				able |= 1 << i
			}
		}
		return able
	}, build)
}

// addCrew returns a new crew on a host. If located is set, its workers are at several locations, one a
// socket; else, on a node of a Cluster, at one.
func (w *world) addCrew(node int, sp *speeds, h *host, by *clock, located bool) *crew {
	k := sp.kind
	of := &costs{speeds: sp}
	m := dispatch.Machine{Costs: of, Accelerators: k.accelerators()}
	first := len(w.workers)
	for i := range k.Tasks() {
		at := i * len(h.sockets) / k.Tasks()
		worker := exec.Worker{ID: first + i, Node: at, Target: sp.target}
		if located {
			worker.Location = at
		}
		w.workers = append(w.workers, worker)
		m.Locations = append(m.Locations, worker.Location)
	}
	place := 0
	for d := range k.each() {
		if located {
			place = max(place, len(h.sockets)-1) + 1
		}
		w.workers = append(w.workers, exec.Worker{ID: len(w.workers), Location: place, Accelerator: d.Name,
			Target: d.target()})
		m.Locations = append(m.Locations, place)
	}
	build := w.opt.NewPolicy
	if build == nil {
		build = func(m dispatch.Machine) dispatch.Policy { return dispatch.New(w.opt.Policy, m) }
	}
	c := newCrew(w, node, sp, h, by, dispatch.NewQueue(k.policy(m, w.opt.Policy, build, sp), k.Tasks(), k.AllTasks()))
	c.first, of.crew = first, c
	w.crews = append(w.crews, c)
	return c
}

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
