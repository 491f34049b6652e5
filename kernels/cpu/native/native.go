package native

import (
	"sync"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu/avx2"
	"github.com/tessera-la/tessera/kernels/cpu/avx512"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/neon"
)

// sets is what Sets returns.
var sets = sync.OnceValue(func() []*isa.Table {
	return []*isa.Table{avx512.Table(), avx2.Table(), neon.Table()}
})

// Sets returns all instruction sets, the preferred one of an architecture first. Those that
// this build has no assembly for have no kernels.
func Sets() []*isa.Table { return sets() }

// here is what Here returns.
var here = sync.OnceValue(func() (all []*isa.Table) {
	id := topo.Identify()
	for _, t := range Sets() {
		if t.Missing() == "" && id.Has(t.Features...) {
			all = append(all, t)
		}
	}
	return all
})

// Here returns the sets with kernels that this processor can run, the preferred one first.
func Here() []*isa.Table { return here() }

// Best returns the first of [Here], or a set without kernels.
func Best() *isa.Table { return best() }

var best = sync.OnceValue(func() *isa.Table {
	if all := Here(); len(all) > 0 {
		return all[0]
	}
	return new(isa.Table)
})
