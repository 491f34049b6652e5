package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// away is a transport that reaches nobody.
type away struct {
	transport.Transport
	asked func() // is called by each Fetch
}

func (a *away) Self() string { return "self" }

func (a *away) Fetch(_ context.Context, from string, _ transport.Ref, _ time.Duration, _ versions.Value) error {
	a.asked()
	return &transport.UnreachableError{Node: from}
}

// TestFetchLeft: a node that cannot be reached is asked again as long as it may be one that is
// yet to be met. One that has left is not, nor one that was just waited for in vain.
func TestFetchLeft(t *testing.T) { synctest.Test(t, fetchLeft) }

func fetchLeft(t *testing.T) {
	calls, leaves := 0, 0
	f := newFetching()
	through := &away{asked: func() {
		if calls++; calls == leaves {
			f.event(transport.Event{Node: "other"})
		}
	}}
	m := newMeter(1)
	s := newStore(through, f, 1, known{}, &m)
	defer s.close()
	ask := func() {
		t.Helper()
		calls = 0
		_, _, err := s.give(nil, transport.Ref{}, givers{From: []string{"other"}})
		if u := (*transport.UnreachableError)(nil); !errors.As(err, &u) {
			t.Fatalf("%v, want an UnreachableError", err)
		}
	}
	leaves = 3
	if ask(); calls != leaves {
		t.Errorf("asked %d times, and it left the %dth", calls, leaves)
	}
	if ask(); calls != 1 {
		t.Errorf("after it has left it is asked %d times", calls)
	}
	leaves = 0
	for _, again := range []func(){
		func() { f.event(transport.Event{Node: "other", Joined: true}) },
		func() { time.Sleep(vainTime) },
		func() { f.event(transport.Event{Node: "other", Joined: true}) },
	} {
		again()
		if ask(); calls < 5 {
			t.Errorf("a node that is yet to be met is asked %d times", calls)
		}
		if ask(); calls != 1 {
			t.Errorf("after it was waited for in vain it is asked %d times", calls)
		}
	}
	for range 2 * leftMost {
		f.event(transport.Event{Node: time.Now().String()})
		f.waited([]string{time.Now().String()})
		time.Sleep(1)
	}
	if len(f.left) > leftMost || len(f.vain) > leftMost {
		t.Errorf("%d nodes that have left are remembered, and %d that were waited for", len(f.left), len(f.vain))
	}
}
