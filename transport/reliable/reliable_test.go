package reliable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/faulty"
	"github.com/tessera-la/tessera/transport/reliable"
	"github.com/tessera-la/tessera/transport/transporttest"
	"go.uber.org/goleak"
)

// world is nodes called a, b, c … over faults.
type world struct {
	t     testing.TB
	net   *faulty.Network
	opt   reliable.Options
	nodes map[string]*node
	old   []transport.Transport // that have crashed
}

// node is a node, and what it was told.
type node struct {
	transport.Transport
	mu     sync.Mutex
	got    []string // sender and message
	events []string
	wait   time.Duration // that its handler takes
}

func (x *node) handle(from string, m []byte) {
	x.mu.Lock()
	x.got = append(x.got, from+" "+string(m))
	wait := x.wait
	x.mu.Unlock()
	time.Sleep(wait)
}

func (x *node) event(e transport.Event) {
	x.mu.Lock()
	x.events = append(x.events, fmt.Sprintf("%s %v", e.Node, e.Joined))
	x.mu.Unlock()
}

// take returns what a node was told since it was last asked.
func (x *node) take() (got, events []string) {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	got, events = x.got, x.events
	x.got, x.events = nil, nil
	return got, events
}

func build(t testing.TB, n int, faults faulty.Options, opt reliable.Options) []transport.Transport {
	_, all := buildNet(t, n, faults, opt)
	return all
}

func buildNet(t testing.TB, n int, faults faulty.Options, opt reliable.Options) (*faulty.Network, []transport.Transport) {
	t.Helper()
	net, err := faulty.New(faults)
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
		if x, err = net.Node(x); err != nil {
			t.Fatal(err)
		}
		if x, err = reliable.New(x, opt); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return net, all
}

// start returns a world in which all nodes see each other.
func start(t testing.TB, n int, faults faulty.Options, opt reliable.Options) *world {
	t.Helper()
	net, all := buildNet(t, n, faults, opt)
	w := &world{t: t, net: net, opt: opt, nodes: map[string]*node{}}
	for _, x := range all {
		w.add(x)
	}
	for range 1000 {
		time.Sleep(10 * time.Millisecond)
		if !slices.ContainsFunc(all, func(x transport.Transport) bool { return len(x.Nodes()) < n-1 }) {
			break
		}
	}
	for _, x := range w.nodes {
		if got, events := x.take(); len(got) > 0 || len(events) != n-1 {
			t.Fatalf("%s was told %v and %v", x.Self(), got, events)
		}
	}
	return w
}

func (w *world) add(x transport.Transport) {
	w.t.Helper()
	y := &node{Transport: x}
	w.nodes[x.Self()] = y
	if err := x.Start(y.handle, y.event); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	for _, x := range w.old {
		x.Close()
	}
	for _, x := range w.nodes {
		x.Close()
	}
}

func (w *world) send(from, to, m string) error {
	return w.nodes[from].Send(w.t.Context(), to, []byte(m))
}

func (w *world) crash(name string) {
	w.t.Helper()
	if err := w.net.Crash(name); err != nil {
		w.t.Fatal(err)
	}
	w.old = append(w.old, w.nodes[name].Transport)
	delete(w.nodes, name)
}

func (w *world) restart(name string) {
	w.t.Helper()
	x, err := w.net.Restart(name)
	if err == nil {
		x, err = reliable.New(x, w.opt)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.add(x)
}

// all is every fault by chance.
func all(seed uint64) faulty.Options {
	return faulty.Options{Seed: seed, Loss: .1, Double: .1, Reorder: .2, Damage: .1, Delay: time.Millisecond, FetchLoss: .1, FetchDamage: .1}
}

// TestSuite: over a good transport, and over one that does everything wrong, it keeps
// what a transport promises.
func TestSuite(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	t.Run("good", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, n int) []transport.Transport {
			return build(t, n, faulty.Options{}, reliable.Options{})
		})
	})
	seed := uint64(0)
	for i := range 3 {
		t.Run(fmt.Sprintf("faulty%d", i), func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transport.Transport {
				seed++
				return build(t, n, all(seed), reliable.Options{})
			})
		})
	}
}

// TestStorm: whatever happens to the network, each node gets the messages of each other
// one in order, none twice, and all as long as nobody was seen to leave.
func TestStorm(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		})
	}
}

