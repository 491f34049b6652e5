package cluster

import (
	"cmp"
	"slices"
)

// Nodes returns the names of the available nodes, the driver first.
func (d *Driver) Nodes() (names []string) {
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, n := range d.nodes {
		if n.unavailable == nil {
			names = append(names, n.name)
		}
	}
	return names
}

// Speeds returns the relative speeds of the owners of [Options.Owner], in the order of their numbers. A
// speed is the number of workers times a factor from the times of tasks: the factor compares tasks of
// the same op on different nodes, and is 1 before there are some.
func (d *Driver) Speeds() (all []float64) {
	nodes := d.allNodes()
	alone := true
	for _, n := range nodes[1:] {
		alone = alone && d.unavailable(n) != nil
	}
	d.placing.Lock()
	defer d.placing.Unlock()
	for i, n := range nodes {
		if d.unavailable(n) == nil && (i > 0 || alone || !d.opt.Idle) {
			all = append(all, float64(n.workers)*d.experience.Speed(i)*d.ableShare(n))
		}
	}
	return all
}

// leastAble is the least that ableShare returns. Later tasks may be others than those so far, so every
// node stays a possible owner.
const leastAble = 1e-3

// ableShare returns the part of the work so far, by time, that a node can execute, but at least
// leastAble. It returns 1 if there was no work. The caller holds placing.
func (d *Driver) ableShare(n *node) float64 {
	able, all := 0.0, 0.0
	for name, x := range d.experience.Ops {
		op, seconds := d.known.ops[name], x.Spent
		if all += seconds; op == nil || n.offer.Unmet(op, nil) == nil {
			able += seconds
		}
	}
	if all == 0 {
		return 1
	}
	return max(able/all, leastAble)
}

// Usage returns what each node has done since it joined, the driver first. A node that came back
// counts anew. A node below another one counts there: see Usage.BelowNodes.
func (d *Driver) Usage() []Usage {
	_, all := d.usage()
	return all
}

// usage returns Usage, and the node of each.
func (d *Driver) usage() (of []*node, all []Usage) {
	nodes := d.allNodes()
	d.placing.Lock()
	defer d.placing.Unlock()
	own := d.exec.endedMessage(0, nil)
	d.addUsage(nodes[0], &own, nil)
	out := map[string]int64{}
	for _, n := range nodes {
		if d.isElsewhere(n) {
			continue
		}
		usage := Usage{
			Node: n.name, Program: n.program, Jobs: n.jobs, Workers: n.workers, Lost: d.unavailable(n) != nil,
			Tasks: map[string]int{}, Busy: n.busy, Starving: n.starving, Memory: n.memory.Cap, Peak: n.peak,
		}
		if n.offer != nil {
			usage.Kinds, usage.Below = n.offer.Kinds, n.offer.Below.Workers
			usage.BelowNodes, usage.BelowMemory = n.offer.Below.Nodes, n.offer.Below.Memory
		}
		for _, ran := range n.ran {
			usage.Ran = append(usage.Ran, *ran)
			usage.Tasks[ran.Op] += ran.Tasks
		}
		slices.SortFunc(usage.Ran, func(a, b Ran) int {
			return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Version, b.Version))
		})
		for _, flow := range n.flows {
			usage.Flows = append(usage.Flows, *flow)
			usage.In += flow.Bytes
			out[flow.From] += flow.Bytes
		}
		slices.SortFunc(usage.Flows, func(a, b Flow) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Data, b.Data))
		})
		of, all = append(of, n), append(all, usage)
	}
	// Of several nodes with one name, the first has what was fetched from all.
	for i := range all {
		all[i].Out = out[all[i].Node]
		delete(out, all[i].Node)
	}
	return of, all
}

// Below returns the nodes that this driver has heard of and that are below other ones, by name, without what they
// have done.
func (d *Driver) Below() (all []Usage) {
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, n := range d.nodes[1:] {
		m := n.elsewhere
		if m == nil || m.Parent == "" || n.givenUp || d.nodeNamed(n.name) != n {
			continue
		}
		if o, err := m.Offer.offer(); err == nil {
			all = append(all, Usage{
				Node: n.name, Parent: m.Parent, Program: m.Program, Jobs: m.Jobs, Workers: o.Workers(), Kinds: o.Kinds,
				Memory: m.Memory, Below: m.Below.Workers, BelowNodes: m.Below.Nodes, BelowMemory: m.Below.Memory,
			})
		}
	}
	slices.SortFunc(all, func(a, b Usage) int { return cmp.Compare(a.Node, b.Node) })
	return all
}
