package topo

import "strings"

// published are the caches of arm64 cores as their makers publish them, by the beginning of a brand:
// for machines that do not list theirs. docs/arm64.md has the sources. A second level that comes in
// several sizes has the least that servers have.
var published = []struct {
	brand      string
	l1, l2, l3 int64 // bytes; l3 is 0 where it depends on the machine
}{
	{"ARM Cortex-A72", 32 << 10, 1 << 20, 0},
	{"ARM Neoverse-N1", 64 << 10, 1 << 20, 0},
	{"ARM Neoverse-N2", 64 << 10, 1 << 20, 0},
	{"ARM Neoverse-V1", 64 << 10, 1 << 20, 0},
	{"ARM Neoverse-V2", 64 << 10, 1 << 20, 0},
	{"Fujitsu A64FX", 64 << 10, 8 << 20, 0},
	{"Apple M1", 128 << 10, 12 << 20, 0},
	{"Apple M", 128 << 10, 16 << 20, 0},
}

// publish adds the published caches of the levels that m lacks. Those that macOS lists are the
// efficiency cores': for an Apple m gets those of the performance cores instead, which do most of
// the work.
func (m *Machine) publish() {
	for _, p := range published {
		if !strings.HasPrefix(m.Brand, p.brand) {
			continue
		}
		for i, size := range []int64{p.l1, p.l2, p.l3} {
			level, kind := i+1, "Unified"
			if level == 1 {
				kind = "Data"
			}
			if size == 0 || m.CacheSize(level) > 0 && !strings.HasPrefix(p.brand, "Apple") {
				continue
			}
			m.Caches = append(m.Caches, Cache{Level: level, Type: kind, Size: size})
			m.note("the size of the level-%d cache is that which is published for %s", level, m.Brand)
		}
		return
	}
}
