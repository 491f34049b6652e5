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
	nodes := m.seats()
	places := make([]CPUSet, n)
	for i := range places {
		places[i] = place(nodes, min(units, len(m.Allowed)))
	}
	return places
}

// seat is a CPU as placement sees it: load is how many workers were placed here, and
// the others how many on its core, under its last-level cache and on its node.
type seat struct {
	cpu, load       int
	core, llc, node *int
}

// seats returns the allowed CPUs by node. Those whose last-level cache is unknown
// share one.
func (m *Machine) seats() (nodes [][]*seat) {
	core, llc, unknown := map[int]*int{}, map[int]*int{}, new(int)
	share := func(of map[int]*int, cpus CPUSet) {
		load := new(int)
		for _, cpu := range cpus {
			of[cpu] = load
		}
	}
	for _, c := range m.Cores {
		share(core, c.CPUs)
	}
	level := 0
	for _, c := range m.Caches {
		level = max(level, c.Level)
	}
	for _, c := range m.Caches {
		for _, s := range c.Shared {
			if c.Level == level {
				share(llc, s)
			}
		}
	}
	for _, n := range m.Nodes {
		var seats []*seat
		node := new(int)
		for _, cpu := range n.CPUs {
			seats = append(seats, &seat{cpu: cpu, core: core[cpu], llc: cmp.Or(llc[cpu], unknown), node: node})
		}
		nodes = append(nodes, seats)
	}
	return nodes
}

// place seats one worker on units CPUs: on the node that offers the most seats, and
// among those with equally many the least loaded one, and then on the next.
func place(nodes [][]*seat, units int) CPUSet {
	var got []int
	for len(got) < units {
		var offers []offer
		for _, seats := range nodes {
			offers = append(offers, offerOf(seats, units-len(got), got))
		}
		best := slices.MinFunc(offers, func(a, b offer) int {
			return cmp.Or(
				cmp.Compare(len(b.seats), len(a.seats)),
				cmp.Compare(a.load, b.load),
				cmp.Compare(a.core, b.core),
				cmp.Compare(a.node, b.node),
			)
		})
		for _, s := range best.seats {
			s.load++
			*s.core++
			*s.llc++
			*s.node++
			got = append(got, s.cpu)
		}
	}
	return newCPUSet(got)
}

// offer is what one node can give a worker, and the load of these seats, of their
// cores and of the node.
type offer struct {
	seats            []*seat
	load, core, node int
}

// offerOf picks up to units of the seats of a node that are not taken one after the other, the
// least loaded first, as if each were taken. Several seats of one worker stay
// together under one cache, since they work on the same tile; the seats of
// different workers do not.
func offerOf(seats []*seat, units int, taken []int) offer {
	o := offer{node: *seats[0].node}
	free := slices.DeleteFunc(slices.Clone(seats), func(s *seat) bool { return slices.Contains(taken, s.cpu) })
	mine := make(map[*int]int) // core -> seats of this offer
	away := func(s *seat) int {
		if o.seats == nil || s.llc == o.seats[0].llc {
			return 0
		}
		return 1
	}
	for len(o.seats) < units && len(free) > 0 {
		s := slices.MinFunc(free, func(a, b *seat) int {
			return cmp.Or(
				cmp.Compare(a.load, b.load),
				cmp.Compare(*a.core+mine[a.core], *b.core+mine[b.core]),
				cmp.Compare(away(a), away(b)),
				cmp.Compare(*a.llc, *b.llc),
				cmp.Compare(a.cpu, b.cpu),
			)
		})
		free = slices.DeleteFunc(free, func(x *seat) bool { return x == s })
		o.seats = append(o.seats, s)
		o.load += s.load
		o.core += *s.core + mine[s.core]
		mine[s.core]++
	}
	return o
}
