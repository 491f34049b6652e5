package web

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaced: what comes over a connection may take as long as it likes, as long as some of it comes
// within each time-out. If nothing does, the error says so, and for how long. A limit for all of it
// still holds.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = 5 * time.Second
		there, here := net.Pipe()
		c := &steadyConn{Conn: here, idle: idle}
		var sent = []byte("all that passes before the path drops what is large")
		go func() {
			for i := range sent {
				time.Sleep(idle - time.Second)
				_, _ = there.Write(sent[i : i+1])
			}
		}()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != string(sent) {
			t.Fatalf("%q, %v", got, err)
		}
		began := time.Now()
		_, err := c.Read(got)
		var s *stall
		if !errors.As(err, &s) || s.For != idle || time.Since(began) != idle {
			t.Errorf("%v after %v, want that nothing has moved for %v", err, time.Since(began), idle)
		}
		if e := stalledBy("b", err); e == nil || stalledBy("b", io.EOF) != nil {
			t.Errorf("%v and %v", e, stalledBy("b", io.EOF))
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(got); errors.As(err, &s) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want that the time for all of it is over", err)
		}
		there.Close()
		here.Close()
	})
}

// swallows is a connection that takes what is small, and has the rest wait for ever, as where what is
// between drops large packets.
type swallows struct {
	net.Conn
	until time.Time
}

func (c *swallows) SetWriteDeadline(t time.Time) error {
	c.until = t
	return nil
}

func (c *swallows) Write(b []byte) (int, error) {
	if len(b) < 600 {
		return len(b), nil
	}
	time.Sleep(time.Until(c.until))
	return 0, os.ErrDeadlineExceeded
}

// TestPieces: a value of which no piece is taken within a time-out is given up.
func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &swallows{}
		p := &pieces{counter: counter{w: c}, conn: c, idle: time.Second}
		if n, err := p.Write(make([]byte, 500)); n != 500 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		began := time.Now()
		if _, err := p.Write(make([]byte, 3*pieceSize)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
