package listen

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// failing is a listener whose Accept fails with some errors before it does not.
type failing struct {
	net.Listener
	errs   []error
	always error // if it is not nil
	tries  int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.always != nil {
		return nil, f.always
	}
	if f.tries++; len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	a, b := net.Pipe()
	b.Close()
	return a, nil
}

func (f *failing) Close() error { return nil }

// late is a net.Error that is a time-out.
type late struct{}

func (late) Error() string   { return "late" }
func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return false }

// wrapped is an error of accept as package net returns it.
func wrapped(n error) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", n)}
}

// TestErrors: after what is temporary Accept goes on, and somebody is told; what is not it returns.
func TestErrors(t *testing.T) {
	for _, err := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR, syscall.EAGAIN,
		syscall.EPROTO, syscall.EPERM, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ETIMEDOUT, syscall.EOPNOTSUPP, late{},
	} {
		spared, told := 0, error(nil)
		f := &failing{errs: []error{wrapped(err)}}
		l := New(f, Options{Tell: func(err error, _ int) { told = err }, Spare: func() { spared++ }})
		c, got := l.Accept()
		if got != nil || f.tries != 2 || !errors.Is(told, err) || (spared == 1) != Exhausted(err) {
			t.Errorf("%v: accepted after %d attempts, %v; told %v, spared %d", err, f.tries, got, told, spared)
			continue
		}
		c.Close()
	}
	for _, err := range []error{net.ErrClosed, wrapped(net.ErrClosed), wrapped(syscall.EBADF), wrapped(syscall.EINVAL), wrapped(syscall.ENOTSOCK), io.EOF, errors.New("other")} {
		f := &failing{errs: []error{err}}
		if _, got := New(f, Options{}).Accept(); got != err || f.tries != 1 {
			t.Errorf("%v: %v after %d attempts", err, got, f.tries)
		}
	}
}

// TestPauseEnds: Close ends the pause between two attempts.
func TestPauseEnds(t *testing.T) {
	f := &failing{always: wrapped(syscall.EMFILE)}
	told := make(chan struct{}, 1)
	l := New(f, Options{Tell: func(error, int) { told <- struct{}{} }})
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	<-told
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept returns %v", err)
	}
}

// TestTell: what fails again and again is told at once, and then once a minute, with how often.
func TestTell(t *testing.T) {
	var counts []int
	l := New(&failing{}, Options{Tell: func(_ error, failed int) { counts = append(counts, failed) }})
	for i := range 200 { // a second each
		l.tell(syscall.EMFILE, time.Unix(int64(i), 0))
	}
	if fmt.Sprint(counts) != "[1 60 60 60]" {
		t.Errorf("told after %v", counts)
	}
}

// pair returns both ends of a connection that a listener has accepted.
func pair(t *testing.T, l *Listener) (ours *Conn, theirs net.Conn) {
	t.Helper()
	theirs, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close(); c.Close() })
	return c.(*Conn), theirs
}

// TestStrangers: of too many strangers the oldest goes, those that are known stay, and who says
// nothing in time goes, too.
func TestStrangers(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := New(inner, Options{Strangers: 3})
	var all []*Conn
	ended := 0
	for i := range 6 {
		c, _ := pair(t, l)
		if all = append(all, c); i == 0 && !c.Known(func() { ended++ }) {
			t.Error("the first one cannot be known")
		}
	}
	for i, c := range all {
		crowd := (*CrowdError)(nil)
		if gone := errors.As(c.Why(), &crowd); gone != (i == 1 || i == 2) {
			t.Errorf("connection %d: closed %t", i, gone)
		}
		if i == 1 || i == 2 {
			if _, err := c.Read(make([]byte, 1)); !errors.As(err, &crowd) {
				t.Errorf("connection %d is read with %v", i, err)
			}
			if c.Known(nil) {
				t.Errorf("connection %d is known after it was closed", i)
			}
		}
	}
	all[0].Stranger() // the youngest of four now
	if why := all[3].Why(); why == nil || all[0].Why() != nil {
		t.Errorf("of the strangers the wrong one was closed: %v, %v", why, all[0].Why())
	}
	all[0].Close()
	all[0].Close()
	if ended != 1 {
		t.Errorf("its end was told %d times", ended)
	}
	slow := New(inner, Options{Patience: time.Millisecond})
	c, _ := pair(t, slow)
	late := (*LateError)(nil)
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &late) {
		t.Errorf("who says nothing is read with %v", err)
	}
}
