package op_test

import (
	"sync"
	"testing"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// threads is a versions.Gang of goroutines.
type threads int

func (n threads) Units() int { return int(n) }

func (n threads) Do(parts int, f func(int, *versions.Workspace)) {
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { f(i, new(versions.Workspace)) })
	}
	wg.Wait()
}

// TestHelped puts the versions that others can help with, or that have several units,
// through the suites, with somebody there for every part.
func TestHelped(t *testing.T) {
	tab, m := op.NewTable(), topo.Detect()
	here := &versions.Target{Arch: m.Arch, Features: m.Features, Processor: "KNL", Units: 2}
	for _, op := range tab.All() {
		if testing.Short() && op.Type == "f32" {
			continue
		}
		for _, v := range op.Versions {
			run := v.Run
			// "knl" has the kernels of "avx512" in blocks of other sizes, and what is shared does not depend on the type.
			if v.Help == nil || v.Constraints.Unmet(here) != "" || (testing.Short() || op.Type == "f32") && (v.Name == "go" || v.Name == "knl") {
				continue
			}
			v.Name += ", helped" // what a gang needs is allocated
			v.Run = func(c *versions.Call) error {
				call := *c
				call.Gang = threads(3)
				return run(&call)
			}
			t.Run(op.OpName()+"/"+v.Name, func(t *testing.T) { kerneltest.Version(t, op, &v) })
		}
	}
}
