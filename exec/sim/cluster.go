package sim

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// Cluster is an exec.Keeper on several nodes in virtual time, like cluster.Driver in real time. One
// goroutine uses it.
type Cluster struct{ *driver }

// NewCluster returns a runtime on the nodes of a machine, the driver's first. The error is a
// *MachineError.
func NewCluster(opt Options) (*Cluster, error) {
	w, err := newWorld(opt)
	if err != nil {
		return nil, err
	}
	if len(opt.Bodies) > 0 && len(w.m.Failures) > 0 {
		return nil, &MachineError{[]string{"failures where tasks have children are not modelled"}}
	}
	w.children = w.clusterChildren
	hosts := map[string]*host{}
	of := map[*Kind]*speeds{}
	var top []*crew
	groups := map[string][]*crew{}
	for _, g := range w.m.Nodes {
		k := w.m.kind(g.Kind)
		if of[k] == nil {
			of[k] = newSpeeds(k)
		}
		heads := groups[g.Below]
		for i := range g.Count {
			h := hosts[g.Host]
			if h == nil {
				if h = newHost(w, k); g.Host != "" {
					hosts[g.Host] = h
				}
			}
			by := &w.clock
			var head *crew
			if g.Below != "" {
				head = heads[i*len(heads)/g.Count]
				head.makeDriver()
				by = head.asDriver
			}
			c := w.addCrew(len(w.crews), of[k], h, by, false)
			if head == nil {
				top = append(top, c)
			} else {
				head.below = append(head.below, c)
			}
			if g.Drives {
				c.makeDriver()
			}
			if g.Name != "" {
				groups[g.Name] = append(groups[g.Name], c)
			}
		}
	}
	o := opt.Nodes
	o.Idle = w.m.Apart
	s := &Cluster{newDriver(w, o, top, &w.clock)}
	if len(w.m.Failures) > 0 {
		s.program.Remember()
		if s.lossy = true; !opt.Setup {
			s.script()
		}
	}
	return s, nil
}

// Reset starts the counts anew. Values stay on their nodes. No job may be under way.
func (c *Cluster) Reset() {
	c.world.Reset()
	if c.lossy && c.opt.Setup && !c.scripted {
		c.script()
	}
}

// Prediction returns the cost of the tasks so far.
func (c *Cluster) Prediction() *Prediction {
	p := c.world.Prediction()
	if c.lossy {
		p.Losses = &c.losses
	}
	return p
}

// makeDriver makes the node of a crew a driver of children.
func (c *crew) makeDriver() {
	if c.asDriver == nil {
		c.asDriver, c.below = &clock{}, []*crew{c}
	}
}

// newDriver returns a driver on the nodes of some crews, its own first.
func newDriver(w *world, o cluster.Options, crews []*crew, by *clock) *driver {
	c := core.NewCore(core.Choices{Policy: o.Policy, ByPriority: o.ByPriority, NewPolicy: o.NewPolicy, Owner: o.Owner,
		Stay: o.Stay, Idle: o.Idle})
	s := &driver{world: w, clock: by, program: c, core: c, of: make([]*node, len(w.crews))}
	for i, c := range crews {
		n := s.newNode(c)
		s.nodes, s.of[c.node] = append(s.nodes, n), n
		s.core.AddNode(i, c.kind.Memory, c.offers(), w.selector)
	}
	s.core.RebuildQueue()
	return s
}

// clusterChildren returns the job of p's children. The nodes below p's node execute them if p has
// come from above, else the node itself does.
func (w *world) clusterChildren(p *parent) exec.Job {
	c := p.crew
	if c.asDriver == nil || p.of.clock == c.asDriver {
		return w.localChildren(p)
	}
	opt := w.opt.Nodes
	opt.Idle = false
	d := newDriver(w, opt, c.below, c.asDriver)
	return d.newJob(p.of.ctx, p, d.program)
}

// Keep implements [exec.Keeper].
func (c *Cluster) Keep(values []versions.Shaped) (exec.Kept, error) {
	if c.closed {
		return nil, exec.ErrClosed
	}
	const some = 1 << 10 // values kept between two checks of the context
	for i, v := range values {
		if i%some == 0 && c.over() {
			return nil, c.err
		}
		c.program.Keep(v)
	}
	return &kept{c.driver, values}, nil
}

// kept is an [exec.Kept].
type kept struct {
	driver *driver
	values []versions.Shaped
}

// Fetch implements [exec.Kept]. Values have no elements.
func (*kept) Fetch(context.Context, versions.Shaped, versions.Value) error { return nil }

// Locate implements [exec.Kept].
func (k *kept) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	for i, v := range values {
		at[i] = k.driver.program.HolderOf(v)
	}
	return at
}

// Release implements [exec.Kept].
func (k *kept) Release() {
	if k.driver.over() {
		return // the nodes are gone
	}
	for _, v := range k.values {
		k.driver.program.Release(v)
	}
	k.values = nil
	k.driver.dropAll()
}

// NewJob implements [exec.Runtime]. There is one job at a time.
func (c *Cluster) NewJob(ctx context.Context) exec.Job { return c.newJob(ctx, nil, c.program) }

// Recording returns the recording so far.
func (c *Cluster) Recording() *trace.Recording {
	r := c.world.Recording()
	for _, crew := range c.crews {
		r.Nodes = append(r.Nodes, trace.NodeRows{Name: name(crew.slot), First: crew.first, Workers: len(crew.workers)})
	}
	return r
}
