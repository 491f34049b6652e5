package web

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/valyala/fasthttp"
)

// A message goes over a connection that is kept for messages to one node, as a frame: its turn
// (8 bytes), its size (4), the CRC-32C of these and the message (4), and the message itself. The
// other side answers now and then, with the turn (8 bytes) of the last message that it has taken:
// an answer to each would wake this node as often as it sends. What was not answered is kept, and
// sent again over the next connection.
const (
	frameHead   = 16
	answerBytes = 8

	// upgraded is what HTTP calls this.
	upgraded = "tessera"

	// answerAfter is after how many messages there is an answer, answerSize after how many bytes.
	answerAfter = 16
	answerSize  = 256 << 10
	// keptMost is how many messages wait for it at most, and keptSize how many bytes before another
	// one: more than there can be without an answer, unless the other side is behind.
	keptMost = 4 * answerAfter
	keptSize = 4 * answerSize
)

// frameSum returns the checksum of a frame: of its turn, its size and the message.
func frameSum(head, message []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:12], castagnoli), castagnoli, message)
}

// link implements way: messages to a node, from when it has joined to when it leaves.
type link struct {
	*greeter
	to    *member
	joins uint64 // as to's

	mu    sync.Mutex    // a leaf
	conn  net.Conn      // nil if there is none now
	kept  [][]byte      // frames that are not answered, the first first
	size  int           // bytes of these
	err   error         // why it has ended
	news  chan struct{} // closed at each change of what is above, but for more frames
	since time.Time     // when the other side first said that it does not know this one; run's
}

// newLink returns a link that has begun to connect. The error is transport.ErrClosed.
func (n *greeter) newLink(to *member) (*link, error) {
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	if n.ctx.Err() != nil {
		return nil, transport.ErrClosed
	}
	l := &link{greeter: n, to: to, joins: to.joins, news: make(chan struct{})}
	n.running.Go(l.run)
	return l, nil
}

// over reports whether the link has ended.
func (l *link) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil
}

// tell tells who waits that something is different. The caller holds mu.
func (l *link) tell() {
	close(l.news)
	l.news = make(chan struct{})
}

// send sends a message, when the other side is not behind. One call at a time.
func (l *link) send(ctx context.Context, turn uint64, message []byte) error {
	frame := make([]byte, frameHead, frameHead+len(message))
	binary.LittleEndian.PutUint64(frame, turn)
	binary.LittleEndian.PutUint32(frame[8:], uint32(len(message)))
	binary.LittleEndian.PutUint32(frame[12:], frameSum(frame, message))
	frame = append(frame, message...)
	var conn net.Conn
	for kept := false; ; {
		l.mu.Lock()
		err, news := l.err, l.news
		if err == nil && kept && l.conn != nil && l.conn != conn { // over which it was sent again
			l.mu.Unlock()
			return nil
		}
		write := !kept && l.conn != nil && len(l.kept) < keptMost && l.size < keptSize
		if write {
			kept, conn = true, l.conn
			l.kept, l.size = append(l.kept, frame), l.size+len(frame)
		}
		l.mu.Unlock()
		if err != nil {
			return err
		}
		if write {
			cut := context.AfterFunc(ctx, func() { _ = conn.Close() }) // what comes half is sent again
			_, err := conn.Write(frame)
			if cut(); err == nil {
				return nil
			}
			_ = conn.Close() // run sees that
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// run connects, again and again, until the node leaves or this one is closed.
func (l *link) run() {
	var err error
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		address, there := l.stays()
		if there && l.ctx.Err() == nil {
			if err = l.connect(address); err == nil {
				wait = time.Millisecond
			}
			there = !l.refused(err, address)
		}
		if l.ctx.Err() != nil {
			err = transport.ErrClosed
			break
		}
		if !there {
			err = &transport.UnreachableError{Node: l.to.name, Err: err}
			break
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(wait):
		}
	}
	l.mu.Lock()
	l.err, l.kept = err, nil
	l.tell()
	l.mu.Unlock()
}

// stays returns the address of the node, if it has not left since the link began.
func (l *link) stays() (address string, there bool) {
	l.members.mu.Lock()
	defer l.members.mu.Unlock()
	x := l.members.byName[l.to.name]
	return l.to.address, x == l.to && x.there && x.joins == l.joins
}

// refusal is an answer other than that messages may come.
type refusal struct {
	status int
	why    string
}

func (e *refusal) Error() string { return fmt.Sprintf("%d %s", e.status, e.why) }

// refused reports whether the other side says for good that it takes nothing. One that does not
// know this node is greeted: it greets back.
func (l *link) refused(err error, address string) bool {
	var r *refusal
	if !errors.As(err, &r) { // a connection was cut; what came twice is dropped
		l.since = time.Time{}
		return false
	}
	if l.since.IsZero() {
		l.since = time.Now()
	}
	if r.status != fasthttp.StatusConflict || time.Since(l.since) > l.opt.Timeout {
		return true
	}
	l.greetOne(address, l.greeting(0, false))
	return false
}

// connect makes a connection, sends over it what the other side has not taken, and takes answers
// until it is cut. The error says why there was none.
func (l *link) connect(address string) error {
	conn, err := l.dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(l.ctx, func() { _ = conn.Close() })()
	answers, err := l.upgrade(conn, address)
	if err != nil {
		return err
	}
	l.mu.Lock()
	again := l.kept // of which nobody sends any now
	l.mu.Unlock()
	for _, frame := range again {
		if _, err := conn.Write(frame); err != nil {
			return err
		}
	}
	l.mu.Lock()
	l.conn = conn
	l.tell()
	l.mu.Unlock()
	for b := make([]byte, answerBytes); ; {
		if _, err := io.ReadFull(answers, b); err != nil {
			break
		}
		l.answered(binary.LittleEndian.Uint64(b))
	}
	l.mu.Lock()
	l.conn = nil
	l.tell()
	l.mu.Unlock()
	return nil
}

// upgrade asks whether messages may come over a connection, and returns where answers to them come.
func (l *link) upgrade(conn net.Conn, address string) (answers *bufio.Reader, err error) {
	q, a := l.request(fasthttp.MethodPost, address, "/v1/message"), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer fasthttp.ReleaseResponse(a)
	q.Header.Set(fasthttp.HeaderConnection, "Upgrade")
	q.Header.Set(fasthttp.HeaderUpgrade, upgraded)
	_ = conn.SetDeadline(time.Now().Add(l.opt.Timeout))
	if _, err := q.WriteTo(conn); err != nil {
		return nil, err
	}
	answers = bufio.NewReader(conn)
	if err := a.ReadLimitBody(answers, buffers); err != nil {
		return nil, err
	}
	if a.StatusCode() != fasthttp.StatusSwitchingProtocols {
		return nil, &refusal{a.StatusCode(), string(a.Body())}
	}
	taken, err := strconv.ParseUint(string(a.Header.Peek(headerTurn)), 10, 64)
	if err != nil {
		return nil, err
	}
	l.answered(taken)
	return answers, conn.SetDeadline(time.Time{}) // who is behind may take its time
}

// answered forgets what the other side has taken.
func (l *link) answered(taken uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.kept) > 0 && binary.LittleEndian.Uint64(l.kept[0]) <= taken {
		l.size -= len(l.kept[0])
		l.kept[0] = nil
		l.kept = l.kept[1:]
	}
	l.tell()
}
