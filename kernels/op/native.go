package op

import (
	"sync"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/versions"
)

// caches returns the sizes of this machine's caches.
var caches = sync.OnceValue(func() cpu.Caches {
	m := topo.Here()
	return cpu.Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)}
})

// cachesAtOnce returns the sizes of this machine's caches without a look at the files of the operating system, which would
// take most of a program's first call, if the processor tells them.
func cachesAtOnce() cpu.Caches {
	c := cpu.Caches{L1: topo.CacheSize(1), L2: topo.CacheSize(2), L3: topo.CacheSize(3)}
	if c.L1 == 0 || c.L2 == 0 {
		return caches()
	}
	return c
}

// needs returns what a worker must offer to run versions of set: its architecture and CPU features.
func needs(set *isa.Table) versions.Constraints {
	return versions.Constraints{Arch: set.Arch, Features: set.Features}
}

// knlUnits is the number of cores that a KNL version works on: a core pair, two cores that share a
// second-level cache. Intel's word for it is tile.
const knlUnits = 2

// knl returns the constraints of version "knl": the units of one core pair of a Xeon Phi x200, by
// CPUID or by declaration.
func knl() versions.Constraints {
	return versions.Constraints{Arch: "amd64", Processor: "KNL", Features: []string{"avx512f"}, Units: knlUnits}
}

// knlCaches returns the caches for one core of a pair: 32 KiB, and half of the pair's 1 MiB. There
// is no third level.
func knlCaches() cpu.Caches { return cpu.Caches{L1: 32 << 10, L2: 512 << 10} }
