package web

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/valyala/fasthttp"
)

// Messages to a node go over a connection of their own, as frames: the message's number, its turn
// (8 bytes), its size (4), its CRC-32C (4), the CRC-32C of these (4), and the message. The receiver
// answers with the turn (8 bytes) of the last message that it has taken, and the CRC-32C of that
// (4): at once for the first, then now and then, because an answer to each would wake the sender as
// often as it sends. Messages without an answer are kept, and sent again over the next connection.
//
// The receiver also answers four times in a Timeout if there is nothing new, or its handler is
// behind. If no answer comes for a Timeout the connection is cut and another one made: a device
// between may have forgotten it silently.
//
// If both sides support it (headerMove), an answer also says how many bytes have arrived, and
// whether the receiver waits for more (8, between turn and sum). If it waits for a Timeout while
// sent bytes do not arrive, a device between drops them, and passes the answers, which are short.
// Then the connection is cut, too; if the next one does the same, the node cannot be reached.
//
//	connect ─► upgrade ─► send kept frames again ─► frames ⇄ answers ─► cut ─► connect …
//	                                                                      └─► deaf: the node is shut
const (
	frameHead   = 20
	answerBytes = 12
	answerLong  = answerBytes + 8

	// upgraded is the protocol's name in HTTP's Upgrade header.
	upgraded = "tessera"

	// answerAfter is the number of messages, and answerSize the number of bytes, after which an
	// answer is due.
	answerAfter = 16
	answerSize  = 256 << 10
	// keptMost bounds the messages that wait for an answer, and keptSize the bytes before another
	// one: more than can be unanswered unless the receiver is behind.
	keptMost = 4 * answerAfter
	keptSize = 4 * answerSize
	// promptSize is how many unanswered bytes the operating system takes at once, whether the
	// receiver reads them or not.
	promptSize = 32 << 10
)

// frame returns the frame of a message.
func frame(turn uint64, message []byte) []byte {
	b := make([]byte, frameHead, frameHead+len(message))
	binary.LittleEndian.PutUint64(b, turn)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(message)))
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(message, castagnoli))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	return append(b, message...)
}

// readHead reads the head of a frame, and returns its turn and the size of its message. The error
// of an invalid one is a *frameError, as is that of readMessage.
func readHead(r io.Reader, head []byte) (turn uint64, length int, err error) {
	if _, err := io.ReadFull(r, head[:frameHead]); err != nil {
		return 0, 0, err
	}
	if crc32.Checksum(head[:16], castagnoli) != binary.LittleEndian.Uint32(head[16:]) {
		return 0, 0, errDamaged // the message's size is unknown
	}
	size := binary.LittleEndian.Uint32(head[8:])
	if size > transport.MessageLimit {
		return 0, 0, &frameError{fmt.Sprintf("a message of more than %d bytes", transport.MessageLimit)}
	}
	return binary.LittleEndian.Uint64(head), int(size), nil
}

// readMessage reads the message that follows a head. It allocates at most twice the bytes received,
// and calls next before each piece.
func readMessage(r io.Reader, head []byte, length int, next func() error) ([]byte, error) {
	m := make([]byte, 0, min(length, buffers))
	for len(m) < length {
		if err := next(); err != nil {
			return nil, err
		}
		have := len(m)
		if have == cap(m) {
			m = append(make([]byte, 0, min(2*have, length)), m...)
		}
		m = m[:min(cap(m), have+buffers)]
		if _, err := io.ReadFull(r, m[have:]); err != nil {
			return nil, err
		}
	}
	if crc32.Checksum(m, castagnoli) != binary.LittleEndian.Uint32(head[12:]) {
		return nil, errDamaged
	}
	return m, nil
}

// frameError reports invalid data on a connection.
type frameError struct{ problem string }

func (e *frameError) Error() string { return e.problem }

// errDamaged reports a damaged message, which will be sent again.
var errDamaged error = &frameError{"a message is not what was sent"}

// putAnswer encodes an answer into b, a long one if b has its size.
func putAnswer(b []byte, taken, moved uint64) {
	binary.LittleEndian.PutUint64(b, taken)
	if len(b) == answerLong {
		binary.LittleEndian.PutUint64(b[8:], moved)
	}
	end := len(b) - 4
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
}

