package cluster_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
)

// TestParents: what a lost agent had below it goes to the agent above that one, then to the driver, and comes back
// when they do.
func TestParents(t *testing.T) {
	leaves(t)
	synctest.Test(t, func(t *testing.T) { // in virtual time
		faults := faultyNetwork(1)
		parents := []string{"", "agent0", "agent1", "agent1"}
		n := startOn(t, faults.Node, len(parents), func(o *cluster.Options) {
			o.Idle, o.Log = true, slog.New(slog.DiscardHandler)
			if name := o.Transport.Self(); name != "driver" {
				o.Parent = parents[name[len("agent")]-'0']
			}
		})
		others := func(names ...string) (all []string) {
			for _, name := range []string{"driver", "agent0", "agent1", "agent2", "agent3"} {
				if !slices.Contains(names, name) {
					all = append(all, name)
				}
			}
			return all
		}
		check := func(what string, nodes ...string) {
			t.Helper()
			time.Sleep(time.Minute)
			var got []string
			for _, u := range n.Usage()[1:] {
				if !u.Lost {
					got = append(got, fmt.Sprintf("%s+%d", u.Node, u.BelowNodes))
				}
			}
			if slices.Sort(got); !slices.Equal(got, nodes) {
				t.Errorf("%s: the driver has %v, want %v", what, got, nodes)
			}
			var watched []string
			for _, w := range n.Watch().Nodes {
				if !w.Lost && w.Name != "driver" {
					watched = append(watched, w.Name)
				}
			}
			slices.Sort(watched)
			if !slices.EqualFunc(watched, nodes, func(name, node string) bool { return strings.HasPrefix(node, name+"+") }) {
				t.Errorf("%s: Watch has %v, want %v", what, watched, nodes)
			}
			factoring(n.op, 4, false).expect(time.Millisecond).run(t, n.NewJob(t.Context()), 1, nil)
		}
		check("at first", "agent0+3")
		faults.Cut([]string{"agent1"}, others("agent1"))
		check("without agent1", "agent0+2")
		faults.Cut([]string{"agent0"}, others("agent0"))
		check("without both", "agent2+0", "agent3+0")
		faults.Heal()
		check("healed", "agent0+3")
		n.Close()
	})
}
