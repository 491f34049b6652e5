package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/faulty"
	"github.com/tessera-la/tessera/transport/transporttest"
	"go.uber.org/goleak"
)

// nodes returns nodes called a, b, c … of a network with faults, not started.
func nodes(t *testing.T, opt faulty.Options, n int) (*faulty.Network, []transport.Transport) {
	t.Helper()
	net, err := faulty.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	below := transport.NewNetwork()
	var all []transport.Transport
	for i := range n {
		x, err := below.Node(string(rune('a' + i)))
		if err != nil {
			t.Fatal(err)
		}
		y, err := net.Node(x)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, y)
	}
	return net, all
}

// TestWithout: without faults it is a transport as any other. Delays change nothing.
func TestWithout(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	for name, opt := range map[string]faulty.Options{"none": {}, "delay": {Delay: 2 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transport.Transport {
				_, all := nodes(t, opt, n)
				return all
			})
		})
	}
}

// told is what a node was told.
type told struct {
	mu       sync.Mutex
	messages []string
	events   []string
}

func (x *told) handle(_ string, m []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.messages = append(x.messages, string(m))
}

func (x *told) event(e transport.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events = append(x.events, fmt.Sprintf("%s %v", e.Node, e.Joined))
}

// take returns what has come since it was last called, when all has come to rest.
func (x *told) take() (messages, events []string) {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	messages, events = x.messages, x.events
	x.messages, x.events = nil, nil
	return messages, events
}

// start starts nodes, and closes them at the end of the test.
func start(t *testing.T, all []transport.Transport) (heard []*told) {
	t.Helper()
	for _, x := range all {
		h := &told{}
		if err := x.Start(h.handle, h.event); err != nil {
			t.Fatal(err)
		}
		heard = append(heard, h)
	}
	synctest.Wait()
	for _, h := range heard {
		h.take()
	}
	return heard
}

func closeAll(all []transport.Transport) {
	for _, x := range all {
		x.Close()
	}
}

// TestChance: what happens to messages is about what was asked for, the same with the same
// seed, and another with another.
func TestChance(t *testing.T) {
	run := func(seed uint64) (got []string, c faulty.Counts) {
		synctest.Test(t, func(t *testing.T) {
			net, all := nodes(t, faulty.Options{Seed: seed, Loss: .1, Double: .1, Reorder: .1, Damage: .1, Delay: time.Millisecond}, 2)
			defer closeAll(all)
			heard := start(t, all)
			for i := range 1000 {
				if err := all[0].Send(t.Context(), "b", fmt.Appendf(nil, "%04d", i)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Microsecond)
			}
			time.Sleep(time.Second)
			got, _ = heard[1].take()
			c = net.Count()
		})
		return got, c
	}
	got, c := run(1)
	for name, n := range map[string]int64{"lost": c.Lost, "doubled": c.Doubled, "reordered": c.Reordered, "damaged": c.Damaged} {
		if n < 60 || n > 140 {
			t.Errorf("%d of 1000 were %s", n, name)
		}
	}
	if int64(len(got)) != 1000-c.Lost+c.Doubled || slices.IsSorted(got) {
		t.Errorf("%d came, in order: %v", len(got), slices.IsSorted(got))
	}
	if again, _ := run(1); !slices.Equal(got, again) {
		t.Error("the same seed, and not the same run")
	}
	if other, _ := run(2); slices.Equal(got, other) {
		t.Error("another seed, and the same run")
	}
}

// TestFetches that fail do so by the errors that a transport has.
func TestFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := nodes(t, faulty.Options{Seed: 1, FetchLoss: .2, FetchDamage: .2}, 2)
		defer closeAll(all)
		start(t, all)
		v := &transporttest.Value{Data: []byte("0123456789")}
		all[0].Publish(transport.Ref{}, v)
		lost, damaged, whole := 0, 0, 0
		for range 200 {
			var gone *transport.UnreachableError
			var sum *transport.ChecksumError
			into := &transporttest.Value{}
			switch err := all[1].Fetch(t.Context(), "a", transport.Ref{}, 0, into); {
			case err == nil && string(into.Data) == string(v.Data):
				whole++
			case errors.As(err, &gone):
				lost++
			case errors.As(err, &sum):
				damaged++
			default:
				t.Fatalf("%v, %q", err, into.Data)
			}
		}
		if lost < 20 || damaged < 20 || whole < 80 {
			t.Errorf("%d whole, %d lost, %d damaged", whole, lost, damaged)
		}
		all[0].Drop(transport.Ref{})
	})
}

