package web

import (
	"crypto/tls"
	"errors"
	"io"
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

// distrust tells the operator of an error by which a connection that this node has begun
// ended, if it is one of trust: who is at the address says so, or else the handshake failed
// and not the network.
func (r *refusals) distrust(address string, err error, handshake bool) {
	var cut net.Error
	var alert *net.OpError
	told := errors.As(err, &alert) && alert.Op == "remote error"
	if told || handshake && !errors.As(err, &cut) && !errors.Is(err, io.EOF) {
		r.tell("connection refused", "to", address, err)
	}
}

// trusting is a connection that this node has begun. In TLS 1.3 the other side may refuse it
// when the handshake has ended here: what is read first says so.
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
		c.part()
	}
	return err
}

// part has the other side hear why the handshake failed: it has sent a request, and to close
// the connection with that unread would take back the alert that is on its way.
func (c *incoming) part() {
	tcp, ok := c.NetConn().(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.CloseWrite()
	_ = tcp.SetReadDeadline(time.Now().Add(farewell))
	_, _ = io.CopyN(io.Discard, tcp, 64<<10)
}

// farewell is how long part waits for the other side to close the connection.
const farewell = 200 * time.Millisecond
