package kernels

import (
	"sync"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// caches returns the sizes of this machine's caches.
var caches = sync.OnceValue(func() cpu.Caches {
	m := topo.Detect()
	return cpu.Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)}
})

// avx512 and avx2 are what the versions in assembly need.
func avx512() versions.Constraints {
	return versions.Constraints{Arch: "amd64", Features: []string{"avx512f"}}
}

func avx2() versions.Constraints {
	return versions.Constraints{Arch: "amd64", Features: []string{"avx2", "fma3"}}
}
