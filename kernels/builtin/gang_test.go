package builtin_test

import (
	"sync"
	"testing"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/kernels/kerneltest"
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

// TestGanged puts the versions for several units through the suites, with
// parts so small that every tile is cut, alone and on a gang. The short test
// leaves out float32, where only the routines below differ, and being alone.
func TestGanged(t *testing.T) {
	gangs := []versions.Gang{threads(3), nil}
	if testing.Short() {
		gangs = gangs[:1]
	}
	for _, gang := range gangs {
		tab := builtin.NewTable()
		for _, op := range tab.All() {
			if testing.Short() && op.Type == "f32" {
				continue
			}
			v := builtin.GangedForTest(op)
			run := v.Run
			if run == nil {
				continue // its versions use one unit
			}
			v.Run = func(c *versions.Call) error {
				call := *c
				call.Gang = gang
				return run(&call)
			}
			kerneltest.Version(t, op, &v)
		}
	}
}

// TestHelped puts the versions that others can help with through the suites, with
// somebody there for every part.
func TestHelped(t *testing.T) {
	tab, m := builtin.NewTable(), topo.Detect()
	here := &versions.Target{Arch: m.Arch, Features: m.Features}
	for _, op := range tab.All() {
		if testing.Short() && op.Type == "f32" {
			continue
		}
		for _, v := range op.Versions {
			run := v.Run
			if v.Help == nil || v.Constraints.Unmet(here) != "" || testing.Short() && v.Name == "go" {
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