// TestByHand: a cut loses, a stall holds back, a crash is seen by all, and a node that is
// restarted joins with its name.
func TestByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, all := nodes(t, faulty.Options{}, 3)
		defer func() { closeAll(all) }()
		heard := start(t, all)
		send := func(from int, to, m string) error { return all[from].Send(t.Context(), to, []byte(m)) }
		want := func(who int, messages, events []string) {
			t.Helper()
			if m, e := heard[who].take(); !slices.Equal(m, messages) || !slices.Equal(e, events) {
				t.Errorf("node %d got %v and %v, want %v and %v", who, m, e, messages, events)
			}
		}
		all[0].Publish(transport.Ref{}, &transporttest.Value{})

		net.Cut([]string{"a"}, []string{"b", "c"})
		send(0, "b", "1")
		send(1, "c", "2")
		want(1, nil, nil)
		want(2, []string{"2"}, nil)
		var gone *transport.UnreachableError
		if err := all[1].Fetch(t.Context(), "a", transport.Ref{}, 0, &transporttest.Value{}); !errors.As(err, &gone) {
			t.Errorf("a fetch at a cut: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := all[1].Fetch(ctx, "a", transport.Ref{}, 0, &transporttest.Value{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fetch at a cut, in a hurry: %v", err)
		}
		cancel()
		net.Heal()
		send(0, "b", "3")
		want(1, []string{"3"}, nil)

		net.CutOneWay([]string{"a"}, []string{"b"})
		send(0, "b", "4")
		send(1, "a", "5")
		want(1, nil, nil)
		want(0, []string{"5"}, nil)
		net.Heal()

		net.Stall("b", time.Second)
		send(0, "b", "6")
		send(1, "a", "7")
		want(1, nil, nil)
		want(0, nil, nil)
		time.Sleep(time.Second)
		want(1, []string{"6"}, nil)
		want(0, []string{"7"}, nil)

		if err := net.Crash("b"); err != nil {
			t.Fatal(err)
		}
		want(0, nil, []string{"b false"})
		want(1, nil, nil)
		want(2, nil, []string{"b false"})
		if err := send(0, "b", "8"); !errors.As(err, &gone) || slices.Contains(all[0].Nodes(), "b") {
			t.Errorf("to a node that has crashed: %v", err)
		}
		if err := send(1, "a", "8"); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("from a node that has crashed: %v", err)
		}
		var wrong *faulty.NodeError
		if err := net.Crash("b"); !errors.As(err, &wrong) {
			t.Errorf("crashed again: %v", err)
		}
		b, err := net.Restart("b")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := net.Restart("b"); !errors.As(err, &wrong) {
			t.Errorf("restarted again: %v", err)
		}
		all = append(all, b)
		heard[1] = &told{}
		if err := b.Start(heard[1].handle, heard[1].event); err != nil {
			t.Fatal(err)
		}
		want(0, nil, []string{"b true"})
		if send(0, "b", "9"); len(b.Nodes()) != 2 {
			t.Errorf("a node that was restarted sees %v", b.Nodes())
		}
		synctest.Wait()
		slices.Sort(heard[1].events)
		want(1, []string{"9"}, []string{"a true", "c true"})
	})
}

// TestPlay: a schedule is the same for the same plan, kills none but the mortal, and leaves
// a network that is healed.
func TestPlay(t *testing.T) {
	p := faulty.Plan{Nodes: []string{"a", "b", "c"}, Steps: 20, Every: time.Second, Outage: 2 * time.Second, Mortal: []string{"c"}}
	crashes, kinds := 0, map[faulty.Kind]int{}
	for p.Seed = range 20 {
		steps := faulty.Draw(p)
		if len(steps) != 20 || !reflect.DeepEqual(steps, faulty.Draw(p)) {
			t.Fatalf("%v\nand then %v", steps, faulty.Draw(p))
		}
		for _, s := range steps {
			if kinds[s.Kind]++; s.Kind == faulty.Crashed && !slices.Equal(s.A, []string{"c"}) {
				t.Errorf("seed %d: %v", p.Seed, s)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			net, all := nodes(t, faulty.Options{}, 3)
			defer closeAll(all)
			heard := start(t, all)
			if err := net.Play(t.Context(), steps); err != nil {
				t.Fatal(err)
			}
			heard[1].take()
			if err := all[0].Send(t.Context(), "b", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if m, _ := heard[1].take(); len(m) != 1 {
				t.Errorf("seed %d: afterwards came %v", p.Seed, m)
			}
			if net.Crash("c") != nil {
				crashes++
			}
		})
	}
	if crashes == 0 || len(kinds) != 4 {
		t.Errorf("%d crashes, %v", crashes, kinds)
	}
}

// TestOptions: what makes no sense is refused.
func TestOptions(t *testing.T) {
	for _, opt := range []faulty.Options{{Loss: 1.1}, {Damage: -1}, {Delay: -1}} {
		var e *faulty.OptionsError
		if _, err := faulty.New(opt); !errors.As(err, &e) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}
