package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
)

// relay is an address that leads to another one, until it is cut.
type relay struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	off   bool
	over  sync.WaitGroup

	damages  atomic.Int32 // how many of the next pieces with a fragile part it damages
	silences atomic.Int32 // how many of the next connections with a silent part fall silent then: nobody is told
	large    atomic.Int32 // if not 0, a piece that is larger does not pass, nor what comes after it that way
}

// fragile is what a relay damages. With silent it may let nothing pass any more.
const (
	fragile = "fragile"
	silent  = "silent"
)

// damaging is a writer to which a relay hands what has come.
type damaging struct {
	io.Writer
	left, silences *atomic.Int32
	over           *atomic.Bool // nothing passes either way
	large          *atomic.Int32
	stuck          *bool // nothing passes this way any more
}

// Write implements [io.Writer].
func (d damaging) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(silent)) && d.silences.Load() > 0 && !d.over.Swap(true) {
		d.silences.Add(-1)
	}
	if n := int(d.large.Load()); n > 0 && len(b) > n {
		*d.stuck = true
	}
	if d.over.Load() || *d.stuck {
		return len(b), nil
	}
	if i := bytes.Index(b, []byte(fragile)); i >= 0 && d.left.Load() > 0 {
		d.left.Add(-1)
		b[i] ^= 1
	}
	return d.Writer.Write(b)
}

func (r *relay) serve() {
	for {
		in, err := r.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", r.to)
		if err != nil {
			in.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, in, out)
		if r.off {
			in.Close()
			out.Close()
		}
		r.mu.Unlock()
		over := new(atomic.Bool)
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			r.over.Go(func() {
				_, _ = io.Copy(damaging{way[0], &r.damages, &r.silences, over, &r.large, new(bool)}, struct{ io.Reader }{way[1]})
				way[0].Close()
			})
		}
	}
}

// drop ends all connections.
func (r *relay) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// cut ends all connections, and takes no new ones.
func (r *relay) cut() {
	r.Close()
	r.mu.Lock()
	r.off = true
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.over.Wait()
}

// relayed returns nodes a and b, to the latter of which r leads.
func relayed(t *testing.T, r *relay, o web.Options) (a, b transport.Transport) {
	t.Helper()
	node := func(name, address string, peers ...string) transport.Transport {
		o := o
		o.Name, o.Listen, o.Address, o.Peers, o.Plain, o.Greet = name, "127.0.0.1:0", address, peers, true, 20*time.Millisecond
		x, err := web.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a = node("a", "")
	b = node("b", r.Addr().String(), web.Address(a))
	// What b listens on is known to its transport only: there it is reached without a relay.
	r.to = web.Listens(b)
	go r.serve()
	return a, b
}

// TestOneWay: a node that reaches others and cannot be reached has left, for them, and does
// not join again by its greetings. What is to be sent to it fails.
func TestOneWay(t *testing.T) {
	leaves(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l}
	const timeout = 500 * time.Millisecond
	var told log
	a, b := relayed(t, r, web.Options{Timeout: timeout, Log: slog.New(slog.NewTextHandler(&told, nil))})
	defer a.Close()
	defer b.Close()
	defer r.cut()

	events := make(chan transport.Event, 100)
	taken := make(chan struct{}, 100)
	if err := a.Start(func(string, []byte) {}, func(e transport.Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(func(string, []byte) { taken <- struct{}{} }, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	next := func(joined bool) {
		t.Helper()
		select {
		case e := <-events:
			if e.Joined != joined {
				t.Fatalf("b: joined %v, want %v", e.Joined, joined)
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("b: no event, want joined %v", joined)
		}
	}
	next(true)
	if err := a.Send(context.Background(), "b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	<-taken
	r.cut()
	failed := make(chan error, 1)
	go func() {
		var err error
		for err == nil { // as a message is lost that is on its way when its node leaves
			err = a.Send(context.Background(), "b", []byte("y"))
		}
		failed <- err
	}()
	next(false)
	if err, u := <-failed, (*transport.UnreachableError)(nil); !errors.As(err, &u) {
		t.Errorf("Send: %v, want an UnreachableError", err)
	}
	time.Sleep(2 * timeout)
	says(t, &told, "greets this one and cannot be reached")
	select {
	case e := <-events:
		t.Errorf("then b is seen again: %+v", e)
	default:
	}
}

// TestCut: messages come once and in order, as they were sent, though connections are cut again
// and again and some bytes are damaged on the way, while the other side is behind, too.
func TestCut(t *testing.T) {
	leaves(t)
	var told log
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l}
	defer r.cut()
	a := nodes(t, 1, nil, io.Discard)[0]
	b, err := web.New(web.Options{Name: "b", Listen: "127.0.0.1:0", Address: l.Addr().String(), Peers: []string{web.Address(a)}, Plain: true, Greet: 20 * time.Millisecond, Timeout: 15 * time.Minute,
		Log: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	r.to = web.Listens(b)
	go r.serve()
	joined := make(chan transport.Event, 10)
	const messages = 2000
	taken := make(chan string, messages)
	if err := a.Start(func(string, []byte) {}, func(e transport.Event) { joined <- e }); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(func(_ string, m []byte) {
		taken <- strings.TrimRight(string(m), "\x00")
		switch n := len(taken); {
		case n%100 == 0:
			time.Sleep(time.Millisecond)
		case n%20 == 0: // so that some come between two cuts, however slow the machine is
			r.drop()
		}
	}, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	<-joined
	for i := range messages {
		if i == messages/2 {
			r.damages.Store(5)
		}
		if err := a.Send(t.Context(), "b", append(fmt.Appendf(nil, "%04d "+fragile, i), make([]byte, i%7*1000)...)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range messages {
		if got := <-taken; got != fmt.Sprintf("%04d "+fragile, i) {
			t.Fatalf("message %s has come, want %d", got, i)
		}
	}
	says(t, &told, "a message is not what was sent")
}

// TestForgotten: messages come though what is between two nodes forgets the connection of messages, and
// tells nobody, while others go on. Nobody leaves by that.
func TestForgotten(t *testing.T) {
	leaves(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l}
	defer r.cut()
	a, b := relayed(t, r, web.Options{Timeout: 2 * time.Second})
	defer a.Close()
	defer b.Close()
	events, taken := make(chan transport.Event, 10), make(chan string, 10)
	if err := a.Start(func(string, []byte) {}, func(e transport.Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(func(_ string, m []byte) { taken <- string(m) }, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	<-events
	r.silences.Store(1)
	for _, m := range []string{"first", silent, "between", silent + " again", "last"} {
		if err := a.Send(t.Context(), "b", []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"first", silent, "between", silent + " again", "last"} {
		select {
		case m := <-taken:
			if m != want {
				t.Fatalf("%q has come, want %q", m, want)
			}
		case e := <-events:
			t.Fatalf("%+v", e)
		case <-time.After(5 * time.Minute):
			t.Fatalf("%q does not come", want)
		}
	}
}
