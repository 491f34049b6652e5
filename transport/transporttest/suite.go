package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// Value is a value of any number of bytes.
type Value struct{ Data []byte }

// Bytes implements [versions.Value].
func (v *Value) Bytes() int64 { return int64(len(v.Data)) }

// Snapshot implements [versions.Value].
func (v *Value) Snapshot() versions.Value { return &Value{bytes.Clone(v.Data)} }

// Restore implements [versions.Value].
func (v *Value) Restore(s versions.Value) { v.Data = append(v.Data[:0], s.(*Value).Data...) }

// Encode implements [versions.Value].
func (v *Value) Encode(w io.Writer) error {
	if err := binary.Write(w, binary.LittleEndian, uint64(len(v.Data))); err != nil {
		return err
	}
	_, err := w.Write(v.Data)
	return err
}

// Decode implements [versions.Value].
func (v *Value) Decode(r io.Reader) error {
	var n uint64
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return err
	}
	if n > 1<<30 {
		return fmt.Errorf("%d bytes", n)
	}
	v.Data = slices.Grow(v.Data[:0], int(n))[:n]
	_, err := io.ReadFull(r, v.Data)
	return err
}

// node is a started node, and the messages and events that it has got.
type node struct {
	transport.Transport
	mu     sync.Mutex
	got    []string // sender and message
	events []transport.Event
	slow   atomic.Int64 // nanoseconds of its handler
	greets bool         // it sends a message to a node that joins
}

// Run tests transports against the contract. nodes returns a number of new nodes of one network,
// not started; their names are free to choose.
func Run(t *testing.T, nodes func(t *testing.T, n int) []transport.Transport) {
	start := func(t *testing.T, n int) (all []*node) {
		t.Helper()
		for _, tr := range nodes(t, n) {
			x := &node{Transport: tr}
			t.Cleanup(func() { x.Close() })
			if err := x.Start(x.handle, x.event); err != nil {
				t.Fatal(err)
			}
			all = append(all, x)
		}
		for _, x := range all {
			eventually(t, "all nodes are there", func() bool { return len(x.Nodes()) == n-1 && x.joined() == n-1 })
		}
		return all
	}
	for _, test := range []struct {
		name string
		f    func(*testing.T, func(*testing.T, int) []*node)
	}{
		{"Greet", func(t *testing.T, _ func(*testing.T, int) []*node) { greet(t, nodes) }}, {"Order", order},
		{"Pressure", pressure}, {"Prompt", prompt}, {"Limits", limits}, {"Values", values}, {"Awaited", awaited},
		{"Replace", replace}, {"Leave", leave}, {"CloseBusy", closeBusy},
	} {
		t.Run(test.name, func(t *testing.T) { test.f(t, start) })
	}
}

// prompt: a transport that reports that messages leave at once is right, and does not report so of
// a node that is behind.
func prompt(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 2)
	to := all[1].Self()
	p, ok := all[0].Transport.(transport.Prompt)
	if !ok { // Prompt is optional
		return
	}
	if p.Prompt("nobody") {
		t.Error("messages to nobody leave at once")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	message, sent := make([]byte, 300), 0
	send := func() error { sent++; return p.Send(ctx, to, message) }
	if err := send(); err != nil { // there may be no connection before
		t.Fatal(err)
	}
	eventually(t, "messages leave at once", func() bool { return p.Prompt(to) })
	all[1].mu.Lock() // the handler is behind
	var err error
	for err == nil && sent < 1000 && p.Prompt(to) {
		err = send()
	}
	all[1].mu.Unlock()
	if err != nil || sent == 1000 {
		t.Errorf("%d messages are sent to a node that handles none, error %v", sent, err)
	}
	eventually(t, "messages leave at once again", func() bool { return all[1].count() == sent && p.Prompt(to) })
}

func (x *node) handle(from string, message []byte) {
	time.Sleep(time.Duration(x.slow.Load()))
	x.mu.Lock()
	x.got = append(x.got, from+" "+string(message))
	x.mu.Unlock()
}

func (x *node) event(e transport.Event) {
	x.mu.Lock()
	x.events = append(x.events, e)
	x.mu.Unlock()
	if x.greets && e.Joined {
		if err := x.Send(context.Background(), e.Node, []byte("hello")); err != nil {
			x.mu.Lock()
			x.got = append(x.got, err.Error())
			x.mu.Unlock()
		}
	}
}

// greet: messages can be sent at once to a node that is there, even if it does not know the sender
// yet.
func greet(t *testing.T, nodes func(*testing.T, int) []transport.Transport) {
	const n = 3
	for range 10 {
		var all []*node
		for _, tr := range nodes(t, n) {
			x := &node{Transport: tr, greets: true}
			t.Cleanup(func() { x.Close() })
			if err := x.Start(x.handle, x.event); err != nil {
				t.Fatal(err)
			}
			all = append(all, x)
		}
		for _, x := range all {
			eventually(t, "all have said hello", func() bool { return x.count() == n-1 })
			for _, got := range x.got {
				if !strings.HasSuffix(got, " hello") {
					t.Errorf("%s: %s", x.Self(), got)
				}
			}
		}
		for _, x := range all {
			x.Close()
		}
	}
}

