package topo

import (
	"cmp"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
)

// Directories of sysfs, below the root.
const (
	sysCPU  = "sys/devices/system/cpu"
	sysNode = "sys/devices/system/node"
)

// Read describes the Linux machine whose root directory is root, which holds
// proc and sys; id is what its processor says of itself. If allowed is empty,
// the CPUs that the process may use are those that proc/self/status names,
// else all that are online.
func Read(root fs.FS, id Identity, allowed CPUSet) *Machine {
	m := &Machine{Identity: id, Allowed: slices.Clone(allowed)}
	r := reader{root: root, m: m}
	r.cpus()
	r.cores()
	r.nodes()
	r.caches()
	r.memory()
	r.cgroups()
	r.available()
	r.names()
	r.m.publish()
	return m
}

func (r *reader) cpuset(name string) (CPUSet, error) {
	s, err := r.text(name)
	if err != nil {
		return nil, err
	}
	return ParseCPUSet(s)
}

func (r *reader) cpus() {
	m := r.m
	online, err := r.cpuset(sysCPU + "/online")
	if err != nil || len(online) == 0 {
		for c := range runtime.NumCPU() {
			online = append(online, c)
		}
		if len(m.Allowed) > 0 {
			online = m.Allowed
		}
		m.note("no list of online CPUs in /%s: assuming %d", sysCPU, len(online))
	}
	m.Online = online
	if len(m.Allowed) == 0 {
		set, err := ParseCPUSet(r.field("proc/self/status", "Cpus_allowed_list"))
		if err != nil || len(set) == 0 {
			m.note("the process's affinity is unknown: assuming that it may use all CPUs")
			set = online
		}
		m.Allowed = set
	}
	// A CPU that went offline after the mask was set is still in the mask.
	if both := m.Allowed.Intersect(online); len(both) > 0 {
		m.Allowed = both
	}
}

// cores groups the allowed CPUs by physical core.
func (r *reader) cores() {
	m := r.m
	byFirst := make(map[int]int) // first sibling, allowed or not -> index in m.Cores
	unknown := false
	for _, cpu := range m.Allowed {
		dir := fmt.Sprintf("%s/cpu%d/topology", sysCPU, cpu)
		siblings, err := r.cpuset(dir + "/thread_siblings_list")
		if err != nil || !siblings.Contains(cpu) {
			// Older kernels have no file of this name for some architectures.
			siblings, err = r.cpuset(dir + "/core_cpus_list")
		}
		if err != nil || !siblings.Contains(cpu) {
			siblings, unknown = CPUSet{cpu}, true
		}
		i, ok := byFirst[siblings[0]]
		if !ok {
			pkg, err := r.number(dir + "/physical_package_id")
			if err != nil || pkg < 0 { // arm64 says -1 where firmware is silent
				pkg = 0
			}
			i = len(m.Cores)
			byFirst[siblings[0]] = i
			m.Cores = append(m.Cores, Core{Package: int(pkg)})
		}
		m.Cores[i].CPUs = append(m.Cores[i].CPUs, cpu)
	}
	if unknown {
		m.note("no core topology in /%s: assuming that each CPU is a core of its own", sysCPU)
	}
}

// nodes distributes the allowed CPUs over NUMA nodes. CPUs that no node names
// go to the first one.
func (r *reader) nodes() {
	m := r.m
	var rest CPUSet
	ids, err := r.cpuset(sysNode + "/online")
	if err != nil {
		// Kernels without NUMA have no such directory, which is no loss.
		if _, statErr := fs.Stat(r.root, sysCPU); statErr != nil {
			m.note("no NUMA information in /%s: assuming one node", sysNode)
		}
	}
	placed := make(map[int]bool)
	for _, id := range ids {
		dir := fmt.Sprintf("%s/node%d", sysNode, id)
		cpus, err := r.cpuset(dir + "/cpulist")
		if err != nil {
			m.note("the CPUs of NUMA node %d are unknown", id)
			continue
		}
		n := Node{ID: id, Memory: r.memoryOf(dir+"/meminfo", fmt.Sprintf("Node %d MemTotal", id))}
		for _, c := range cpus.Intersect(m.Allowed) {
			if !placed[c] {
				placed[c] = true
				n.CPUs = append(n.CPUs, c)
			}
		}
		// A node without CPUs is memory only: nothing can be placed there.
		if len(n.CPUs) > 0 {
			m.Nodes = append(m.Nodes, n)
		}
	}
	for _, c := range m.Allowed {
		if !placed[c] {
			rest = append(rest, c)
		}
	}
	if len(rest) > 0 {
		if len(m.Nodes) == 0 {
			m.Nodes = []Node{{}}
		} else {
			m.note("no NUMA node names CPUs %v: counted to node %d", rest, m.Nodes[0].ID)
		}
		m.Nodes[0].CPUs = newCPUSet(append(m.Nodes[0].CPUs, rest...))
	}
}

