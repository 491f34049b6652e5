package web

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// Bytes of a value must move. A path that silently drops large packets lets connections be made and
// short messages pass, so that both sides still see each other. So a time-out runs from byte to
// byte on both sides:
//
//	receiver  steadyConn  no byte arrives    ─► the connection is cut, and another one made, once
//	sender    pieces      no byte is taken   ─► the connection is cut: the value can be overwritten

// headWait is how much longer than a Timeout the first byte of a value may take: the sender may
// wait for another node that gives it the value, and for earlier readers.
const headWait = 3 * time.Second

// steadyConn is a connection for values with a time-out from byte to byte.
type steadyConn struct {
	net.Conn
	idle  time.Duration
	limit atomic.Int64 // deadline for the whole, in Unix nanoseconds; 0: none
}

// SetReadDeadline implements [net.Conn].
func (c *steadyConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.limit.Store(0)
	} else {
		c.limit.Store(t.UnixNano())
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements [net.Conn].
func (c *steadyConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.Conn.SetWriteDeadline(t)
}

// Read implements [net.Conn]. It returns a *transport.StalledError if no byte has arrived in time.
// A process that stood still meanwhile tries again.
func (c *steadyConn) Read(b []byte) (int, error) {
	for {
		now := time.Now()
		until := now.Add(c.idle)
		limit := c.limit.Load()
		if limit != 0 && until.UnixNano() > limit {
			return c.Conn.Read(b)
		}
		if err := c.Conn.SetReadDeadline(until); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if waited := time.Since(now); waited < c.idle+c.idle/4 {
			return 0, &stall{transport.StalledError{For: waited.Round(time.Millisecond)}}
		}
	}
}

// stall is a transport.StalledError that is a [net.Error].
type stall struct{ transport.StalledError }

// Timeout and Temporary implement [net.Error].
func (*stall) Timeout() bool   { return true }
func (*stall) Temporary() bool { return false }

// stalledBy returns the *transport.StalledError in an error of a connection with a node, nil if
// there is none.
func stalledBy(node string, err error) error {
	var s *stall
	if !errors.As(err, &s) {
		return nil
	}
	return &transport.StalledError{Node: node, For: s.For}
}
