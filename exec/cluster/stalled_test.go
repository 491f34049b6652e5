package cluster

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// moods is a transport of whose nodes each has its own way not to give a value.
type moods struct {
	away
	calls map[string]int
}

func (m *moods) Fetch(_ context.Context, from string, r transport.Ref, _ time.Duration, _ versions.Value) error {
	m.calls[from]++
	switch from {
	case "stalled":
		return &transport.UnreachableError{Node: from, Err: &transport.StalledError{Node: from, For: 5 * time.Second}}
	case "damages":
		return &transport.ChecksumError{Node: from, Ref: r}
	case "lacks":
		return &transport.NotHereError{Node: from, Ref: r}
	}
	return &transport.UnreachableError{Node: from}
}

// TestFetchSays: of a value that did not come a node says from where it did not come, and who does not
// have it. One from which no byte comes is asked once, and by nobody else for a while; one whose bytes
// are wrong, or that cannot be reached, is asked again.
func TestFetchSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		through := &moods{calls: map[string]int{}}
		m := newMeter(1)
		s := newStore(through, newSharedFetches(), 1, known{}, &m)
		defer s.close()
		ask := func(from ...string) *fetchError {
			t.Helper()
			clear(through.calls)
			_, _, err := s.fetchFromAny(s.ctx, nil, transport.Ref{}, givers{From: from})
			var f *fetchError
			if !errors.As(err, &f) {
				t.Fatalf("%v", err)
			}
			return f
		}
		if f := ask("lacks", "stalled"); !reflect.DeepEqual(f.cut, []string{"stalled"}) || !reflect.DeepEqual(f.lacks, []string{"lacks"}) {
			t.Errorf("%+v", f)
		}
		if f := ask("stalled"); through.calls["stalled"] > 0 || !reflect.DeepEqual(f.cut, []string{"stalled"}) {
			t.Errorf("asked %d times, %+v", through.calls["stalled"], f)
		}
		time.Sleep(unmetTime)
		if ask("stalled"); through.calls["stalled"] != 1 {
			t.Errorf("after a while it is asked %d times", through.calls["stalled"])
		}
		for _, node := range []string{"damages", "away"} {
			if f := ask(node); through.calls[node] < 5 || !reflect.DeepEqual(f.cut, []string{node}) || f.lacks != nil {
				t.Errorf("%s is asked %d times, %+v", node, through.calls[node], f)
			}
		}
		if f := missingFrom(transport.Ref{I: 3}, ask("lacks")); f.Ref.I != 3 || f.Unreachable != nil || !reflect.DeepEqual(f.Without, []string{"lacks"}) {
			t.Errorf("%+v", f)
		}
	})
}