func storm(t *testing.T, seed uint64) {
	w := start(t, 3, all(seed), reliable.Options{Timeout: time.Second})
	defer w.close()
	// With an even seed everything is over before anybody counts as gone.
	calm := seed%2 == 0
	plan := faulty.Plan{Seed: seed, Nodes: []string{"a", "b", "c"}, Steps: 10, Every: 2 * time.Second, Outage: 3 * time.Second}
	if calm {
		plan.Outage = 200 * time.Millisecond
	}
	steps := faulty.Draw(plan)
	if calm {
		for i := range steps { // one after the other
			steps[i].At += time.Duration(i) * time.Second
		}
	}
	var busy sync.WaitGroup
	over := make(chan struct{})
	sent := map[string]int{} // from and to
	var mu sync.Mutex
	for _, x := range w.nodes {
		for to := range w.nodes {
			if to == x.Self() {
				continue
			}
			busy.Add(1)
			go func() {
				defer busy.Done()
				r := rand.New(rand.NewPCG(seed, uint64(to[0])))
				for i := 0; ; i++ {
					select {
					case <-over:
						return
					case <-time.After(time.Duration(r.IntN(40)) * time.Millisecond):
					}
					m := fmt.Appendf(nil, "%06d%s", i, bytes.Repeat([]byte("x"), r.IntN(1+r.IntN(20)/19*200_000)))
					if err := x.Send(t.Context(), to, m); err != nil {
						if calm {
							t.Errorf("Send: %v", err)
						}
						continue
					}
					mu.Lock()
					sent[x.Self()+to]++
					mu.Unlock()
				}
			}()
		}
	}
	if err := w.net.Play(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	close(over)
	busy.Wait()
	time.Sleep(3 * time.Second)
	left := 0
	for name, x := range w.nodes {
		if len(x.Nodes()) != 2 {
			t.Errorf("%s sees %v when all is over", name, x.Nodes())
		}
		got, events := x.take()
		for _, e := range events {
			if strings.HasSuffix(e, "false") {
				left++
			}
		}
		if calm && len(events) > 0 {
			t.Errorf("%s was told %v", name, events)
		}
		last, count := map[string]string{}, map[string]int{}
		for _, m := range got {
			from, number := m[:1], m[2:8]
			if number <= last[from] {
				t.Fatalf("%s got %s of %s after %s", name, number, from, last[from])
			}
			last[from] = number
			count[from]++
		}
		for from, n := range count {
			if calm && n != sent[from+name] || n < 100 {
				t.Errorf("%s got %d messages of %s, which sent %d", name, n, from, sent[from+name])
			}
		}
	}
	t.Logf("%d times a node was seen to leave; %+v", left, w.net.Count())
}

// TestGone: a node of which nothing is heard has left in time, on both sides, with what
// waits for it; when it is heard of again it has joined, and nothing old comes.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, faulty.Options{}, reliable.Options{})
		defer w.close()
		w.net.Cut([]string{"a"}, []string{"b"})
		for i := range 10 {
			if err := w.send("a", "b", fmt.Sprint("old", i)); err != nil {
				t.Fatal(err)
			}
		}
		stuck := make(chan error)
		go func() {
			for {
				if err := w.nodes["a"].Send(t.Context(), "b", make([]byte, 1<<20)); err != nil {
					stuck <- err
					return
				}
			}
		}()
		cut := time.Now()
		var gone *transport.UnreachableError
		if err := <-stuck; !errors.As(err, &gone) {
			t.Errorf("who waits for the node is told %v", err)
		}
		if d := time.Since(cut); d > 6*time.Second || d < 5*time.Second {
			t.Errorf("seen after %v", d)
		}
		time.Sleep(2 * time.Second)
		for name, other := range map[string]string{"a": "b", "b": "a"} {
			if _, e := w.nodes[name].take(); !slices.Equal(e, []string{other + " false"}) {
				t.Errorf("%s was told %v", name, e)
			}
			if err := w.send(name, other, "x"); !errors.As(err, &gone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.net.Heal()
		time.Sleep(2 * time.Second)
		for name, other := range map[string]string{"a": "b", "b": "a"} {
			if got, e := w.nodes[name].take(); !slices.Equal(e, []string{other + " true"}) || len(got) > 0 {
				t.Errorf("%s was told %v and %v", name, e, got)
			}
		}
		w.send("a", "b", "new")
		time.Sleep(time.Second)
		if got, _ := w.nodes["b"].take(); !slices.Equal(got, []string{"a new"}) {
			t.Errorf("came %v", got)
		}
	})
}

