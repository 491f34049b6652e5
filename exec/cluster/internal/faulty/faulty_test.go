package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
	"go.uber.org/goleak"
)

// nodes returns nodes called a, b, c … of a network with faults, not started.
func nodes(t *testing.T, opt faulty.Options, n int) (*faulty.Network, []transport.Transport) {
	t.Helper()
	net := faulty.New(opt)
	var all []transport.Transport
	for i := range n {
		x, err := net.Node(string(rune('a' + i)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
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

// TestDelay: messages take the time of a seed, and come in order.
func TestDelay(t *testing.T) {
	run := func(seed uint64) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			_, all := nodes(t, faulty.Options{Seed: seed, Delay: time.Millisecond}, 2)
			defer closeAll(all)
			heard := start(t, all)
			began := time.Now()
			for i := range 1000 {
				if err := all[0].Send(t.Context(), "b", fmt.Appendf(nil, "%04d", i)); err != nil {
					t.Fatal(err)
				}
			}
			took = time.Since(began)
			time.Sleep(time.Second)
			if got, _ := heard[1].take(); len(got) != 1000 || !slices.IsSorted(got) {
				t.Errorf("%d came, in order: %v", len(got), slices.IsSorted(got))
			}
		})
		return took
	}
	once := run(1)
	if again := run(1); again != once || once == 0 {
		t.Errorf("the same seed, and 1000 messages wait for %v and for %v", once, again)
	}
	if other := run(2); other == once {
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

// TestByHand: a cut and a stall hold back, and a crash is seen by all.
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
		send(0, "b", "3")
		net.Heal()
		want(1, []string{"1", "3"}, nil)

		net.CutOneWay([]string{"a"}, []string{"b"})
		send(0, "b", "4")
		send(1, "a", "5")
		want(1, nil, nil)
		want(0, []string{"5"}, nil)
		net.Heal()
		want(1, []string{"4"}, nil)

		net.Stall("b", time.Second)
		send(0, "b", "6")
		send(1, "a", "7")
		want(1, nil, nil)
		want(0, nil, nil)
		time.Sleep(time.Second)
		want(1, []string{"6"}, nil)
		want(0, []string{"7"}, nil)

		net.CutValues([]string{"a"}, []string{"b"})
		send(0, "b", "8")
		want(1, []string{"8"}, nil)
		if err := all[1].Fetch(t.Context(), "a", transport.Ref{}, 0, &transporttest.Value{}); !errors.As(err, &gone) {
			t.Errorf("a fetch where only messages pass: %v", err)
		}
		net.Heal()
		if err := all[1].Fetch(t.Context(), "a", transport.Ref{}, 0, &transporttest.Value{}); err != nil {
			t.Error(err)
		}

		if err := net.Crash("b"); err != nil {
			t.Fatal(err)
		}
		want(0, nil, []string{"b false"})
		m, e := heard[1].take()
		if slices.Sort(e); len(m) > 0 || !slices.Equal(e, []string{"a false", "c false"}) {
			t.Errorf("a node that has crashed got %v and %v", m, e)
		}
		want(2, nil, []string{"b false"})
		if err := send(0, "b", "9"); !errors.As(err, &gone) || slices.Contains(all[0].Nodes(), "b") {
			t.Errorf("to a node that has crashed: %v", err)
		}
		if err := send(1, "a", "9"); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("from a node that has crashed: %v", err)
		}
		var wrong *faulty.NodeError
		if err := net.Crash("b"); !errors.As(err, &wrong) {
			t.Errorf("crashed again: %v", err)
		}
	})
}

