package cluster_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/transport"
)

// blinking is a transport whose node can be made to believe that another one has left and
// joined again, which that one has not noticed: a process that was stopped for a while.
type blinking struct {
	transport.Transport
	event func(transport.Event)
}

func (b *blinking) Start(handle transport.Handler, event func(transport.Event)) error {
	b.event = event
	return b.Transport.Start(handle, event)
}

func (b *blinking) blink(other string) {
	b.event(transport.Event{Node: other, Err: context.DeadlineExceeded})
	b.event(transport.Event{Node: other, Joined: true})
}

// TestBlink: one side of a driver and an agent believes that the other one had left, or both do.
// What the agent has, and does, of the time before is not mixed with what comes after.
func TestBlink(t *testing.T) {
	leaves(t)
	seeds := uint64(12)
	if !testing.Short() {
		seeds = 24
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 11))
		sides := map[string]*blinking{}
		n := start(t, 3, func(o *cluster.Options) {
			b := &blinking{Transport: o.Transport}
			sides[b.Self()] = b
			o.Transport, o.Idle, o.Owner = b, true, seed%4 < 2
		})
		p := newProgram(n.op, rng, 12, 300, 200)
		j := n.NewJob(context.Background())
		for i := range p.specs {
			if _, err := j.Submit(&p.specs[i]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if i%60 == 50 {
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
				agent := n.Nodes()[1:]
				if len(agent) == 0 {
					continue
				}
				other := agent[rng.IntN(len(agent))]
				var both sync.WaitGroup
				if seed%3 != 1 {
					both.Go(func() { sides["driver"].blink(other) })
				}
				if seed%3 != 0 {
					both.Go(func() { sides[other].blink("driver") })
				}
				both.Wait()
			}
		}
		done := make(chan error, 1)
		go func() { done <- j.Wait() }()
		// Seconds are counted: a process that was stopped for a minute has waited for one.
		for k, ended := 0, false; !ended; k++ {
			select {
			case err := <-done:
				if ended = true; err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			case <-time.After(time.Second):
				if k == 300 {
					pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
					t.Fatalf("seed %d: the job does not end; there are %s", seed, strings.Join(n.Nodes(), " "))
				}
			}
		}
		p.check(t)
		n.Close()
	}
}

// closing is a transport that another node joins when it is about to be closed.
type closing struct {
	blinking
	other string
}

func (c *closing) Close() error {
	c.blink(c.other)
	time.Sleep(10 * time.Millisecond) // it is called
	return c.Transport.Close()
}

// TestJoinAtClose: nothing is left of a node that joins while the driver is closed.
func TestJoinAtClose(t *testing.T) {
	leaves(t)
	n := start(t, 2, func(o *cluster.Options) {
		if o.Transport.Self() == "driver" {
			o.Transport = &closing{blinking: blinking{Transport: o.Transport}, other: "agent1"}
		}
	})
	n.Close()
}
