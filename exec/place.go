package exec

import (
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// Worker describes a worker of a runtime: what Runtime.Workers returns, and what traces and
// errors mean by the number of a worker.
type Worker struct {
	ID   int
	CPUs []int // cores that it is pinned to; nil if it floats
	Node int   // NUMA node of its cores; 0 if it floats
	// Location numbers the memory that is near to it: the NUMA nodes that have
	// workers, and then the accelerators.
	Location int
	Note     string           // why it floats although it should not, if so
	Target   *versions.Target // what it offers to versions; read-only
	// Accelerator is the name of the accelerator whose worker it is; empty for
	// workers on cores.
	Accelerator string
	// Host is the name of the node that it is on; empty if it is in this process. Location
	// then is the number of the node, from 1.
	Host string
	// Spare says that it executes only what no other worker can: see cluster.Options.Idle.
	Spare bool
}

// place describes the workers on cores that opt asks for: how many of which target, and
// on which cores. Kinds lie one after the other, over the machine's nodes as if all were
// alike; more workers than cores share cores.
func place(opt *Options) []Worker {
	m := machine()
	resources := opt.Resources
	if resources == nil {
		resources = []Resource{{Workers: opt.Workers, Target: opt.Target}}
		if opt.Workers == 0 {
			resources[0].Workers = DefaultWorkers()
		}
	}
	// Workers of a kind share one target, so that they are alike by its address.
	var workers []Worker
	for _, r := range resources {
		on := target(&r.Target, m)
		for range r.Workers {
			workers = append(workers, Worker{Target: on})
		}
	}
	// A machine without affinity says so once, and each worker reports it when asked.
	sets := m.Spread(len(workers))
	_, unsupported := topo.Affinity()
	for i := range workers {
		switch {
		case opt.Float: // the operating system knows best, the program says
		case unsupported != nil: // where threads cannot be pinned, all runs, a little slower
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
	return workers
}

// locate numbers the locations of workers, from 0 in the order in which their nodes come:
// the machine's own numbers may have gaps.
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

// placeDevices describes the workers of accelerators, which come after the others. Each
// has a location of its own.
func placeDevices(hosts []Worker, all []offload.Accelerator) (workers []Worker) {
	next := 0
	for i := range hosts {
		next = max(next, hosts[i].Location+1)
	}
	for i, a := range all {
		workers = append(workers, Worker{ID: len(hosts) + i, Location: next + i, Accelerator: a.Name(), Target: a.Target()})
	}
	return workers
}

// near reports whether b can take part in a task of a: it is alike, so that the version
// which was chosen for a runs there as well, and has the same memory near.
func near(a, b *Worker) bool { return a.Node == b.Node && a.Target == b.Target }
