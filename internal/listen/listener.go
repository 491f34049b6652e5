package listen

import (
	"container/list"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Options configures a [Listener].
type Options struct {
	// Strangers is how many connections of strangers may be open at a time; 0 means [Strangers]. One more closes
	// the oldest, so a client should identify itself soon.
	Strangers int
	// Patience is how long a connection may remain a stranger's. 0 means without limit.
	Patience time.Duration
	// Tell reports that Accept fails for now, and why: at the first failure, and then once a minute while
	// failures go on. failed is the number of failures since the last call. May be nil.
	Tell func(err error, failed int)
	// Spare is called when the process or the system has no descriptor left. It should close what can be spared.
	// May be nil.
	Spare func()
}

// Listener wraps another listener.
//
// A connection is a stranger's until [Conn.Known] is called. Accept retries after a temporary error. The pause
// between two attempts grows to one second; Close ends it. Accept returns any other error of the wrapped
// listener.
type Listener struct {
	net.Listener
	opt  Options
	over chan struct{} // closed by Close
	once sync.Once

	mu        sync.Mutex // a leaf
	strangers list.List  // of *Conn, oldest first

	told   time.Time // this and failed are used by Accept only
	failed int
}

const (
	pauseLeast = 5 * time.Millisecond // between two attempts to accept
	pauseMost  = time.Second
	tellAgain  = time.Minute
	// strangersMost limits the default of Options.Strangers. Each connection may have buffers of 64 KiB.
	strangersMost = 256
)

// Strangers returns the default of Options.Strangers: one eighth of the descriptors that the process may open,
// at least 4 and at most 256.
func Strangers() int {
	if n := descriptorLimit(); n > 0 {
		return min(max(n/8, 4), strangersMost)
	}
	return strangersMost
}

// New returns a listener that wraps l.
func New(l net.Listener, opt Options) *Listener {
	if opt.Strangers == 0 {
		opt.Strangers = Strangers()
	}
	return &Listener{Listener: l, opt: opt, over: make(chan struct{})}
}

// Close implements [net.Listener]. It ends the pause of Accept. Accepted connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close()
}

// Count returns the number of strangers' connections.
func (l *Listener) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers.Len()
}

// Accept implements [net.Listener]. It returns a *Conn. Calls must not overlap.
func (l *Listener) Accept() (net.Conn, error) {
	for pause := pauseLeast; ; pause = min(2*pause, pauseMost) {
		c, err := l.Listener.Accept()
		if err == nil {
			return l.add(c), nil
		}
		if !Temporary(err) {
			return nil, err
		}
		if Exhausted(err) {
			l.spare()
		}
		l.tell(err, time.Now())
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.over:
			timer.Stop()
			return nil, net.ErrClosed
		}
	}
}

// tell counts a failed attempt and reports it if a report is due.
func (l *Listener) tell(err error, now time.Time) {
	if l.failed++; !l.told.IsZero() && now.Sub(l.told) < tellAgain || l.opt.Tell == nil {
		return
	}
	l.opt.Tell(err, l.failed)
	l.told, l.failed = now, 0
}

// spare frees descriptors: it closes the older half of the strangers' connections and calls Options.Spare.
func (l *Listener) spare() {
	l.mu.Lock()
	n := (l.strangers.Len() + 1) / 2
	for range n {
		l.strangers.Front().Value.(*Conn).part(ErrExhausted)
	}
	l.mu.Unlock()
	if l.opt.Spare != nil {
		l.opt.Spare()
	}
}

// add makes c a stranger's connection. If there are too many, it closes the oldest.
func (l *Listener) add(c net.Conn) *Conn {
	x := &Conn{Conn: c, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enter(x)
	return x
}

// enter adds x to the strangers' connections. The caller holds mu.
func (l *Listener) enter(x *Conn) {
	x.place = l.strangers.PushBack(x)
	if l.strangers.Len() > l.opt.Strangers {
		l.strangers.Front().Value.(*Conn).part(&CrowdError{l.opt.Strangers})
	}
	if l.opt.Patience > 0 && x.place != nil {
		x.late = time.AfterFunc(l.opt.Patience, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if x.place != nil {
				x.part(&LateError{l.opt.Patience})
			}
		})
	}
}

