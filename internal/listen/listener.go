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
	// Strangers is how many connections of strangers there may be at a time; 0 means
	// [Strangers]. One more has the oldest of them closed: who is known soon gets in.
	Strangers int
	// Patience is how long a connection may be a stranger's. 0 means as long as there is room.
	Patience time.Duration
	// Tell is told that nothing can be accepted for now, and why: at once, and then once a minute
	// as long as it goes on. Failed is how many attempts have failed since it was told last. Nil
	// means that nobody is told.
	Tell func(err error, failed int)
	// Spare is called when the process, or the system, has no descriptor left. It gives back what
	// nobody needs. May be nil.
	Spare func()
}

// Listener accepts connections, in place of another listener.
//
// A connection is a stranger's until [Conn.Known] says that it is not. What is temporary does not
// end Accept: it tries again after a pause, which grows to a second, until Close. Any other error of
// the listener is Accept's.
type Listener struct {
	net.Listener
	opt  Options
	over chan struct{} // closed by Close
	once sync.Once

	mu        sync.Mutex // a leaf
	strangers list.List  // of *Conn, the oldest first

	told   time.Time // Accept's, as is what follows
	failed int
}

const (
	pauseLeast = 5 * time.Millisecond // between two attempts to accept
	pauseMost  = time.Second
	tellAgain  = time.Minute
	// strangersMost is the default of Options.Strangers, where there are descriptors enough. Each
	// may have buffers of 64 KiB.
	strangersMost = 256
)

// Strangers returns how many connections of strangers a server of this process may have: one in
// eight of the descriptors that the process may have open, and 256 at most.
func Strangers() int {
	if n := descriptors(); n > 0 {
		return min(max(n/8, 4), strangersMost)
	}
	return strangersMost
}

// New returns a listener in place of l.
func New(l net.Listener, opt Options) *Listener {
	if opt.Strangers == 0 {
		opt.Strangers = Strangers()
	}
	return &Listener{Listener: l, opt: opt, over: make(chan struct{})}
}

// Close implements [net.Listener]. Connections stay, but Accept pauses no more.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close()
}

// Count returns how many connections of strangers there are.
func (l *Listener) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers.Len()
}

// Accept implements [net.Listener]. One call at a time. What it returns is a *Conn.
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

// tell tells that an attempt has failed.
func (l *Listener) tell(err error, now time.Time) {
	if l.failed++; !l.told.IsZero() && now.Sub(l.told) < tellAgain || l.opt.Tell == nil {
		return
	}
	l.opt.Tell(err, l.failed)
	l.told, l.failed = now, 0
}

// spare gives descriptors back: those of the older half of the strangers, and what Options.Spare can.
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

// add notes a connection as a stranger's, and closes the oldest one of too many.
func (l *Listener) add(c net.Conn) *Conn {
	x := &Conn{Conn: c, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enter(x)
	return x
}

// enter has a connection among those of strangers. The caller holds mu.
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

	// The listener's mu guards what follows.
	place  *list.Element // among strangers; nil if it is not
	late   *time.Timer   // ends it
	why    error         // why it was closed here
	closed bool
	ends   []func() // when it is closed
}

// Of returns the connection that a listener of this package has accepted and c was made of, nil if
// there is none.
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

// Known says that the connection is no stranger's, and what is to be called when it is closed; nil
// for nothing. It reports false if it is closed already.
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

// Strange reports whether nobody has said that the connection is known.
func (c *Conn) Strange() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.place != nil
}

// Stranger says that the connection may be closed again to make room for others.
func (c *Conn) Stranger() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.closed && c.place == nil && c.why == nil {
		c.of.enter(c)
	}
}

// leave takes the connection from those of strangers. The caller holds the listener's mu.
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

// part closes a stranger's connection. Who reads it is told why, and closes it, too. The caller
// holds the listener's mu.
func (c *Conn) part(why error) {
	c.leave()
	c.why = why
	_ = c.Conn.Close()
}

// Read implements [net.Conn]. If the listener has closed the connection the error says why.
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

// Why returns why the listener has closed the connection, nil if it has not.
func (c *Conn) Why() error { return c.reason(nil) }

// CloseWrite ends what is written to the connection, if it is one of TCP.
func (c *Conn) CloseWrite() error {
	if tcp, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return tcp.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements [net.Conn].
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

// LateError is why a stranger's connection was closed: it has not said whose it is in time.
type LateError struct{ Patience time.Duration }

func (e *LateError) Error() string {
	return fmt.Sprintf("it has not said whose it is in %v", e.Patience)
}

// Temporary reports whether accept may work again after that error. All errors of the system are
// but those that say that there is nothing to accept from: it also returns what has befallen the
// connection that was to be accepted, and which errors these are depends on the system.
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

// Exhausted reports whether the error says that the process, or the system, has no descriptor left.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
