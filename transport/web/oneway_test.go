package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
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
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			r.over.Go(func() { _, _ = io.Copy(way[0], way[1]); way[0].Close() })
		}
	}
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
	node := func(o web.Options) transport.Transport {
		o.Listen, o.Plain, o.Greet, o.Timeout = "127.0.0.1:0", true, 20*time.Millisecond, timeout
		o.Log = slog.New(slog.NewTextHandler(&told, nil))
		x, err := web.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a := node(web.Options{Name: "a"})
	defer a.Close()
	b := node(web.Options{Name: "b", Address: l.Addr().String(), Peers: []string{web.Address(a)}})
	defer b.Close()
	// What b listens on is known to its transport only: there it is reached without a relay.
	r.to = web.Listens(b)
	go r.serve()
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
	go func() { failed <- a.Send(context.Background(), "b", []byte("y")) }()
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
