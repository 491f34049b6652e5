package cluster_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/transport"
)

// TestAwaitNames: the error of a wait for more agents than there are names those that are there.
func TestAwaitNames(t *testing.T) {
	leaves(t)
	synctest.Test(t, func(t *testing.T) {
		n := startOn(t, transport.NewNetwork().Node, 2, func(*cluster.Options) {})
		defer n.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := n.Await(ctx, 3)
		if err == nil || !strings.Contains(err.Error(), "2 of 3 agents are there, agent0, agent1: ") && !strings.Contains(err.Error(), "2 of 3 agents are there, agent1, agent0: ") {
			t.Errorf("%v", err)
		}
	})
}
