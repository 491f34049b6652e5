package web

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// TestOver: a node that has said that it goes is not there again by an answer that was on the way,
// but as soon as another one begins under its name.
func TestOver(t *testing.T) {
	for _, met := range []bool{false, true} {
		m, now := newMembers(), time.Now()
		if met {
			m.answered(&greeting{Name: "a", Life: 1}, "x", now)
		} else {
			m.greeted(&greeting{Name: "a", Address: "x", Life: 1}, now)
		}
		m.gone("a", 1, now)
		if m.answered(&greeting{Name: "a", Life: 1}, "x", now); len(m.there()) > 0 {
			t.Errorf("met %t: it is there after it has gone", met)
		}
		if m.answered(&greeting{Name: "a", Life: 2}, "x", now); len(m.there()) != 1 {
			t.Errorf("met %t: another one of its name is not there", met)
		}
	}
}

// dials returns the addresses that are greeted from one tick to the next.
func dials(m *members) (all []string) {
	to := map[string]struct{}{}
	m.tick(to)
	return append(slices.Collect(maps.Keys(to)), m.next(strangersMost)...)
}

// TestForget: a node that has said that it goes is not greeted, and soon forgotten. One that is
// lost is greeted for long, and then forgotten, too. Certificates are kept while there are
// connections. Messages of a node that has said that it goes are taken until it is forgotten, each
// once.
func TestForget(t *testing.T) {
	const timeout = time.Second
	m, now := newMembers(), time.Now()
	for i, name := range []string{"over", "lost", "there"} {
		address := fmt.Sprint("a:", i)
		if err := m.met(address, name, now); err != nil {
			t.Fatal(err)
		}
		m.answered(&greeting{Name: name, Life: 1}, address, now)
	}
	over, lost := m.byName["over"], m.byName["lost"]
	m.gone("over", 1, now)
	m.left(m.byName["lost"], errors.New("test"), now)
	takes := func(x *member, turn uint64, this, others bool) {
		t.Helper()
		if a, b := m.takes(x, turn); a != this || b != others {
			t.Errorf("message %d of %s: handled %t, want %t; others are %t, want %t", turn, x.name, a, this, b, others)
		}
	}
	takes(over, 1, true, true) // which was sent before
	takes(over, 1, false, true)
	takes(lost, 1, false, false)
	check := func(after time.Duration, names, greeted, certificates string) {
		t.Helper()
		m.tidy(timeout, map[string]bool{"a:2": true}, now.Add(after))
		addresses := dials(m)
		slices.Sort(addresses)
		for what, is := range map[string][2]string{
			"known":        {fmt.Sprint(slices.Sorted(maps.Keys(m.byName))), names},
			"greeted":      {fmt.Sprint(addresses), greeted},
			"certificates": {fmt.Sprint(slices.Sorted(maps.Keys(m.shown))), certificates},
		} {
			if is[0] != is[1] {
				t.Errorf("after %v: %s are %s, want %s", after, what, is[0], is[1])
			}
		}
	}
	check(0, "[lost over there]", "[a:1 a:2]", "[a:0 a:1 a:2]")
	check(2*timeout, "[lost over there]", "[a:1 a:2]", "[a:0 a:1 a:2]")
	if m.answered(&greeting{Name: "over", Life: 1}, "a:0", now); len(m.there()) != 1 {
		t.Error("it is there after it has gone")
	}
	check((overFor+1)*timeout, "[lost there]", "[a:1 a:2]", "[a:2]")
	check((goneFor+1)*timeout, "[there]", "[a:2]", "[a:2]")
	takes(over, 2, false, false)
	takes(lost, 2, false, false)
	m.events = transport.NewEvents()
	m.answered(&greeting{Name: "there", Life: 2}, "a:2", now)
	m.events.Add(transport.Event{Node: "last"})
	var told []transport.Event
	end := make(chan struct{})
	m.events.Tell(end, func(e transport.Event) {
		if told = append(told, e); e.Node == "last" {
			close(end)
		}
	})
	if len(told) != 3 || told[0].Err != errAnew || !told[1].Joined {
		t.Errorf("of a node that has begun anew is told %v", told)
	}
}

// TestNames: a certificate has a most of names, and others that it has no place for leave it as it
// is. Those who are over make place.
func TestNames(t *testing.T) {
	m, now := newMembers(), time.Now()
	for i := range namesMost {
		if _, err := m.greeted(&greeting{Name: fmt.Sprint("node1/job", i), Address: fmt.Sprint("a:", i), Life: 1}, now); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := m.greeted(&greeting{Name: "node1/more", Address: "b:1", Life: 1}, now); err == nil || !strings.Contains(err.Error(), "node1 has 1000 names") {
		t.Errorf("greeted: %v", err)
	}
	if _, err := m.answered(&greeting{Name: "node1/more", Life: 1}, "b:1", now); err == nil || len(m.byName) != namesMost {
		t.Errorf("%d names; answered: %v", len(m.byName), err)
	}
	if _, err := m.answered(&greeting{Name: "node2/job1", Life: 1}, "b:2", now); err != nil {
		t.Error(err)
	}
	if _, err := m.answered(&greeting{Name: "node1/job1", Life: 2}, "a:1", now); err != nil {
		t.Error(err)
	}
	m.gone("node1/job2", 1, now)
	m.tidy(time.Second, nil, now.Add((overFor+1)*time.Second))
	if _, err := m.answered(&greeting{Name: "node1/more", Life: 1}, "b:1", now); err != nil {
		t.Error(err)
	}
}

// TestStrangersAtOnce: however many nodes another one tells of, few are greeted at a time, and all
// in the end. Each holds its connection until as many as may be have one, and a little longer.
func TestStrangersAtOnce(t *testing.T) {
	x, err := New(Options{Name: "a", Listen: "127.0.0.1:0", Plain: true, Greet: time.Hour, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const all = strangersAtOnce + 20
	var open, most, came atomic.Int32
	full, others, met := make(chan struct{}), map[string]string{}, make(chan struct{}, all)
	for i := range all {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		others[fmt.Sprint("node", i)] = l.Addr().String()
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := open.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if came.Add(1) == strangersAtOnce {
				close(full)
			}
			<-full
			time.Sleep(20 * time.Millisecond)
			open.Add(-1)
			c.Close()
			met <- struct{}{}
		}()
	}
	if err := x.Start(func(string, []byte) {}, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	x.(*node).told(others)
	for late := time.After(5 * time.Minute); len(met) < all; {
		select {
		case <-late:
			t.Fatalf("%d of %d were greeted", came.Load(), all)
		case <-time.After(time.Millisecond):
		}
	}
	if n := most.Load(); n > strangersAtOnce {
		t.Errorf("%d were greeted at a time, want %d at most", n, strangersAtOnce)
	}
	m := newMembers()
	for i := range strangersMost + 10 {
		m.told(map[string]string{fmt.Sprint(i): fmt.Sprint("a:", i)})
	}
	if len(m.strangers) != strangersMost {
		t.Errorf("%d addresses are kept, want %d", len(m.strangers), strangersMost)
	}
}
