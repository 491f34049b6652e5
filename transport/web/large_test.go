package web_test

import (
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
	"github.com/tessera-la/tessera/transport/web"
)

// dropsLarge returns two nodes with a path between them over which nothing large passes while that is
// so, what a is told, and what its log says.
func dropsLarge(t *testing.T) (a, b transport.Transport, large func(bool), events <-chan transport.Event, told *log) {
	t.Helper()
	leaves(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l}
	told = new(log)
	a, b = relayed(t, r, web.Options{Timeout: 2 * time.Second, Log: slog.New(slog.NewTextHandler(told, nil))})
	t.Cleanup(func() { a.Close(); b.Close(); r.cut() })
	e := make(chan transport.Event, 100)
	if err := a.Start(func(string, []byte) {}, func(x transport.Event) { e <- x }); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(func(string, []byte) {}, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	if x := <-e; !x.Joined {
		t.Fatalf("%+v", x)
	}
	return a, b, func(drops bool) {
		if r.large.Store(0); drops {
			r.large.Store(2000)
		}
	}, e, told
}

// TestLargeValue: a value of which no byte comes, as what is between drops large packets, is given up
// after another connection was tried. The node stays: what is short passes. The node that gives the value
// can write over it soon. When large packets pass again so do values.
func TestLargeValue(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds of waiting")
	}
	a, b, large, events, told := dropsLarge(t)
	v, into := &transporttest.Value{Data: make([]byte, 2<<20)}, &transporttest.Value{}
	v.Data[5] = 3
	r := transport.Ref{Job: 7, I: 1}
	b.Publish(r, v)
	if err := a.Fetch(t.Context(), "b", r, 0, into); err != nil || into.Data[5] != 3 {
		t.Fatalf("%v", err)
	}
	large(true)
	err := a.Fetch(t.Context(), "b", r, 0, into)
	var u *transport.UnreachableError
	var s *transport.StalledError
	if !errors.As(err, &u) || !errors.As(err, &s) || u.Node != "b" || s.Node != "b" || s.For == 0 {
		t.Errorf("%v, want that no byte has moved", err)
	}
	says(t, told, "another connection is tried")
	select {
	case e := <-events:
		t.Errorf("%+v, and b is there", e)
	default:
	}
	b.Drop(r) // which waits for those that read it
	b.Publish(r, v)
	large(false)
	into.Data[5] = 0
	if err := a.Fetch(t.Context(), "b", r, 0, into); err != nil || into.Data[5] != 3 {
		t.Errorf("%v", err)
	}
}

// TestLargeMessage: a node to which no message comes through, though it answers greetings, has left,
// and this one has for it. Some time later it may come again.
func TestLargeMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute of waiting")
	}
	a, _, large, events, told := dropsLarge(t)
	if err := a.Send(t.Context(), "b", make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	large(true)
	var err error
	for err == nil {
		err = a.Send(t.Context(), "b", make([]byte, 100_000))
	}
	var u *transport.UnreachableError
	if !errors.As(err, &u) || u.Node != "b" {
		t.Errorf("%v, want that b cannot be reached", err)
	}
	e := <-events
	var s *transport.StalledError
	if e.Joined || !errors.As(e.Err, &s) {
		t.Errorf("%+v, want that b has left as no byte moves", e)
	}
	says(t, told, "no byte of a message comes there")
	large(false)
	if e := <-events; !e.Joined {
		t.Errorf("%+v, want that b is there again", e)
	}
	if err := a.Send(t.Context(), "b", make([]byte, 100_000)); err != nil {
		t.Error(err)
	}
}
