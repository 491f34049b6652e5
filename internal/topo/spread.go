package topo

import (
	"cmp"
	"slices"
)

// Spread places n workers of one CPU each, in order: evenly over NUMA nodes
// and over the last-level caches of a node, on distinct physical cores before
// SMT siblings, and from the start again when n exceeds the CPUs. The first k
// of n places are the places of k workers.
func (m *Machine) Spread(n int) []CPUSet { return m.SpreadUnits(n, 1) }

// SpreadUnits places n workers of units CPUs each. A worker's CPUs lie in one
// NUMA node if any node has that many allowed CPUs, and else in as few as
// possible; a worker never has a CPU twice, so it gets fewer than units if
// the machine has fewer. Among equals the rules of [Machine.Spread] hold.
func (m *Machine) SpreadUnits(n, units int) []CPUSet {
	if n <= 0 || units <= 0 {
		return nil
	}
	p := newPlacer(m)
	places := make([]CPUSet, n)
	for i := range places {
		places[i] = p.place(min(units, len(m.Allowed)))
	}
	return places
}

// seat is a CPU as placement sees it.
type seat struct {
	cpu, core, llc, node int // core, llc and node are indices
	load                 int // workers placed here
}

// placer hands out the least loaded CPUs.
type placer struct {
	seats    [][]seat // per node
	coreLoad []int
	llcLoad  []int
	nodeLoad []int
}

func newPlacer(m *Machine) *placer {
	core := make(map[int]int)
	for i, c := range m.Cores {
		for _, cpu := range c.CPUs {
			core[cpu] = i
		}
	}
	llc, llcs := m.lastLevel()
	p := &placer{
		seats:    make([][]seat, len(m.Nodes)),
		coreLoad: make([]int, len(m.Cores)),
		llcLoad:  make([]int, llcs),
		nodeLoad: make([]int, len(m.Nodes)),
	}
	for i, n := range m.Nodes {
		for _, cpu := range n.CPUs {
			p.seats[i] = append(p.seats[i], seat{cpu: cpu, core: core[cpu], llc: llc[cpu], node: i})
		}
	}
	return p
}

// lastLevel numbers the caches of the highest level and maps CPUs to them;
// CPUs of which it is unknown map to 0.
func (m *Machine) lastLevel() (byCPU map[int]int, n int) {
	byCPU = make(map[int]int)
	level := 0
	for _, c := range m.Caches {
		level = max(level, c.Level)
	}
	for _, c := range m.Caches {
		if c.Level != level {
			continue
		}
		for _, s := range c.Shared {
			for _, cpu := range s {
				byCPU[cpu] = n
			}
			n++
		}
	}
	return byCPU, max(n, 1)
}

// place seats one worker on units CPUs.
func (p *placer) place(units int) CPUSet {
	var got []int
	for len(got) < units {
		node, seats := p.best(units-len(got), got)
		for _, s := range seats {
			p.take(node, s)
			got = append(got, p.seats[node][s].cpu)
		}
	}
	return newCPUSet(got)
}

func (p *placer) take(node, i int) {
	s := &p.seats[node][i]
	s.load++
	p.coreLoad[s.core]++
	p.llcLoad[s.llc]++
	p.nodeLoad[node]++
}

// offer is what one node can give a worker.
type offer struct {
	seats              []int
	load, core, filled int
}

// best returns the node that offers the most seats up to units, and among
// those with equally many the least loaded. Seats in taken are not offered.
func (p *placer) best(units int, taken []int) (node int, seats []int) {
	var chosen offer
	for i := range p.seats {
		o := p.offer(i, units, taken)
		if i == 0 || o.better(&chosen) {
			node, chosen = i, o
		}
	}
	return node, chosen.seats
}

func (o *offer) better(than *offer) bool {
	return cmp.Or(
		cmp.Compare(len(than.seats), len(o.seats)),
		cmp.Compare(o.load, than.load),
		cmp.Compare(o.core, than.core),
		cmp.Compare(o.filled, than.filled),
	) < 0
}

// offer picks up to units seats of a node one after the other, the least
// loaded first, as if each were taken. Several seats of one worker stay
// together under one cache, since they work on the same tile; the seats of
// different workers do not.
func (p *placer) offer(node, units int, taken []int) offer {
	all := p.seats[node]
	o := offer{filled: p.nodeLoad[node]}
	used := make([]bool, len(all))
	mine := make(map[int]int) // core -> seats of this offer
	home := -1                // cache of the first seat
	for len(o.seats) < units {
		pick := -1
		for i := range all {
			if used[i] || slices.Contains(taken, all[i].cpu) {
				continue
			}
			if pick < 0 || p.before(&all[i], &all[pick], mine, home) {
				pick = i
			}
		}
		if pick < 0 {
			break
		}
		s := &all[pick]
		used[pick] = true
		o.seats = append(o.seats, pick)
		o.load += s.load
		o.core += p.coreLoad[s.core] + mine[s.core]
		mine[s.core]++
		if home < 0 {
			home = s.llc
		}
	}
	return o
}

func (p *placer) before(a, b *seat, mine map[int]int, home int) bool {
	away := func(s *seat) int {
		if home < 0 || s.llc == home {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.load, b.load),
		cmp.Compare(p.coreLoad[a.core]+mine[a.core], p.coreLoad[b.core]+mine[b.core]),
		cmp.Compare(away(a), away(b)),
		cmp.Compare(p.llcLoad[a.llc], p.llcLoad[b.llc]),
		cmp.Compare(a.cpu, b.cpu),
	) < 0
}
