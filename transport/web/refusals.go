package web

import (
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"
)

// refusals tells the operator what is refused: the same of one machine once a minute, as who
// is refused tries again.
type refusals struct {
	log *slog.Logger

	mu   sync.Mutex // a leaf
	told map[string]time.Time
}

const (
	tellAgain = time.Minute
	tellMost  = 1000 // kinds of refusals; more begin anew
)

// tell tells of a refusal. Role says what the address is: "from" or "to".
func (r *refusals) tell(what, role, address string, err error) {
	host, _, wrong := net.SplitHostPort(address)
	if wrong != nil {
		host = address
	}
	key, now := what+host+err.Error(), time.Now()
	r.mu.Lock()
	last, ok := r.told[key]
	again := !ok || now.Sub(last) >= tellAgain
	if again {
		if r.told == nil || len(r.told) >= tellMost {
			r.told = map[string]time.Time{}
		}
		r.told[key] = now
	}
	r.mu.Unlock()
	if again {
		r.log.Warn(what, role, address, "error", err)
	}
}

// listener is a listener for TLS that tells of handshakes that fail.
type listener struct {
	net.Listener
	refusals *refusals
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if t, ok := c.(*tls.Conn); ok {
		return &incoming{t, l.refusals}, err
	}
	return c, err
}

// incoming is a connection that somebody else began.
type incoming struct {
	*tls.Conn
	refusals *refusals
}

// Handshake verifies the other side. The server calls it first.
func (c *incoming) Handshake() error {
	err := c.Conn.Handshake()
	if err != nil {
		c.refusals.tell("connection refused", "from", c.RemoteAddr().String(), err)
	}
	return err
}
