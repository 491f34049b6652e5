package web_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
)

// says waits until the log says something.
func says(t *testing.T, l *log, what string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(l.text(), what); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log does not say %q: %s", what, l.text())
		}
	}
}

// TestClock: a certificate that is not valid yet is refused by both sides, and both say so.
func TestClock(t *testing.T) {
	leaves(t)
	a := newAuthority(t)
	var all []transport.Transport
	var logs [2]log
	for i := range 2 {
		o := web.Options{Name: fmt.Sprint("node", i), Listen: "127.0.0.1:0", TLS: a.config(t, fmt.Sprint("node", i), time.Hour), Greet: 10 * time.Millisecond,
			Timeout: time.Second, Log: slog.New(slog.NewTextHandler(&logs[i], nil))}
		if i == 0 { // its clock is two hours slow; certificates are valid from an hour ago
			o.TLS.Time = func() time.Time { return time.Now().Add(-2 * time.Hour) }
		} else {
			o.Peers = []string{web.Address(all[0])}
		}
		x, err := web.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if err := x.Start(func(string, []byte) { t.Error("a message") }, func(e transport.Event) { t.Errorf("event %+v", e) }); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	says(t, &logs[0], "not yet valid")
	says(t, &logs[1], "certificate")
}

// recorder is an address that leads to another one, and keeps what was sent there.
type recorder struct {
	net.Listener
	mu   sync.Mutex
	sent [][]byte // by connection
	over sync.WaitGroup
}

func record(t *testing.T, to string) *recorder {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Listener: l}
	r.over.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				return
			}
			r.mu.Lock()
			k := len(r.sent)
			r.sent = append(r.sent, nil)
			r.mu.Unlock()
			r.over.Go(func() {
				b := make([]byte, 64<<10)
				for {
					n, err := in.Read(b)
					r.mu.Lock()
					r.sent[k] = append(r.sent[k], b[:n]...)
					r.mu.Unlock()
					if err != nil {
						break
					}
					_, _ = out.Write(b[:n])
				}
				out.Close()
			})
			r.over.Go(func() { _, _ = io.Copy(in, out); in.Close() })
		}
	})
	return r
}

// TestReplayed: what was sent between two nodes and is sent again does nothing: with TLS, as
// somebody in between could do it, and without, where the message was recorded in the clear.
func TestReplayed(t *testing.T) {
	leaves(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%t", secure), func(t *testing.T) {
			l := &log{}
			var a *authority
			if secure {
				a = newAuthority(t)
			}
			got := make(chan string, 100)
			make := func(name, address string, peers ...string) transport.Transport {
				o := web.Options{Name: name, Listen: "127.0.0.1:0", Address: address, Peers: peers, Plain: !secure, Greet: 20 * time.Millisecond, Timeout: 15 * time.Minute,
					Log: slog.New(slog.NewTextHandler(l, nil))}
				if secure {
					o.TLS = a.config(t, name, time.Hour)
				}
				x, err := web.New(o)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			left := make("left", "")
			defer left.Close()
			between := record(t, web.Address(left))
			right := make("right", "", between.Addr().String())
			for _, x := range []transport.Transport{left, right} {
				if err := x.Start(func(from string, m []byte) { got <- from + ": " + string(m) }, func(transport.Event) {}); err != nil {
					t.Fatal(err)
				}
			}
			for end := time.Now().Add(5 * time.Minute); len(right.Nodes()) == 0 || len(left.Nodes()) == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("they do not meet")
				}
			}
			for k := range 3 {
				if err := right.Send(t.Context(), "left", fmt.Append(nil, "message ", k)); err != nil {
					t.Fatal(err)
				}
				if m := <-got; m != fmt.Sprint("right: message ", k) {
					t.Errorf("got %q", m)
				}
			}
			again := func() {
				between.mu.Lock()
				sent := slices.Clone(between.sent)
				between.mu.Unlock()
				for _, b := range sent {
					c, err := net.Dial("tcp", web.Address(left))
					if err != nil {
						t.Fatal(err)
					}
					_, _ = c.Write(b)
					_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
					_, _ = io.Copy(io.Discard, c)
					c.Close()
				}
			}
			again() // while its sender is there
			if secure {
				says(t, l, "connection refused")
			}
			right.Close()
			between.Close()
			between.over.Wait()
			for end := time.Now().Add(5 * time.Minute); len(left.Nodes()) > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the other one does not leave")
				}
			}
			again() // when it has gone
			select {
			case m := <-got:
				t.Errorf("got %q again", m)
			default:
			}
		})
	}
}

// TestTooLarge: a message, or a header, that is too large is refused before it has come, and
// the operator is told.
func TestTooLarge(t *testing.T) {
	leaves(t)
	l := &log{}
	x := nodes(t, 1, nil, l)[0]
	defer x.Close()
	if err := x.Start(func(string, []byte) { t.Error("a message") }, func(transport.Event) {}); err != nil {
		t.Fatal(err)
	}
	for request, status := range map[string]int{
		fmt.Sprintf("POST /v1/message HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", transport.MessageLimit+1): http.StatusRequestEntityTooLarge,
		"GET /v1/value?" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n":                            http.StatusRequestHeaderFieldsTooLarge,
		"what is this?\r\n\r\n": http.StatusBadRequest,
	} {
		c, err := net.Dial("tcp", web.Address(x))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, request)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != status {
			t.Errorf("%.40q: %v, %v", request, answer, err)
		}
		c.Close()
	}
	for _, want := range []string{"a body of more than 1048576 bytes", "a header of more than", "no request"} {
		says(t, l, want)
	}
}

// TestDowngrade: versions of TLS below 1.3, and no TLS at all, are refused and told of.
func TestDowngrade(t *testing.T) {
	leaves(t)
	a, l := newAuthority(t), &log{}
	x := nodes(t, 1, a, l)[0]
	defer x.Close()
	if err := x.Start(func(string, []byte) { t.Error("a message") }, func(e transport.Event) { t.Errorf("event %+v", e) }); err != nil {
		t.Fatal(err)
	}
	old := a.config(t, "node1", time.Hour)
	old.MaxVersion, old.ServerName = tls.VersionTLS12, "node0"
	if c, err := tls.Dial("tcp", web.Address(x), old); err == nil {
		c.Close()
		t.Error("TLS 1.2 is spoken")
	}
	c, err := net.Dial("tcp", web.Address(x))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "POST /v1/leave HTTP/1.1\r\nHost: x\r\nX-Tessera-From: node1\r\nX-Tessera-Life: 1\r\nContent-Length: 0\r\n\r\n")
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
	if b, _ := io.ReadAll(c); bytes.Contains(b, []byte("200 OK")) {
		t.Errorf("without TLS: %s", b)
	}
	says(t, l, "unsupported versions")
	says(t, l, "does not look like a TLS handshake")
}
