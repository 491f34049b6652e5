package web

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// Bytes of a value have to move. A path that drops large packets, and tells nobody, lets connections
// be made and short messages pass, so that both sides go on seeing each other. So a time-out runs
// from byte to byte, on both sides:
//
//	who fetches  paced    nothing comes   ─► the connection is cut, and another one made, once
//	who gives    pieces   nothing is taken ─► the connection is cut: the value can be written over

// headWait is how much longer than a Timeout the first byte of a value may take at most: the node that
// gives it waits for another one that is to give it, and for those that read it before.
const headWait = 3 * time.Second

// paced is a connection over which values come. What is read comes within a time, from byte to byte.
type paced struct {
	net.Conn
	idle  time.Duration
	limit atomic.Int64 // what was set for all of it, in nanoseconds of the Unix time; 0: nothing
}

// SetReadDeadline implements [net.Conn].
func (c *paced) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.limit.Store(0)
	} else {
		c.limit.Store(t.UnixNano())
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements [net.Conn].
func (c *paced) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.Conn.SetWriteDeadline(t)
}

// Read implements [net.Conn]. That nothing has come is a *transport.StalledError. A process that stood
// still meanwhile looks again.
func (c *paced) Read(b []byte) (int, error) {
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

// stall is a *transport.StalledError as a connection returns it.
type stall struct{ transport.StalledError }

// Timeout and Temporary implement [net.Error].
func (*stall) Timeout() bool   { return true }
func (*stall) Temporary() bool { return false }

// stalledBy returns what an error of a connection with a node says of bytes that did not move, nil if
// it is another one.
func stalledBy(node string, err error) error {
	var s *stall
	if !errors.As(err, &s) {
		return nil
	}
	return &transport.StalledError{Node: node, For: s.For}
}
