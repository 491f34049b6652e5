package reliable

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"time"
)

const (
	// firstWait is how long an acknowledgement is waited for as long as nothing is
	// known of round trips, and leastWait the least: longer than lazy.
	firstWait, leastWait = 50 * time.Millisecond, 10 * time.Millisecond
	// lazy is how long an acknowledgement waits for a message to go with.
	lazy = 2 * time.Millisecond
	// disorder is by how much frames may pass each other before one counts as lost.
	disorder = time.Millisecond
	// often is after how many frames an acknowledgement goes at once.
	often = window / 4
)

// link is a session with another node, or the attempt to begin one. It has no goroutine,
// clock or lock: times are handed in.
//
//	taken        acked         next        last
//	  │ handled?   │ acknowledged? │ unsent   │
//	  └──────────── frames ───────────────────┘
type link struct {
	mine, theirs uint64 // theirs is 0 until the session has begun
	timeout      time.Duration
	heard        time.Time // when something of the session has come

	// What is sent. frames are those from taken+1 on.
	frames             []*frame
	taken, acked, next uint64 // next is the number of the first that was not sent yet
	held               int    // bytes of frames
	sent               time.Time
	trip, spread       time.Duration // a round trip, and how much it varies
	backoff            int           // how often the time to wait was doubled
	newest             time.Time     // when the latest frame was sent of those acknowledged
	hellos             int
	probe              time.Time // when the other side was last asked how far it is

	// What has come. early are the frames that wait for one before them.
	got, done, told uint64 // got is in order, done handled, told what the other side knows of done
	early           [window][]byte
	mask            uint64
	inbox           [][]byte // bodies of frames that wait for the handler
	owed            int      // frames that came since the last acknowledgement
	owedAt          time.Time
	hurry           bool   // an acknowledgement is due now
	answer          uint64 // the session that a hello came from, to be answered by reply
	reply           uint64
}

// frame is one that was not handled yet by the other side.
type frame struct {
	buf   []byte // header and body; nil when it was acknowledged
	size  int    // of buf
	sum   uint32 // of the body, for who sends it
	sent  time.Time
	times int // that it was sent
	lost  bool
}

// session draws the number of a session.
func session() uint64 { return rand.Uint64() | 1 }

// newLink returns a link that asks for a session, or that has begun one.
func newLink(mine, theirs uint64, timeout time.Duration, now time.Time) *link {
	return &link{mine: mine, theirs: theirs, timeout: timeout, heard: now, next: 1}
}

// push adds a message to what is to be sent.
func (l *link) push(m []byte) {
	var f *frame
	if n := len(l.frames); n > 0 && l.taken+uint64(n) >= l.next {
		f = l.frames[n-1]
	}
	if f == nil || len(f.buf)+len(m) > frameSize {
		f = &frame{buf: make([]byte, headerSize, headerSize+binary.MaxVarintLen32+len(m))}
		l.frames = append(l.frames, f)
	}
	l.held -= f.size
	f.buf = append(binary.AppendUvarint(f.buf, uint64(len(m))), m...)
	f.size = len(f.buf)
	l.held += f.size
}

// idle reports whether all that was pushed is acknowledged.
func (l *link) idle() bool { return l.acked == l.taken+uint64(len(l.frames)) }

// wait is how long an acknowledgement is waited for.
func (l *link) wait() time.Duration {
	w := firstWait
	if l.trip > 0 {
		w = max(l.trip+4*l.spread, leastWait)
	}
	return min(w<<min(l.backoff, 16), max(l.timeout/4, leastWait))
}

// poll returns a frame to be sent now, whose header is still to be put, or how long there
// is nothing to do unless something happens.
func (l *link) poll(now time.Time) (f *frame, h header, wait time.Duration) {
	h = header{from: l.mine, to: l.theirs, ack: l.got, mask: l.mask, taken: l.done}
	if l.answer != 0 {
		h = header{from: l.reply, to: l.answer}
		l.answer = 0
		return &frame{}, h, 0
	}
	if l.theirs == 0 {
		if wait = l.sent.Add(min(firstWait<<min(l.hellos, 16)/4, max(l.timeout/4, leastWait))).Sub(now); wait > 0 && l.hellos > 0 {
			return nil, h, wait
		}
		l.hellos++
		l.sent = now
		return &frame{}, h, 0
	}
	if f, h.seq, wait = l.due(now); f == nil {
		rest := l.sent.Add(l.timeout / 4).Sub(now)
		if silent := l.heard.Add(l.timeout * 3 / 8).Sub(now); silent > 0 {
			rest = min(rest, silent)
		} else if rest = l.sent.Add(l.timeout / 16).Sub(now); rest <= 0 { // it is asked again and again
			h.flags |= flagPing
		}
		if l.owed > 0 {
			rest = min(rest, l.owedAt.Add(lazy).Sub(now))
		}
		if l.full() { // the news that it is not may have been lost
			ask := l.probe.Add(l.wait()).Sub(now)
			if ask <= 0 {
				l.probe = now
				l.backoff++
				h.flags |= flagPing
			}
			rest = min(rest, ask)
		}
		if rest > 0 && !l.hurry {
			return nil, h, min(wait, rest)
		}
		f = &frame{}
	}
	l.sent, l.owed, l.hurry, l.told = now, 0, false, l.done
	return f, h, 0
}