func (x *node) joined() (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.events {
		if e.Joined {
			n++
		} else {
			n--
		}
	}
	return n
}

func (x *node) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.got)
}

// patience is how long an expected event may take: more than any working machine needs.
const patience = 5 * time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in %v not: %s", patience, what)
		}
	}
}

// order: the messages of each sender arrive once and in order, including those to the node itself,
// and the sender may reuse its memory.
func order(t *testing.T, start func(*testing.T, int) []*node) {
	const each = 200
	all := start(t, 3)
	var sending sync.WaitGroup
	for _, x := range all {
		for _, y := range all {
			sending.Add(1)
			go func() {
				defer sending.Done()
				b := make([]byte, 4)
				for i := range each {
					copy(b, fmt.Sprintf("%04d", i))
					if err := x.Send(t.Context(), y.Self(), b); err != nil {
						t.Error(err)
					}
				}
			}()
		}
	}
	sending.Wait()
	for _, y := range all {
		eventually(t, "all messages have come", func() bool { return y.count() == 3*each })
		next := map[string]int{}
		for _, m := range y.got {
			var from string
			var i int
			fmt.Sscanf(m, "%s %d", &from, &i)
			if i != next[from] {
				t.Fatalf("from %s came %d, want %d", from, i, next[from])
			}
			next[from]++
		}
	}
}

// pressure: a sender to a slow node waits, or returns when its context ends.
func pressure(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 2)
	all[1].slow.Store(int64(50 * time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	sent := 0
	for ; sent < 100_000; sent++ {
		if err := all[0].Send(ctx, all[1].Self(), make([]byte, 1000)); err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d messages: %v", sent, err)
			}
			break
		}
	}
	all[1].slow.Store(0)
	if sent == 100_000 {
		t.Error("nothing keeps a sender from filling the memory of a slow node")
	}
}

// limits: messages that are too large, or for an unknown node, are refused.
func limits(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 2)
	var large *transport.TooLargeError
	if err := all[0].Send(t.Context(), all[1].Self(), make([]byte, transport.MessageLimit+1)); !errors.As(err, &large) {
		t.Errorf("a message that is too large: %v", err)
	}
	var nobody *transport.UnreachableError
	if err := all[0].Send(t.Context(), "nobody", nil); !errors.As(err, &nobody) || nobody.Node != "nobody" {
		t.Errorf("to nobody: %v", err)
	}
	if err := all[0].Fetch(t.Context(), "nobody", transport.Ref{}, 0, &Value{}); !errors.As(err, &nobody) {
		t.Errorf("from nobody: %v", err)
	}
	if err := all[0].Send(t.Context(), all[1].Self(), nil); err != nil {
		t.Errorf("an empty message: %v", err)
	}
	eventually(t, "an empty message comes", func() bool { return all[1].count() == 1 })
}

