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

// A message goes over a connection that is kept for messages to one node, as a frame: its turn
// (8 bytes), its size (4), its CRC-32C (4), that of these (4), and the message itself. The other
// side answers with the turn (8 bytes) of the last message that it has taken, and the CRC-32C of
// that (4): at once, and now and then, as an answer to each would wake this node as often as it
// sends. What was not answered is kept, and sent again over the next connection.
//
// The other side also answers four times in a Timeout if there is nothing new, or its handler is
// behind. If nothing comes for a Timeout the connection is cut, and another one made: what is
// between may have forgotten it, and tells nobody.
//
// If both sides know of it (headerMove), an answer also says how many bytes have come over the
// connection, and whether the other side waits for more (8, between turn and sum). If it waits for a
// Timeout, and what this one has sent does not come, what is between drops it, and lets the answers
// pass, which are short. Then the connection is cut, too; and if that is so of the next one, the node
// cannot be reached.
const (
	frameHead   = 20
	answerBytes = 12
	answerLong  = answerBytes + 8

	// upgraded is what HTTP calls this.
	upgraded = "tessera"

	// answerAfter is after how many messages there is an answer, answerSize after how many bytes.
	answerAfter = 16
	answerSize  = 256 << 10
	// keptMost is how many messages wait for it at most, and keptSize how many bytes before another
	// one: more than there can be without an answer, unless the other side is behind.
	keptMost = 4 * answerAfter
	keptSize = 4 * answerSize
	// promptSize is how many bytes that wait for it the system takes at once, whether the other side
	// reads them or not.
	promptSize = 32 << 10
)

// frame returns a message as it goes over a connection.
func frame(turn uint64, message []byte) []byte {
	b := make([]byte, frameHead, frameHead+len(message))
	binary.LittleEndian.PutUint64(b, turn)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(message)))
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(message, castagnoli))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	return append(b, message...)
}

// readHead reads the head of one, and returns its turn and the size of its message. The error of one
// that makes no sense is a *frameError, as is that of readMessage.
func readHead(r io.Reader, head []byte) (turn uint64, length int, err error) {
	if _, err := io.ReadFull(r, head[:frameHead]); err != nil {
		return 0, 0, err
	}
	if crc32.Checksum(head[:16], castagnoli) != binary.LittleEndian.Uint32(head[16:]) {
		return 0, 0, errDamaged // nobody knows how long the message is
	}
	size := binary.LittleEndian.Uint32(head[8:])
	if size > transport.MessageLimit {
		return 0, 0, &frameError{fmt.Sprintf("a message of more than %d bytes", transport.MessageLimit)}
	}
	return binary.LittleEndian.Uint64(head), int(size), nil
}

// readMessage reads the message that follows a head. Its memory is no more than twice what has come.
// Before each piece, next is called.
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

// frameError says what is wrong with what has come over a connection.
type frameError struct{ problem string }

func (e *frameError) Error() string { return e.problem }

// errDamaged is of a message that is sent again.
var errDamaged error = &frameError{"a message is not what was sent"}

// putAnswer makes an answer, which is a long one if there is room for it.
func putAnswer(b []byte, taken, moved uint64) {
	binary.LittleEndian.PutUint64(b, taken)
	if len(b) == answerLong {
		binary.LittleEndian.PutUint64(b[8:], moved)
	}
	end := len(b) - 4
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
}

// readAnswer reads one into b, which has its length. Of a short one nothing is known to have moved.
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

// moving is what the answers over a connection say of what moves.
type moving struct {
	taken, moved uint64
	since        time.Time // that neither has changed, while the other side waits for what was sent
}

// stands takes an answer, and returns for how long nothing has moved that should.
func (m *moving) stands(taken, moved uint64, sent bool, now time.Time) time.Duration {
	if !sent || moved&waitsBit == 0 || taken != m.taken || moved != m.moved || m.since.IsZero() {
		m.taken, m.moved, m.since = taken, moved, now
	}
	return now.Sub(m.since)
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
	stood int           // connections in turn over which nothing moved; mu guards it
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
	if ctx.Err() != nil { // or else it would cut the connection
		return context.Cause(ctx)
	}
	b := frame(turn, message)
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
			l.kept, l.size = append(l.kept, b), l.size+len(b)
		}
		l.mu.Unlock()
		if err != nil {
			return err
		}
		if write {
			cut := context.AfterFunc(ctx, func() { _ = conn.Close() }) // what comes half is sent again
			_, err := conn.Write(b)
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

// prompt reports whether send would not wait now.
func (l *link) prompt() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && l.conn != nil && len(l.kept) < keptMost/2 && l.size < promptSize
}

// vainFor is for how many Timeouts a node that is there may not be connected with. Where nothing has
// moved over a connection, one is enough.
const vainFor = 4

// run connects, again and again, until the node leaves, cannot be reached, or this one is closed.
func (l *link) run() {
	var err error
	vain := time.Time{} // since when there is no connection
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
	l.tell()
	l.mu.Unlock()
}

// deaf returns why nothing that is sent reaches the node, though it answers greetings, nil if that is
// not so: since vain, if that is not zero, there is no connection.
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

// stays returns the address of the node, if it has not left since the link began.
func (l *link) stays() (address string, there bool) {
	l.members.mu.Lock()
	defer l.members.mu.Unlock()
	x := l.members.byName[l.to.name]
	return l.to.address, x == l.to && x.there && x.joins == l.joins
}

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
	again := slices.Clone(l.kept) // of which nobody sends any now
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

// set notes over which connection messages go now.
func (l *link) set(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	l.tell()
}

// answers are where answers to messages come, and how long each is.
type answers struct {
	*bufio.Reader
	bytes int
}

// answer takes an answer. It waits for a Timeout. The error says that the connection is of no use.
func (l *link) answer(conn net.Conn, from answers, m *moving) error {
	if err := conn.SetReadDeadline(time.Now().Add(l.opt.Timeout)); err != nil {
		return err
	}
	taken, moved, err := readAnswer(from, make([]byte, from.bytes))
	if err != nil {
		return err
	}
	sent := l.answered(taken)
	if stands := m.stands(taken, moved, sent, time.Now()); from.bytes == answerLong && stands > l.opt.Timeout {
		l.mu.Lock()
		l.stood++
		l.mu.Unlock()
		err = &transport.StalledError{Node: l.to.name, For: stands}
		l.opt.Log.Warn("no byte of a message comes there: another connection is tried", "node", l.opt.Name, "to", l.to.name, "for", stands)
	}
	return err
}

// upgrade asks whether messages may come over a connection, and returns where answers to them come.
// The first of them has been taken.
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
	if err := conn.SetDeadline(time.Time{}); err != nil { // who is behind may take its time
		return from, err
	}
	return from, l.answer(conn, from, new(moving))
}

// answered forgets what the other side has taken, and reports whether there is more.
func (l *link) answered(taken uint64) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.kept) > 0 && binary.LittleEndian.Uint64(l.kept[0]) <= taken {
		l.size -= len(l.kept[0])
		l.kept[0] = nil
		l.kept = l.kept[1:]
		l.stood = 0
	}
	l.tell()
	return len(l.kept) > 0
}
