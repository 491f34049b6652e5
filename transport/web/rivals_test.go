package web

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// TestRivals: of two nodes with one name the older one stays, as soon as it is clear that it is there;
// one that begins anew takes the place of what it was, when that has ended.
func TestRivals(t *testing.T) {
	begin := time.Now()
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	type step struct {
		second  int
		life    uint64 // that began at 100·life seconds before begin
		address string
		answers bool
		want    string // of the error; empty for none
	}
	steps := func(name string, met uint64, silent bool, all []step) {
		t.Run(name, func(t *testing.T) {
			m := newMembers()
			if _, err := m.answered(&greeting{Name: "a", Life: met, Age: time.Duration(100*met) * time.Second}, "x:1", begin); err != nil {
				t.Fatal(err)
			}
			for i, s := range all {
				g := &greeting{Name: "a", Life: s.life, Age: time.Duration(100*s.life)*time.Second + at(s.second).Sub(begin), Address: s.address}
				var err error
				if s.answers {
					_, err = m.answered(g, s.address, at(s.second))
				} else {
					_, err = m.greeted(g, at(s.second))
				}
				if (err == nil) != (s.want == "") || err != nil && !strings.Contains(err.Error(), s.want) {
					t.Errorf("step %d: %v, want %q", i, err, s.want)
				}
				if silent && i == 1 {
					m.silent(time.Second, errors.New("silent"), at(s.second))
				}
			}
			if s := all[len(all)-1]; s.want == "" {
				if x, address := m.find("a"); x == nil || x.life != s.life || address != s.address {
					t.Errorf("%+v is there at %q", x, address)
				}
			}
			if len(m.rivals) > 1 {
				t.Errorf("%d rivals", len(m.rivals))
			}
		})
	}
	steps("the second is younger", 5, false, []step{
		{1, 4, "y:1", false, "may still be there"}, {1, 4, "y:1", true, "may still be there"}, {2, 5, "x:1", true, ""},
		{3, 4, "y:1", false, "a is there already, at x:1, and the node of that name at y:1 is refused"}, {3, 4, "y:1", true, "is refused"}, {4, 5, "x:1", true, ""},
	})
	steps("the second is older", 4, false, []step{
		{1, 5, "y:1", false, "may still be there"}, {2, 4, "x:1", true, ""}, {3, 5, "y:1", false, "may still be there"}, {3, 5, "y:1", true, ""},
		{4, 4, "x:1", false, "may still be there"}, {5, 5, "y:1", true, ""}, {6, 4, "x:1", true, "is refused"}, {7, 5, "y:1", true, ""},
	})
	steps("it begins anew at its address", 5, false, []step{{1, 1, "x:1", false, ""}, {1, 1, "x:1", true, ""}})
	steps("it begins anew elsewhere", 5, true, []step{{1, 1, "y:1", false, "may still be there"}, {9, 1, "y:1", true, "may still be there"}, {9, 1, "y:1", true, ""}})
}

// TestTwoOfOneName: two live nodes with one name. The second is refused, by the first one's name and
// address, and both logs say so; a third one that knows the second only does not take it for the first
// one. When the first one is gone the second takes its place.
func TestTwoOfOneName(t *testing.T) {
	events := make(chan transport.Event, 100)
	c, said := live(t, Options{Name: "c"}, func(e transport.Event) { events <- e })
	first, ofFirst := live(t, Options{Name: "a", Peers: []string{Address(c)}}, nil)
	next := func() transport.Event {
		t.Helper()
		select {
		case e := <-events:
			return e
		case <-time.After(5 * time.Minute):
			t.Fatal("no event")
			return transport.Event{}
		}
	}
	if e := next(); !e.Joined {
		t.Fatalf("event %+v", e)
	}
	first.members.mu.Lock()
	first.began = first.began.Add(-time.Minute)
	first.members.mu.Unlock()
	until(t, "c knows its age", func() bool {
		c.members.mu.Lock()
		defer c.members.mu.Unlock()
		return time.Since(c.members.byName["a"].began) > alike
	})
	second, ofSecond := live(t, Options{Name: "a", Peers: []string{Address(c)}, Timeout: 30 * time.Second}, nil)
	refused := "a is there already, at " + Address(first)
	for name, l := range map[string]interface{ String() string }{"c": said, "the first": ofFirst, "the second": ofSecond} {
		until(t, name+" says it", func() bool {
			return strings.Contains(l.String(), refused) && strings.Contains(l.String(), Address(second))
		})
	}
	until(t, "the second knows", func() bool { return second.rival(&greeting{Name: "d"}, time.Now()) != nil })
	d, ofD := live(t, Options{Name: "d", Peers: []string{Address(second)}}, nil)
	until(t, "d meets the first one", func() bool { return Addresses(d)["a"] == Address(first) })
	until(t, "d says why", func() bool { return strings.Contains(ofD.String(), refused) })
	if got := Addresses(c)["a"]; got != Address(first) {
		t.Errorf("a is at %s, want %s", got, Address(first))
	}
	for len(events) > 0 {
		if e := <-events; e.Node == "a" {
			t.Errorf("event %+v", e)
		}
	}
	second.members.mu.Lock()
	second.second.until = time.Time{} // or else it waits for its Timeout
	second.members.mu.Unlock()
	first.Close()
	until(t, "the second takes its place", func() bool { return Addresses(c)["a"] == Address(second) })
}