// readAnswer reads an answer into b, which has its length. A short one has no moved.
func readAnswer(r io.Reader, b []byte) (taken, moved uint64, err error) {
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, 0, err
	}
	end := len(b) - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return 0, 0, &frameError{"an answer is not what was sent"}
	}
	if len(b) == answerLong {
		moved = binary.LittleEndian.Uint64(b[8:])
	}
	return binary.LittleEndian.Uint64(b), moved, nil
}

// moving follows the answers of a connection, to notice that no byte moves.
type moving struct {
	taken, moved uint64
	since        time.Time // since when neither has changed while the receiver waits for sent bytes
}

// stalled takes an answer, and returns for how long no byte has moved that should.
func (m *moving) stalled(taken, moved uint64, sent bool, now time.Time) time.Duration {
	if !sent || moved&waitsBit == 0 || taken != m.taken || moved != m.moved || m.since.IsZero() {
		m.taken, m.moved, m.since = taken, moved, now
	}
	return now.Sub(m.since)
}

// link implements way: messages to a node, from its joining to its leaving.
type link struct {
	*greeter
	to    *member
	joins uint64 // as to's

	mu    sync.Mutex    // a leaf
	conn  net.Conn      // nil if there is no connection
	kept  [][]byte      // unanswered frames, in order
	size  int           // bytes of kept
	err   error         // why it has ended
	news  chan struct{} // closed at each change above, except for more frames
	since time.Time     // since when the receiver does not know this node; only run uses it
	stood int           // successive connections over which no byte moved; mu guards it
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

// notify wakes waiting senders after a change. The caller holds mu.
func (l *link) notify() {
	close(l.news)
	l.news = make(chan struct{})
}

// send sends a message when the receiver is not behind. One goroutine calls it at a time.
func (l *link) send(ctx context.Context, turn uint64, message []byte) error {
	if ctx.Err() != nil { // else it would cut the connection
		return context.Cause(ctx)
	}
	b := frame(turn, message)
	var conn net.Conn
	for kept := false; ; {
		l.mu.Lock()
		err, news := l.err, l.news
		if err == nil && kept && l.conn != nil && l.conn != conn { // the message was sent again over the new one
			l.mu.Unlock()
			return nil
		}
		write := !kept && l.conn != nil && len(l.kept) < keptMost && l.size < keptSize
		if write {
			kept, conn = true, l.conn
			l.kept, l.size = append(l.kept, b), l.size+len(b)
		}
		l.mu.Unlock()
		if err != nil {
			return err
		}
		if write {
			cut := context.AfterFunc(ctx, func() { _ = conn.Close() }) // a half-sent frame is sent again
			_, err := conn.Write(b)
			if cut(); err == nil {
				return nil
			}
			_ = conn.Close() // run notices it
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// prompt reports whether send would not wait now.
func (l *link) prompt() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && l.conn != nil && len(l.kept) < keptMost/2 && l.size < promptSize
}

// vainFor is for how many Timeouts a node that is there may be without a connection. After a
// connection over which no byte moved, one is enough.
const vainFor = 4

// run connects again and again until the node leaves, cannot be reached, or this node is closed.
func (l *link) run() {
	var err error
	vain := time.Time{} // since when attempts to connect fail
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		address, there := l.stays()
		if there && l.ctx.Err() == nil {
			if err = l.connect(address); err == nil {
				wait, vain = time.Millisecond, time.Time{}
			} else if vain.IsZero() {
				vain = time.Now()
			}
			there = !l.refused(err, address)
			if why := l.deaf(vain); why != nil && there {
				err, there = cmp.Or(err, why), false
				l.members.shut(l.to, why, time.Now(), shutFor*l.opt.Timeout)
			}
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
	l.notify()
	l.mu.Unlock()
}

// deaf returns why no message reaches the node, though it answers greetings; nil if messages do, or
// may. vain is the time since which there is no connection, zero if there is one.
func (l *link) deaf(vain time.Time) error {
	l.mu.Lock()
	stood := l.stood
	l.mu.Unlock()
	waited := time.Duration(0)
	if !vain.IsZero() {
		waited = time.Since(vain)
	}
	if stood > 1 || waited > vainFor*l.opt.Timeout || stood > 0 && waited > l.opt.Timeout {
		return &transport.StalledError{Node: l.to.name, For: max(waited, time.Duration(stood)*l.opt.Timeout)}
	}
	return nil
}

// stays returns the address of the node, and whether it is there since the link began.
func (l *link) stays() (address string, there bool) {
	l.members.mu.Lock()
	defer l.members.mu.Unlock()
	x := l.members.byName[l.to.name]
	return l.to.address, x == l.to && x.there && x.joins == l.joins
}

// refused reports whether the receiver refuses messages for good. If it does not know this node, it
// is greeted, and greets back.
func (l *link) refused(err error, address string) bool {
	var r *refusal
	if !errors.As(err, &r) { // a connection was cut; duplicates will be dropped
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

// connect makes a connection, sends the kept frames over it, and takes answers until it is cut. The
// error says why there was none.
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
	again := slices.Clone(l.kept) // conn is nil, so no goroutine sends these
	l.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for m := (moving{}); l.answer(conn, answers, &m) == nil; {
		}
		_ = conn.Close()
	}()
	for _, b := range again {
		if _, err = conn.Write(b); err != nil {
			_ = conn.Close()
			<-over
			return err
		}
	}
	l.set(conn)
	<-over
	l.set(nil)
	return nil
}

// set makes conn the connection for messages.
func (l *link) set(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	l.notify()
}

// answers is the stream of answers, and the size of one.
type answers struct {
	*bufio.Reader
	bytes int
}

// answer takes an answer, for which it waits a Timeout. The error says that the connection is of no
// use.
func (l *link) answer(conn net.Conn, from answers, m *moving) error {
	if err := conn.SetReadDeadline(time.Now().Add(l.opt.Timeout)); err != nil {
		return err
	}
	taken, moved, err := readAnswer(from, make([]byte, from.bytes))
	if err != nil {
		return err
	}
	sent := l.answered(taken)
	if stands := m.stalled(taken, moved, sent, time.Now()); from.bytes == answerLong && stands > l.opt.Timeout {
		l.mu.Lock()
		l.stood++
		l.mu.Unlock()
		err = &transport.StalledError{Node: l.to.name, For: stands}
		l.opt.Log.Warn("no byte of a message comes there: another connection is tried", "node", l.opt.Name, "to",
			l.to.name, "for", stands)
	}
	return err
}

// upgrade asks to send messages over a connection, and returns the stream of answers to them. It
// has taken the first answer.
func (l *link) upgrade(conn net.Conn, address string) (from answers, err error) {
	q, a := l.request(fasthttp.MethodPost, address, "/v1/message"), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer fasthttp.ReleaseResponse(a)
	q.Header.Set(fasthttp.HeaderConnection, "Upgrade")
	q.Header.Set(fasthttp.HeaderUpgrade, upgraded)
	q.Header.Set(headerWait, l.opt.Timeout.String())
	q.Header.Set(headerMove, "1")
	_ = conn.SetDeadline(time.Now().Add(l.opt.Timeout))
	if _, err := q.WriteTo(conn); err != nil {
		return from, err
	}
	from = answers{bufio.NewReader(conn), answerBytes}
	if err := a.ReadLimitBody(from.Reader, buffers); err != nil {
		return from, err
	}
	if a.StatusCode() != fasthttp.StatusSwitchingProtocols {
		return from, &refusal{status: a.StatusCode(), why: string(a.Body())}
	}
	if len(a.Header.Peek(headerMove)) > 0 {
		from.bytes = answerLong
	}
	if err := conn.SetDeadline(time.Time{}); err != nil { // a receiver that is behind may take its time
		return from, err
	}
	return from, l.answer(conn, from, new(moving))
}

// answered drops kept frames that the receiver has taken, and reports whether there are more.
func (l *link) answered(taken uint64) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.kept) > 0 && binary.LittleEndian.Uint64(l.kept[0]) <= taken {
		l.size -= len(l.kept[0])
		l.kept[0] = nil
		l.kept = l.kept[1:]
		l.stood = 0
	}
	l.notify()
	return len(l.kept) > 0
}