// values: many values are fetched at once and unchanged, by other nodes and by the node itself.
func values(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 3)
	sizes := []int{0, 1, 4095, 70_000, 2 << 20}
	for i, n := range sizes {
		v := &Value{make([]byte, n)}
		for k := range v.Data {
			v.Data[k] = byte(k*7 + i)
		}
		all[0].Publish(transport.Ref{Job: 1, I: int32(i), J: -1}, v)
	}
	var fetching sync.WaitGroup
	for _, x := range all {
		for i, n := range sizes {
			fetching.Add(1)
			go func() {
				defer fetching.Done()
				v := &Value{}
				if err := x.Fetch(t.Context(), all[0].Self(), transport.Ref{Job: 1, I: int32(i), J: -1}, 0,
					v); err != nil {
					t.Error(err)
					return
				}
				if len(v.Data) != n || n > 0 && v.Data[n-1] != byte((n-1)*7+i) {
					t.Errorf("a value of %d bytes came as %d", n, len(v.Data))
				}
			}()
		}
	}
	fetching.Wait()
	var absent *transport.NotHereError
	r := transport.Ref{Job: 2}
	if err := all[1].Fetch(t.Context(), all[0].Self(), r, 0, &Value{}); !errors.As(err, &absent) || absent.Ref != r {
		t.Errorf("what is not there: %v", err)
	}
	all[0].Drop(r)
	r = transport.Ref{Job: 1, I: 1, J: -1}
	all[0].Drop(r)
	if err := all[1].Fetch(t.Context(), all[0].Self(), r, 0, &Value{}); !errors.As(err, &absent) {
		t.Errorf("what was dropped: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = transport.Ref{Job: 1, I: 4, J: -1}
	if err := all[1].Fetch(ctx, all[0].Self(), r, 0, &Value{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	all[0].Drop(r) // no fetch reads it any more
}

// awaited: a fetch that may wait does so until the value is there, until Drop says that it will not
// be, or until the time is over; other fetches do not wait.
func awaited(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 3)
	r := transport.Ref{Job: 3}
	var fetching sync.WaitGroup
	for _, x := range all {
		fetching.Go(func() {
			v := &Value{}
			if err := x.Fetch(t.Context(), all[0].Self(), r, patience, v); err != nil || len(v.Data) != 100_000 {
				t.Errorf("what was awaited came as %d bytes, error %v", len(v.Data), err)
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	all[0].Publish(r, &Value{make([]byte, 100_000)})
	fetching.Wait()
	all[0].Drop(r)

	var absent *transport.NotHereError
	began := time.Now()
	if err := all[1].Fetch(t.Context(), all[0].Self(), r, 20*time.Millisecond, &Value{}); !errors.As(err, &absent) ||
		time.Since(began) < 20*time.Millisecond {
		t.Errorf("what does not come: %v, after %v", err, time.Since(began))
	}
	ended := make(chan error, 1)
	go func() { ended <- all[1].Fetch(t.Context(), all[0].Self(), r, 2*patience, &Value{}) }()
	for began = time.Now(); ; time.Sleep(time.Millisecond) {
		all[0].Drop(r)
		select {
		case err := <-ended:
			if !errors.As(err, &absent) || time.Since(began) > patience {
				t.Errorf("what will not come: %v, after %v", err, time.Since(began))
			}
			return
		default:
		}
	}
}

// replace: a publisher may write a value after Drop while others fetch it: a fetch gets one version
// or the other, whole, or nothing.
func replace(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 2)
	r := transport.Ref{Matrix: 3}
	var fetching sync.WaitGroup
	over := make(chan struct{})
	whole := 0
	fetching.Add(1)
	go func() {
		defer fetching.Done()
		for v := new(Value); ; {
			select {
			case <-over:
				return
			default:
			}
			var absent *transport.NotHereError
			switch err := all[1].Fetch(t.Context(), all[0].Self(), r, 0, v); {
			case errors.As(err, &absent):
			case err != nil:
				t.Errorf("fetch: %v", err)
				return
			case len(v.Data) != 100_000 || slices.ContainsFunc(v.Data, func(b byte) bool { return b != v.Data[0] }):
				t.Error("a mixture has come")
				return
			default:
				whole++
			}
		}
	}()
	v := &Value{make([]byte, 100_000)}
	for i := range 100 {
		for k := range v.Data {
			v.Data[k] = byte(i)
		}
		all[0].Publish(r, v)
		time.Sleep(200 * time.Microsecond)
		all[0].Drop(r)
	}
	close(over)
	fetching.Wait()
	if whole == 0 {
		t.Error("nothing has come")
	}
}

// leave: the others learn that a node has left, and cannot reach it any more.
func leave(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 3)
	name := all[2].Self()
	all[2].Publish(transport.Ref{Job: 1}, &Value{make([]byte, 10)})
	if err := all[2].Close(); err != nil {
		t.Error(err)
	}
	if err := all[2].Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	for _, x := range all[:2] {
		eventually(t, "the others know", func() bool { return x.joined() == 1 && len(x.Nodes()) == 1 })
		var gone *transport.UnreachableError
		if err := x.Send(t.Context(), name, []byte("x")); !errors.As(err, &gone) {
			t.Errorf("to a node that has left: %v", err)
		}
		if err := x.Fetch(t.Context(), name, transport.Ref{Job: 1}, 0, &Value{}); !errors.As(err, &gone) {
			t.Errorf("from a node that has left: %v", err)
		}
	}
	if err := all[2].Send(t.Context(), all[0].Self(), nil); err == nil {
		t.Error("a closed node can send")
	}
}

// closeBusy: Close ends everything that is under way, and nothing is handled after it.
func closeBusy(t *testing.T, start func(*testing.T, int) []*node) {
	all := start(t, 3)
	r := transport.Ref{Job: 1}
	all[0].Publish(r, &Value{make([]byte, 1<<20)})
	var busy sync.WaitGroup
	over := make(chan struct{})
	for _, x := range all {
		busy.Add(1)
		go func() {
			defer busy.Done()
			for v := new(Value); ; {
				select {
				case <-over:
					return
				default: // errors are for the other tests
					_ = x.Send(t.Context(), all[0].Self(), []byte("x"))
					_ = x.Fetch(t.Context(), all[0].Self(), r, 0, v)
				}
			}
		}()
	}
	eventually(t, "some have come", func() bool { return all[0].count() > 20 })
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	n := all[0].count()
	time.Sleep(10 * time.Millisecond)
	if m := all[0].count(); m != n {
		t.Errorf("%d messages were handled after Close", m-n)
	}
	close(over)
	busy.Wait()
}