func (r *reader) caches() {
	m := r.m
	for _, cpu := range m.Allowed {
		base := fmt.Sprintf("%s/cpu%d/cache", sysCPU, cpu)
		for i := 0; ; i++ {
			c, shared, ok := r.cache(fmt.Sprintf("%s/index%d", base, i), cpu)
			if !ok {
				break
			}
			addCache(&m.Caches, c, shared)
		}
	}
	if len(m.Caches) == 0 {
		m.note("no caches in /%s: sizes are the processor's own words, sharing is unknown", sysCPU)
		if m.Arch == runtime.GOARCH && m.OS == runtime.GOOS {
			m.Caches = cpuidCaches()
		}
	}
	slices.SortFunc(m.Caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type), cmp.Compare(b.Size, a.Size))
	})
}

// cache reads one cache of cpu and the allowed CPUs that share it.
func (r *reader) cache(dir string, cpu int) (c Cache, shared CPUSet, ok bool) {
	level, err := r.number(dir + "/level")
	if err != nil {
		return c, nil, false
	}
	c.Level = int(level)
	if c.Type, err = r.text(dir + "/type"); err != nil {
		c.Type = "Unified"
	}
	size, _ := r.text(dir + "/size")
	c.Size = parseSize(size)
	if n, err := r.number(dir + "/coherency_line_size"); err == nil {
		c.Line = int(n)
	}
	shared, err = r.cpuset(dir + "/shared_cpu_list")
	if err != nil || !shared.Contains(cpu) {
		shared = CPUSet{cpu}
	}
	return c, shared.Intersect(r.m.Allowed), true
}

// addCache counts a cache to those of its kind, once for all who share it.
func addCache(caches *[]Cache, c Cache, shared CPUSet) {
	for i := range *caches {
		k := &(*caches)[i]
		if k.Level != c.Level || k.Type != c.Type || k.Size != c.Size || k.Line != c.Line {
			continue
		}
		for _, s := range k.Shared {
			if s[0] == shared[0] {
				return
			}
		}
		k.Shared = append(k.Shared, shared)
		return
	}
	c.Shared = []CPUSet{shared}
	*caches = append(*caches, c)
}

func (r *reader) memory() {
	r.m.Memory = r.memoryOf("proc/meminfo", "MemTotal")
	if r.m.Memory == 0 {
		r.m.note("the size of main memory is unknown: no MemTotal in /proc/meminfo")
	}
}

// names fills what CPUID does not say, on arm64 above all.
func (r *reader) names() {
	m := r.m
	if m.Brand = cmp.Or(m.Brand, r.brand()); m.Brand == "" {
		m.note("the processor does not say its name")
	}
	if s, _ := r.text("sys/hypervisor/type"); m.Hypervisor == "" && s != "none" {
		m.Hypervisor = s
	}
}

// brand looks for a processor's name where architectures without CPUID put
// it.
func (r *reader) brand() string {
	for _, key := range []string{"model name", "Processor", "cpu", "cpu model", "uarch"} {
		if s := r.field("proc/cpuinfo", key); s != "" {
			return s
		}
	}
	if s := armName(r.field("proc/cpuinfo", "CPU implementer"), r.field("proc/cpuinfo", "CPU part")); s != "" {
		return s
	}
	s, _ := r.text("proc/device-tree/model")
	return strings.TrimRight(s, "\x00")
}

// armCores are the ARM cores that servers and boards with enough memory for this
// library are built of, by implementer and part (Arm's Main ID Register).
var armCores = map[string]string{
	"0x41/0xd08": "ARM Cortex-A72",
	"0x41/0xd0c": "ARM Neoverse-N1",
	"0x41/0xd40": "ARM Neoverse-V1",
	"0x41/0xd49": "ARM Neoverse-N2",
	"0x41/0xd4f": "ARM Neoverse-V2",
	"0x46/0x001": "Fujitsu A64FX",
}

// armName names an ARM core; those that are not known go by number.
func armName(implementer, part string) string {
	if implementer == "" {
		return ""
	}
	if name := armCores[implementer+"/"+part]; name != "" {
		return name
	}
	return fmt.Sprintf("ARM implementer %s part %s", implementer, part)
}
