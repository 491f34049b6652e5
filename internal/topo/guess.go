package topo

// guess describes a machine from what the processor itself reports: cpus logical CPUs in one NUMA
// node, where each run of threads CPUs is a core.
func guess(id Identity, cpus, threads int) *Machine {
	m := &Machine{Identity: id, Caches: cpuidCaches()}
	cpus, threads = max(cpus, 1), max(threads, 1)
	for c := range cpus {
		if c%threads == 0 {
			m.Cores = append(m.Cores, Core{})
		}
		last := &m.Cores[len(m.Cores)-1]
		last.CPUs = append(last.CPUs, c)
		m.Allowed = append(m.Allowed, c)
	}
	m.Online = m.Allowed
	m.Nodes = []Node{{CPUs: m.Allowed}}
	m.publish()
	m.note("on %s the placement of cores, caches and NUMA nodes is not read: assuming one node", id.OS)
	m.note("on %s threads cannot be pinned, and the size of main memory is not read", id.OS)
	return m
}