// TestSlow: a node that works for long at a message has not left, and who sends to it waits.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, faulty.Options{Seed: 1, Loss: .1}, reliable.Options{Timeout: time.Second, Window: 1 << 20})
		defer w.close()
		w.nodes["b"].wait = 10 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		sent := 0
		for w.nodes["a"].Send(ctx, "b", make([]byte, 100_000)) == nil {
			sent++
		}
		if sent < 10 || sent > 14 || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%d were sent", sent)
		}
		if _, e := w.nodes["a"].take(); len(e) > 0 {
			t.Errorf("a was told %v", e)
		}
		w.nodes["b"].mu.Lock()
		w.nodes["b"].wait = 0
		w.nodes["b"].mu.Unlock()
		time.Sleep(time.Minute)
		if got, _ := w.nodes["b"].take(); len(got) != sent {
			t.Errorf("%d of %d came", len(got), sent)
		}
	})
}

// TestOneWay: a node that hears and is not heard is gone for both.
func TestOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, faulty.Options{}, reliable.Options{Timeout: time.Second})
		defer w.close()
		w.net.CutOneWay([]string{"a"}, []string{"b"})
		time.Sleep(3 * time.Second)
		for name, x := range w.nodes {
			if len(x.Nodes()) != 0 {
				t.Errorf("%s sees %v", name, x.Nodes())
			}
		}
		w.net.Heal()
		time.Sleep(2 * time.Second)
		for name, x := range w.nodes {
			if len(x.Nodes()) != 1 {
				t.Errorf("%s sees %v", name, x.Nodes())
			}
		}
	})
}

// TestRestart: what was sent to a node that has crashed, or by it, does not come when
// another one begins with its name.
func TestRestart(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			faults := all(seed)
			faults.Delay = 50 * time.Millisecond // so that old messages are on their way
			w := start(t, 2, faults, reliable.Options{})
			defer w.close()
			for life := range 5 {
				for i := range 50 {
					// Some fail, where the node is not there yet, or old frames
					// have got in its way.
					_ = w.send("a", "b", fmt.Sprintf("%d %03d", life, i))
					_ = w.send("b", "a", fmt.Sprintf("%d %03d", life, i))
					time.Sleep(time.Millisecond)
				}
				w.crash("b")
				w.restart("b")
				for len(w.nodes["b"].Nodes()) == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			time.Sleep(12 * time.Second)
			got, _ := w.nodes["a"].take()
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("seed %d: a got %v", seed, got)
			}
			if got, _ := w.nodes["b"].take(); len(got) > 0 {
				t.Errorf("seed %d: b got %v", seed, got)
			}
			if err := errors.Join(w.send("a", "b", "x"), w.send("b", "a", "y")); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			time.Sleep(2 * time.Second)
			for name, want := range map[string]string{"a": "b y", "b": "a x"} {
				if got, _ := w.nodes[name].take(); !slices.Equal(got, []string{want}) {
					t.Errorf("seed %d: %s got %v", seed, name, got)
				}
			}
		})
	}
}

// TestClose: what was sent before Close comes, though much is lost; without a node that
// answers, Close ends in time.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 3, faulty.Options{Seed: 3, Loss: .3}, reliable.Options{})
		defer w.close()
		for i := range 100 {
			if err := w.send("a", "b", fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if err := w.nodes["a"].Close(); err != nil {
			t.Error(err)
		}
		if got, _ := w.nodes["b"].take(); len(got) != 100 {
			t.Errorf("%d of 100 came", len(got))
		}
		w.net.Stall("b", time.Minute)
		if err := w.send("c", "b", "x"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := w.nodes["c"].Close(); err != nil || time.Since(begin) > 2*time.Second {
			t.Errorf("closed after %v: %v", time.Since(begin), err)
		}
	})
}

// TestOptions: what makes no sense is refused.
func TestOptions(t *testing.T) {
	for _, opt := range []reliable.Options{{Timeout: -1}, {Window: -1}} {
		var e *reliable.OptionsError
		if _, err := reliable.New(nil, opt); !errors.As(err, &e) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}