// TestGone: nodes between which nothing passes see each other leave in time, lose what was
// held back, and join again when it passes.
func TestGone(t *testing.T) {
	for name, fail := range map[string]func(*faulty.Network){
		"cut":     func(n *faulty.Network) { n.Cut([]string{"a"}, []string{"b"}) },
		"one way": func(n *faulty.Network) { n.CutOneWay([]string{"b"}, []string{"a"}) },
		"stall":   func(n *faulty.Network) { n.Stall("a", 5*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net, all := nodes(t, faulty.Options{Timeout: time.Second}, 2)
				defer closeAll(all)
				heard := start(t, all)
				fail(net)
				if err := all[1].Send(t.Context(), "a", []byte("lost")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(900 * time.Millisecond)
				for i, h := range heard {
					if m, e := h.take(); len(m)+len(e) > 0 {
						t.Errorf("node %d got %v and %v before the time", i, m, e)
					}
				}
				time.Sleep(200 * time.Millisecond)
				for i, h := range heard {
					other := string(rune('b' - i))
					if m, e := h.take(); len(m) > 0 || !slices.Equal(e, []string{other + " false"}) || len(all[i].Nodes()) > 0 {
						t.Errorf("node %d got %v and %v, and sees %v", i, m, e, all[i].Nodes())
					}
					var gone *transport.UnreachableError
					if err := all[i].Send(t.Context(), other, nil); !errors.As(err, &gone) {
						t.Errorf("to a node that has left: %v", err)
					}
				}
				net.Heal()
				time.Sleep(5 * time.Second)
				if err := all[1].Send(t.Context(), "a", []byte("comes")); err != nil {
					t.Fatal(err)
				}
				if m, e := heard[0].take(); !slices.Equal(m, []string{"comes"}) || !slices.Equal(e, []string{"b true"}) {
					t.Errorf("afterwards came %v and %v", m, e)
				}
				if _, e := heard[1].take(); !slices.Equal(e, []string{"a true"}) {
					t.Errorf("afterwards %v", e)
				}
			})
		})
	}
}

// TestStorm: whatever happens to the network, what comes of a node's messages while it is seen is
// what it has sent, in order and without a gap from one to the next.
func TestStorm(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			net, all := nodes(t, faulty.Options{Seed: seed, Delay: 2 * time.Millisecond, Timeout: 50 * time.Millisecond}, 4)
			defer closeAll(all)
			heard := start(t, all)
			steps := faulty.Draw(faulty.Plan{Seed: seed, Nodes: []string{"a", "b", "c", "d"}, Steps: 12, Every: 60 * time.Millisecond, Outage: 150 * time.Millisecond})
			var played sync.WaitGroup
			played.Go(func() {
				if err := net.Play(t.Context(), steps); err != nil {
					t.Error(err)
				}
			})
			sent := map[string]int{} // by sender and receiver
			for range 1000 {
				for i, x := range all {
					for k := range all {
						to := string(rune('a' + k))
						way := fmt.Sprint(string(rune('a'+i)), to)
						ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
						if x.Send(ctx, to, fmt.Appendf(nil, "%s %d", way, sent[way])) == nil {
							sent[way]++
						}
						cancel()
					}
				}
				time.Sleep(time.Millisecond)
			}
			played.Wait()
			time.Sleep(time.Second)
			for i, h := range heard {
				next := map[string]int{}
				jumps, left := map[string]int{}, map[string]int{}
				messages, events := h.take()
				for _, e := range events {
					if name, ok := strings.CutSuffix(e, " false"); ok {
						left[name]++
					}
				}
				for _, m := range messages {
					var way string
					var number int
					if _, err := fmt.Sscan(m, &way, &number); err != nil || number < next[way] {
						t.Fatalf("seed %d: node %d got %q after %d", seed, i, m, next[way]-1)
					}
					if number > next[way] {
						jumps[way[:1]]++
					}
					next[way] = number + 1
				}
				for from, many := range jumps {
					if many > left[from] {
						t.Errorf("seed %d: node %d misses messages of %s %d times, which has left %d times", seed, i, from, many, left[from])
					}
				}
				if len(next) != 4 {
					t.Errorf("seed %d: node %d got messages of %d nodes", seed, i, len(next))
				}
			}
		})
	}
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