// unsent reports whether there are frames that were not sent yet.
func (l *link) unsent() bool { return l.next <= l.taken+uint64(len(l.frames)) }

// full reports whether frames wait for the other side's handler.
func (l *link) full() bool { return l.unsent() && l.next > l.taken+window }

// due returns the frame that is to be sent now, and its number: again, or for the first
// time. If there is none, it returns how long that stays so.
func (l *link) due(now time.Time) (f *frame, seq uint64, wait time.Duration) {
	wait = time.Hour
	patience := l.wait()
	for seq = l.acked + 1; seq < l.next; seq++ {
		f = l.frames[seq-l.taken-1]
		if f.buf == nil {
			continue
		}
		left := f.sent.Add(patience).Sub(now)
		if left > 0 && !f.lost {
			wait = min(wait, left)
			continue
		}
		if !f.lost && seq == l.acked+1 {
			l.backoff++
		}
		f.lost, f.sent = false, now
		f.times++
		return f, seq, 0
	}
	if !l.unsent() || l.full() {
		return nil, 0, wait
	}
	f = l.frames[l.next-l.taken-1]
	f.sent, f.times = now, 1
	l.next++
	return f, l.next - 1, 0
}

// take takes a frame of the session. It reports whether there is more room to send, or
// all is acknowledged, and whether there is more for the handler.
func (l *link) take(h header, body []byte, now time.Time) (room, more bool) {
	if h.ack >= l.next || h.taken > h.ack {
		return false, false // nobody has sent what it claims to have
	}
	l.heard = now
	if h.flags&flagPing != 0 {
		l.hurry = true
	}
	room = l.acknowledged(h, now)
	if h.seq == 0 {
		return room, false
	}
	if l.owed++; l.owed == 1 {
		l.owedAt = now
	}
	ahead := h.seq - l.got - 1
	switch {
	case h.seq <= l.got || ahead < window && l.mask>>ahead&1 != 0: // it came before
		l.hurry = true
		return room, false
	case h.seq > l.done+window: // nobody may send that yet
		return room, false
	}
	l.mask |= 1 << ahead
	l.early[h.seq%window] = body
	for l.mask&1 != 0 {
		l.mask >>= 1
		l.got++
		l.inbox = append(l.inbox, l.early[l.got%window])
		l.early[l.got%window] = nil
		more = true
	}
	if l.owed >= often || l.mask != 0 {
		l.hurry = true
	}
	return room, more
}

// acknowledged notes what the other side has got.
func (l *link) acknowledged(h header, now time.Time) (room bool) {
	note := func(seq uint64) {
		if seq <= l.taken || seq >= l.next {
			return
		}
		f := l.frames[seq-l.taken-1]
		if f.buf == nil {
			return
		}
		f.buf = nil
		if f.sent.After(l.newest) {
			l.newest = f.sent
		}
		if f.times == 1 {
			l.measure(now.Sub(f.sent))
		}
		l.backoff = 0
	}
	for ; l.acked < h.ack; l.acked++ {
		note(l.acked + 1)
		room = true
	}
	for m := h.mask; m != 0; m &= m - 1 {
		note(h.ack + 1 + uint64(bits.TrailingZeros64(m)))
	}
	for seq := l.acked + 1; h.mask != 0 && seq < l.next; seq++ {
		if f := l.frames[seq-l.taken-1]; f.buf != nil && f.sent.Add(disorder).Before(l.newest) {
			f.lost, l.hurry = true, true
		}
	}
	if h.taken > l.taken {
		n := h.taken - l.taken
		for _, f := range l.frames[:n] {
			l.held -= f.size
		}
		clear(l.frames[:n])
		l.frames = l.frames[n:]
		l.taken = h.taken
		l.backoff = 0
		room = true
	}
	return room
}

// measure takes the time of a round trip into account (RFC 6298, 2).
func (l *link) measure(trip time.Duration) {
	if l.trip == 0 {
		l.trip, l.spread = max(trip, 1), trip/2
		return
	}
	l.spread += ((l.trip - trip).Abs() - l.spread) / 4
	l.trip = max(l.trip+(trip-l.trip)/8, 1)
}

// handled notes that a frame from the inbox is handled. It reports whether the other side
// is to know, now or soon.
func (l *link) handled(now time.Time) bool {
	l.done++
	if l.done-l.told >= often {
		l.hurry = true
		return true
	}
	if l.owed++; l.owed > 1 {
		return false
	}
	l.owedAt = now
	return true
}
