package exec

import (
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// Worker describes a worker of a runtime, as Runtime.Workers returns it. Traces and errors name
// workers by ID.
type Worker struct {
	ID   int
	CPUs []int // cores that it is pinned to; nil if it floats
	Node int   // NUMA node of its cores; 0 if it floats
	// Location numbers the worker's near memory: first the NUMA nodes that have workers, then the
	// accelerators.
	Location int
	Note     string           // why it floats although it should not, if so
	Target   *versions.Target // what versions can use of it; read-only
	// Accelerator is the name of the worker's accelerator; empty for workers on cores.
	Accelerator string
	// Host is the name of the worker's node; empty for this process. On a cluster Location is the
	// number of the node, from 1.
	Host string
	// Spare says that it executes only what no other worker can: see cluster.Options.Idle.
	Spare bool
}

// place describes the workers on cores that opt asks for. The workers of a kind follow one another,
// and all are spread over the machine's nodes as if they were of one kind. More workers than cores
// share cores.
func place(opt *Options) []Worker {
	m := topo.Here()
	resources := opt.Resources
	if resources == nil {
		resources = []Resource{{Workers: opt.Workers, Target: opt.Target}}
		if opt.Workers == 0 {
			resources[0].Workers = DefaultWorkers()
		}
	}
	var workers []Worker
	for _, r := range resources {
		workers = append(workers, make([]Worker, r.Workers)...)
	}
	// If the machine cannot pin threads, each worker's Note says why.
	sets := m.Spread(len(workers))
	_, unsupported := topo.Affinity()
	for i := range workers {
		switch {
		case opt.Float: // the program leaves it to the operating system
		case unsupported != nil: // the workers float, and are a little slower
			workers[i].Note = unsupported.Error()
		default:
			workers[i].CPUs = sets[i]
			workers[i].Node = m.NodeOf(sets[i][0])
		}
		workers[i].ID = i
		if opt.nodes > 0 {
			workers[i].Node = i % opt.nodes
		}
	}
	locate(workers)
	first := workers
	for _, r := range resources {
		own := first[:r.Workers]
		first = first[r.Workers:]
		// Workers of a kind share one target: near compares addresses.
		on := sized(target(&r.Target, m), r.Target.Units, own)
		for i := range own {
			own[i].Target = on
		}
	}
	return workers
}

// sized returns on for workers of a kind: if their units are not declared, a task may have all workers of a place.
func sized(on *versions.Target, declared int, own []Worker) *versions.Target {
	most, at := 0, map[int]int{}
	for i := range own {
		at[own[i].Location]++
		most = max(most, at[own[i].Location])
	}
	if declared != 0 || most <= on.Units {
		return on
	}
	c := *on
	c.Units = most
	return &c
}

// locate numbers the locations of workers from 0, in the order of their first workers: the
// machine's own numbers may have gaps.
func locate(workers []Worker) {
	nodes := map[int]int{}
	for i := range workers {
		w := &workers[i]
		if _, known := nodes[w.Node]; !known {
			nodes[w.Node] = len(nodes)
		}
		w.Location = nodes[w.Node]
	}
}

// placeDevices describes the workers of accelerators, numbered after hosts. Each has a location of
// its own.
func placeDevices(hosts []Worker, all []offload.Accelerator) (workers []Worker) {
	next := 0
	for i := range hosts {
		next = max(next, hosts[i].Location+1)
	}
	for i, a := range all {
		workers = append(workers, Worker{ID: len(hosts) + i, Location: next + i, Accelerator: a.Name(),
			Target: a.Target()})
	}
	return workers
}

// near reports whether b can help with a task of a: it has the same target, so the version chosen
// for a runs there as well, and the same near memory.
func near(a, b *Worker) bool { return a.Node == b.Node && a.Target == b.Target }
