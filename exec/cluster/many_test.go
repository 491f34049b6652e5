package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
)

// TestManyNodes: what holds of a few nodes holds of more than the data know locations of, and
// than are looked at for each task.
func TestManyNodes(t *testing.T) {
	agents := 300
	if testing.Short() {
		agents = 66
	}
	leaves(t)
	for _, how := range []struct {
		name string
		set  func(*cluster.Options)
	}{
		{"owner", func(o *cluster.Options) { o.Owner = true }},
		{"locality", func(o *cluster.Options) {}},
		{"fifo", func(o *cluster.Options) { o.Policy = dispatch.FIFO }},
	} {
		t.Run(fmt.Sprintf("%s/agents=%d", how.name, agents), func(t *testing.T) {
			n := start(t, agents, func(o *cluster.Options) {
				how.set(o)
				o.Idle = true
			})
			p := newProgram(n.op, rand.New(rand.NewPCG(1, 2)), 3*agents, 5*agents, 0)
			p = p.spreads(n.op)
			j := n.NewJob(context.Background())
			for i := range p.specs {
				if _, err := j.Submit(&p.specs[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Wait(); err != nil {
				t.Fatal(err)
			}
			p.check(t)
			used := 0
			for _, u := range n.Usage() {
				if len(u.Tasks) > 0 {
					used++
				}
			}
			if used < agents/2 {
				t.Errorf("%d of %d agents have executed tasks", used, agents)
			}
		})
	}
}
