package reliable

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// peer is another node. It stays when that node leaves. One goroutine sends to it, and
// another one gives its messages to the handler.
type peer struct {
	node *node
	name string
	wake chan struct{} // capacity 1: the sender has to look again
	mail chan struct{} // capacity 1: inbox has something

	mu     sync.Mutex // that of node.events may be taken under it
	link   *link      // nil unless it is there
	ctx    context.Context
	cancel context.CancelFunc // of what is sent in this session
	seed   maphash.Seed       // of the sessions that are offered while there is one
	room   chan struct{}      // closed, and replaced, when Send may look again
}

func newPeer(n *node, name string) *peer {
	p := &peer{node: n, name: name, wake: make(chan struct{}, 1), mail: make(chan struct{}, 1), room: make(chan struct{})}
	n.running.Add(2)
	go p.send()
	go p.deliver()
	return p
}

// signal wakes who waits for a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// offer returns the session that this node has if the other side begins a new one. It needs
// no memory for sessions that are asked for and never begin. The caller holds mu.
func (p *peer) offer(theirs uint64) uint64 { return maphash.Comparable(p.seed, theirs) | 1 }

// begin begins a link. The caller holds mu.
func (p *peer) begin(mine, theirs uint64, now time.Time) {
	p.link = newLink(mine, theirs, p.node.opt.Timeout, now)
	p.seed = maphash.MakeSeed()
	p.ctx, p.cancel = context.WithCancel(p.node.ctx)
	signal(p.wake)
}

// up notes that the session has begun. The caller holds mu.
func (p *peer) up() {
	p.link.hurry = true // the other side has to know
	p.node.events.Add(transport.Event{Node: p.name, Joined: true})
}

// down ends a link. The caller holds mu.
func (p *peer) down(why error) {
	if p.link == nil {
		return
	}
	if p.link.theirs != 0 {
		p.node.events.Add(transport.Event{Node: p.name, Err: why})
	}
	p.cancel()
	p.link = nil
	p.wakeSenders()
}

// wakeSenders has all who wait in Send look again. The caller holds mu.
func (p *peer) wakeSenders() {
	close(p.room)
	p.room = make(chan struct{})
}

// below notes that the node has come or gone below.
func (p *peer) below(e transport.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down(e.Err)
	if e.Joined && p.node.ctx.Err() == nil {
		p.begin(session(), 0, time.Now())
	}
}

// errAgain is why a node has left that has begun a new session.
var errAgain = errors.New("it has begun anew")

// watch ends a session in which nothing was heard for too long. Pause is how long this
// process has stood still, which is no fault of the other side.
func (p *peer) watch(now time.Time, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.link
	if l == nil || l.theirs == 0 {
		return
	}
	l.heard = l.heard.Add(pause)
	if now.Sub(l.heard) > l.timeout {
		p.down(fmt.Errorf("nothing was heard of it for %v", l.timeout))
		p.begin(session(), 0, now)
	}
}

// receive takes a frame.
func (p *peer) receive(h header, body []byte) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.link
	if l == nil {
		return
	}
	begun := false
	switch {
	case h.to == 0 && l.theirs == 0: // a hello
		l.answer, l.reply = h.from, l.mine
		signal(p.wake)
		return
	case h.to == 0 && h.from == l.theirs: // which does not know yet
		l.hurry = true
		signal(p.wake)
		return
	case h.to == 0:
		l.answer, l.reply = h.from, p.offer(h.from)
		signal(p.wake)
		return
	case h.to == l.mine && h.from == l.theirs:
	case h.to == l.mine && l.theirs == 0:
		l.theirs, begun = h.from, true
	case l.theirs != 0 && h.to == p.offer(h.from):
		p.down(errAgain)
		p.begin(h.to, h.from, now)
		l, begun = p.link, true
	default: // of an old session
		return
	}
	if begun {
		p.up()
	}
	room, more := l.take(h, body, now)
	if room {
		p.wakeSenders()
	}
	if more {
		signal(p.mail)
	}
	if l.hurry || l.owed == 1 || l.unsent() {
		signal(p.wake)
	}
}

// push adds a message to what is sent, when there is room for it.
func (p *peer) push(ctx context.Context, message []byte) error {
	var first *link
	for {
		p.mu.Lock()
		l := p.link
		if l == nil || l.theirs == 0 || first != nil && l != first {
			p.mu.Unlock()
			return &transport.UnreachableError{Node: p.name}
		}
		if l.held == 0 || l.held+len(message) <= p.node.opt.Window {
			l.push(message)
			p.mu.Unlock()
			signal(p.wake)
			return nil
		}
		first = l
		room := p.room
		p.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.node.ctx.Done():
			return transport.ErrClosed
		}
	}
}

// flush waits until all that was pushed is acknowledged, or ctx ends.
func (p *peer) flush(ctx context.Context) {
	for {
		p.mu.Lock()
		idle, room := p.link == nil || p.link.idle(), p.room
		p.mu.Unlock()
		if idle {
			return
		}
		select {
		case <-room:
		case <-ctx.Done():
			return
		}
	}
}

// send sends frames, until the end.
func (p *peer) send() {
	n := p.node
	defer n.running.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	short := make([]byte, headerSize)
	for {
		wait := time.Hour
		var f *frame
		var h header
		var buf []byte
		var ctx context.Context
		p.mu.Lock()
		if p.link != nil {
			f, h, wait = p.link.poll(time.Now())
			ctx = p.ctx
		}
		if f != nil {
			buf = f.buf
		}
		p.mu.Unlock()
		if f != nil {
			if buf == nil {
				buf = short
			}
			if h.seq != 0 && f.times == 1 {
				f.sum = crc32.Checksum(buf[headerSize:], castagnoli)
			}
			h.put(buf, f.sum)
			_ = n.t.Send(ctx, p.name, buf) // what is lost is sent again
			if n.ctx.Err() != nil {
				return
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-n.ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// deliver gives messages to the handler, until the end. Those of a session that has ended
// are dropped.
func (p *peer) deliver() {
	n := p.node
	defer n.running.Done()
	for {
		p.mu.Lock()
		var body []byte
		l, ctx := p.link, p.ctx
		if l != nil && len(l.inbox) > 0 {
			body = l.inbox[0]
			l.inbox[0] = nil
			l.inbox = l.inbox[1:]
		}
		p.mu.Unlock()
		if body == nil {
			select {
			case <-n.ctx.Done():
				return
			case <-p.mail:
			}
			continue
		}
		for len(body) > 0 && ctx.Err() == nil {
			var m []byte
			m, body, _ = message(body)
			n.handle(p.name, m)
		}
		now := time.Now()
		p.mu.Lock()
		soon := l.handled(now)
		p.mu.Unlock()
		if soon {
			signal(p.wake)
		}
	}
}