// Conn is a connection that a [Listener] has accepted.
type Conn struct {
	net.Conn
	of *Listener

	// The listener's mu guards the fields below.
	place  *list.Element // in strangers; nil if x is not a stranger's
	late   *time.Timer   // closes it after Options.Patience
	why    error         // why the listener closed it
	closed bool
	ends   []func() // Close calls them
}

// Of returns the *Conn that c is or wraps, as a TLS connection does. It returns nil if there is none.
func Of(c net.Conn) *Conn {
	for c != nil {
		if x, ok := c.(*Conn); ok {
			return x
		}
		t, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = t.NetConn()
	}
	return nil
}

// Known says that the client is identified: the connection no longer counts as a stranger's. Close will call
// end, unless end is nil. Known reports false, and end is not called, if the connection is closed already.
func (c *Conn) Known(end func()) bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.closed || c.why != nil {
		return false
	}
	c.leave()
	if end != nil {
		c.ends = append(c.ends, end)
	}
	return true
}

// Strange reports whether the connection is a stranger's.
func (c *Conn) Strange() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.place != nil
}

// Stranger makes the connection a stranger's again, so that it may be closed to make room for others.
func (c *Conn) Stranger() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.closed && c.place == nil && c.why == nil {
		c.of.enter(c)
	}
}

// leave removes the connection from the strangers'. The caller holds the listener's mu.
func (c *Conn) leave() {
	if c.place != nil {
		c.of.strangers.Remove(c.place)
		c.place = nil
	}
	if c.late != nil {
		c.late.Stop()
		c.late = nil
	}
}

// part closes a stranger's connection. Read then returns why, and its caller closes the Conn. The caller of
// part holds the listener's mu.
func (c *Conn) part(why error) {
	c.leave()
	c.why = why
	_ = c.Conn.Close()
}

// Read implements [net.Conn]. If the listener has closed the connection, the error is [Conn.Why].
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		err = c.reason(err)
	}
	return n, err
}

func (c *Conn) reason(err error) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.why != nil {
		return c.why
	}
	return err
}

// Why returns why the listener closed the connection. It returns nil if it did not.
func (c *Conn) Why() error { return c.reason(nil) }

// CloseWrite closes the writing side of a TCP connection. For others it returns errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	if tcp, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return tcp.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements [net.Conn]. It calls the functions that Known was given.
func (c *Conn) Close() error {
	c.of.mu.Lock()
	again, ends := c.closed, c.ends
	c.closed, c.ends = true, nil
	c.leave()
	c.of.mu.Unlock()
	if again {
		return net.ErrClosed
	}
	for _, end := range ends {
		end()
	}
	return c.Conn.Close()
}

// ErrExhausted is why a stranger's connection was closed: the process has no descriptor left.
var ErrExhausted = errors.New("this process has no file descriptor left for strangers")

// CrowdError is why a stranger's connection was closed: newer ones took its place.
type CrowdError struct{ Most int }

func (e *CrowdError) Error() string {
	return fmt.Sprintf("of more than %d connections of strangers at a time the oldest is closed", e.Most)
}

// LateError is why a stranger's connection was closed: the client did not identify itself in time.
type LateError struct{ Patience time.Duration }

func (e *LateError) Error() string {
	return fmt.Sprintf("it has not said whose it is in %v", e.Patience)
}

// Temporary reports whether Accept may succeed after err. It is true for time-outs and for all system errors
// except those that mean that the listener itself is unusable: accept also returns network errors of the
// connection it was to return, and which these are depends on the system.
func Temporary(err error) bool {
	var number syscall.Errno
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	if errors.As(err, &number) {
		switch number {
		case syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK, syscall.EFAULT:
			return false
		}
		return true
	}
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// Exhausted reports whether err says that the process or the system has no descriptor left.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
