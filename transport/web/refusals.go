package web

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/tessera-la/tessera/internal/listen"
)

// refusals logs refusals for the operator: the same one of one machine once a minute, since refused
// peers try again, with the number of repetitions.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex // a leaf
	told  map[matter]*telling
	kinds map[string]int // number of entries in told by machine
}

// matter identifies refusals that are logged as one.
type matter struct{ what, host, why string }

// telling is the state of a matter in the log.
type telling struct {
	last  time.Time
	again int // repetitions since last

	// The last refusal, for the next line.
	role, address string
	err           error
}

const (
	tellAgain = time.Minute
	tellMost  = 1000 // matters; with more, the table starts anew
	// tellKinds is how many matters of one machine are logged one by one. A machine can invent new
	// ones without end: the rest is one matter.
	tellKinds = 16
)

// numbered matches the part of an error's text that differs between connections or attempts.
var numbered = regexp.MustCompile(`:[0-9]+\b`)

// tell logs a refusal. role says what the address is: "from" or "to".
func (r *refusals) tell(what, role, address string, err error) {
	r.tellAt(what, role, address, err, time.Now())
}

func (r *refusals) tellAt(what, role, address string, err error, now time.Time) {
	host, _, wrong := net.SplitHostPort(address)
	if wrong != nil {
		host = address
	}
	m := matter{what, host, numbered.ReplaceAllString(err.Error(), "")}
	r.mu.Lock()
	t := r.told[m]
	if t == nil && r.kinds[host] >= tellKinds {
		m = matter{host: host}
		t = r.told[m]
	}
	first := t == nil
	if first {
		if r.told == nil || len(r.told) >= tellMost {
			r.told, r.kinds = map[matter]*telling{}, map[string]int{}
		}
		t = &telling{last: now}
		r.told[m] = t
		r.kinds[host]++
	} else {
		t.again++
	}
	t.role, t.address, t.err = role, address, err
	r.mu.Unlock()
	if first {
		if m.what == "" {
			what += ", as much else from there that is not told one by one"
		}
		r.log.Warn(what, role, address, "error", err)
	}
}

// look logs matters that were repeated, once a minute, and drops those that were not.
func (r *refusals) look(now time.Time) {
	type line struct {
		matter
		telling
	}
	var lines []line
	r.mu.Lock()
	for m, t := range r.told {
		switch {
		case now.Sub(t.last) < tellAgain:
		case t.again == 0:
			delete(r.told, m)
			if r.kinds[m.host]--; r.kinds[m.host] == 0 {
				delete(r.kinds, m.host)
			}
		default:
			lines = append(lines, line{m, *t})
			t.last, t.again = now, 0
		}
	}
	r.mu.Unlock()
	for _, x := range lines {
		if x.what == "" {
			x.what = "much was refused"
		}
		r.log.Warn(x.what, x.role, x.address, "error", x.err, "times", x.again)
	}
}

// distrust logs an error that ended a connection of this node if it is about trust: an alert of the
// other side, or a failed handshake that is no network error.
func (r *refusals) distrust(address string, err error, handshake bool) {
	var cut net.Error
	var alert *net.OpError
	told := errors.As(err, &alert) && alert.Op == "remote error"
	if told || handshake && !errors.As(err, &cut) && !errors.Is(err, io.EOF) {
		r.tell("connection refused", "to", address, err)
	}
}

// trusting is a connection that this node has begun. In TLS 1.3 the other side may refuse it after
// the handshake has ended here: then the first read fails.
type trusting struct {
	*tls.Conn
	refusals *refusals
	address  string
}

// Read implements [net.Conn].
func (c *trusting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.refusals.distrust(c.address, err, false)
	}
	return n, err
}

// secured is a listener for TLS that logs failed handshakes.
type secured struct {
	net.Listener
	config   *tls.Config
	refusals *refusals
}

// Accept implements [net.Listener].
func (l *secured) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &incoming{tls.Server(c, l.config), l.refusals}, nil
}

// incoming is a connection that another node has begun.
type incoming struct {
	*tls.Conn
	refusals *refusals
}

// Handshake verifies the other side. The server calls it first.
func (c *incoming) Handshake() error {
	err := c.Conn.Handshake()
	if err != nil {
		c.refusals.tell("connection refused", "from", c.RemoteAddr().String(), err)
		c.part()
	}
	return err
}

// part lets the other side read why the handshake failed. That side has sent a request, and closing
// the connection with it unread would discard the alert on its way.
func (c *incoming) part() {
	of := listen.Of(c)
	if of.CloseWrite() != nil {
		return
	}
	_ = of.SetReadDeadline(time.Now().Add(farewell))
	_, _ = io.CopyN(io.Discard, of, 64<<10)
}

// farewell is how long part waits for the other side to close the connection.
const farewell = 200 * time.Millisecond
