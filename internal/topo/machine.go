package topo

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Identity is what the processor says of itself.
type Identity struct {
	OS, Arch      string // GOOS and GOARCH
	Brand, Vendor string
	Family, Model int      // as CPUID combines them; zero where there is no CPUID
	Features      []string // instruction set extensions in lower case, sorted: "avx2", "avx512f", "fma3"
	Hypervisor    string   // vendor string of the hypervisor, empty if none was seen
}

// Has reports whether the processor and the operating system offer all the
// named extensions.
func (id *Identity) Has(features ...string) bool {
	for _, f := range features {
		if !slices.Contains(id.Features, f) {
			return false
		}
	}
	return true
}

// KNL reports whether the processor is a Xeon Phi x200: family 6, model 0x57
// (Knights Landing) or 0x85 (Knights Mill).
func (id *Identity) KNL() bool {
	return id.Vendor == "GenuineIntel" && id.Family == 6 && (id.Model == 0x57 || id.Model == 0x85)
}

// Core is a physical core, with those of its SMT threads that this process
// may use.
type Core struct {
	Package int    // socket
	CPUs    CPUSet // allowed logical CPUs of this core
}

// Node is a NUMA node.
type Node struct {
	ID     int
	CPUs   CPUSet // allowed logical CPUs; never empty
	Memory int64  // bytes, 0 if unknown
}

// Cache is one kind of cache, of which the machine may have several.
type Cache struct {
	Level int    // 1, 2, 3 …
	Type  string // "Data", "Instruction" or "Unified"
	Size  int64  // bytes of one
	Line  int    // bytes of a line, 0 if unknown
	// Shared lists, for each cache of this kind, the allowed CPUs that share
	// it. It is empty if the sharing is unknown.
	Shared []CPUSet
}

// Machine is a machine as this process may use it. It is read-only once made,
// and then safe for concurrent use.
type Machine struct {
	Identity

	Online  CPUSet // CPUs that the machine runs
	Allowed CPUSet // those that this process may use; never empty
	Cores   []Core // physical cores with an allowed CPU, by their first CPU
	Nodes   []Node // NUMA nodes with an allowed CPU; never empty
	Caches  []Cache

	Memory      int64   // bytes of main memory, 0 if unknown
	MemoryLimit int64   // bytes that the process's cgroup may use, 0 if there is no limit
	Available   int64   // bytes that the process could still get when this was read, 0 if unknown
	AvailableOf string  // what leaves it no more, in words
	CPUQuota    float64 // CPUs that the process's cgroup may keep busy, 0 if there is no quota

	// Notes states what could not be found out and what was assumed instead.
	Notes []string
}

// note records a degradation once.
func (m *Machine) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(m.Notes, s) {
		m.Notes = append(m.Notes, s)
	}
}

// Packages returns the number of sockets with an allowed CPU.
func (m *Machine) Packages() int {
	seen := make(map[int]bool)
	for _, c := range m.Cores {
		seen[c.Package] = true
	}
	return len(seen)
}

// SMT returns the largest number of allowed threads on one core; 1 means that
// there is no SMT or that it does not matter here.
func (m *Machine) SMT() int {
	n := 1
	for _, c := range m.Cores {
		n = max(n, len(c.CPUs))
	}
	return n
}

// Workers returns how many busy threads suit dense linear algebra on this
// machine: one for each physical core, but no more than the CPU quota rounded
// up. It is at least 1.
func (m *Machine) Workers() int {
	n := len(m.Cores)
	if m.CPUQuota > 0 {
		n = min(n, int(math.Ceil(m.CPUQuota)))
	}
	return max(n, 1)
}

// UsableMemory returns the bytes that this process can have at most: the
// smaller of the machine's memory and the cgroup's limit, 0 if unknown.
func (m *Machine) UsableMemory() int64 {
	if m.MemoryLimit > 0 && (m.Memory == 0 || m.MemoryLimit < m.Memory) {
		return m.MemoryLimit
	}
	return m.Memory
}

// NodeOf returns the NUMA node of cpu, or -1 if cpu is not allowed.
func (m *Machine) NodeOf(cpu int) int {
	for _, n := range m.Nodes {
		if n.CPUs.Contains(cpu) {
			return n.ID
		}
	}
	return -1
}

// CacheSize returns the bytes of one data or unified cache of the given
// level, the largest if they differ, and 0 if there is none or it is unknown.
func (m *Machine) CacheSize(level int) int64 {
	var size int64
	for _, c := range m.Caches {
		if c.Level == level && c.Type != "Instruction" {
			size = max(size, c.Size)
		}
	}
	return size
}

// String returns one line that names the processor and what the process has
// of it.
func (m *Machine) String() string {
	var b strings.Builder
	b.WriteString(m.Brand)
	if m.Brand == "" {
		b.WriteString(m.Arch + " processor")
	}
	fmt.Fprintf(&b, ", %s", count(len(m.Cores), "core"))
	if n := m.SMT(); n > 1 {
		fmt.Fprintf(&b, " with %d threads", n)
	}
	if n := len(m.Nodes); n > 1 {
		fmt.Fprintf(&b, ", %s", count(n, "NUMA node"))
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
