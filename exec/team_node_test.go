package exec

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// A worker of another node that lingers does not stand in for one of the leader's
// node that sleeps and could help.
func TestTeamLingerNode(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	alone, suited := 0, 0
	for try := 0; try < 200 && suited < 4; try++ {
		o := Options{Workers: 4, Float: true}
		o.Linger(time.Hour)
		o.Nodes(2)
		rt, err := NewLocal(o)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		helped, suits := false, false
		op := &versions.Op{Name: "crew", Versions: []versions.Version{{
			Name: "v",
			Help: func(*versions.Call) (int, bool) { return 2, false },
			Run: func(c *versions.Call) error {
				w := c.Gang.(*team).leader
				time.Sleep(5 * time.Millisecond)
				rt.mu.Lock()
				near := 0
				for _, p := range rt.parked {
					if p.info.Node == w.info.Node {
						near++
					}
				}
				suits = near == 1 && rt.spinning == 1 && rt.lingering != nil
				rt.mu.Unlock()
				c.Parallel(10, func(_ int, ws *versions.Workspace) {
					time.Sleep(time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					helped = helped || ws != &w.part
				})
				return nil
			},
		}}}
		nop := &versions.Op{Name: "nop", Versions: []versions.Version{{Name: "v", Run: func(*versions.Call) error { return nil }}}}
		for _, op := range []*versions.Op{nop, op} {
			job := rt.NewJob(context.Background())
			if _, err := job.Submit(&graph.Spec{Op: op}); err != nil {
				t.Fatal(err)
			}
			if err := job.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		if suits {
			suited++
			if !helped {
				alone++
			}
		}
		rt.Close()
	}
	if suited == 0 {
		t.Error("never did a worker of another node linger while one of the leader's slept")
	}
	if alone > 0 {
		t.Errorf("%d of %d calls had no helper although a worker of the node slept", alone, suited)
	}
}
