package faulty

import (
	"bytes"
	"container/heap"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// room is how many messages may be on their way to a node.
const room = 64

// link is the way of messages from a node to another one. A goroutine sends them on when
// their time has come.
type link struct {
	from *node
	to   string
	room chan struct{} // has an element for each message on its way
	news chan struct{} // capacity 1: flight has a new first message

	mu      sync.Mutex // a leaf; guards what follows
	fates   *rand.Rand // of messages
	fetches *rand.Rand // of fetches
	flight  flight
	latest  time.Time // when the latest message that was not held back goes on
	count   uint64
}

// packet is a message on its way.
type packet struct {
	message []byte
	due     time.Time
	number  uint64 // of those with one time
	copy    bool   // that has no place in room
}

// flight is a heap of packets.
type flight []packet

func (f flight) Len() int { return len(f) }
func (f flight) Less(i, j int) bool {
	if f[i].due.Equal(f[j].due) {
		return f[i].number < f[j].number
	}
	return f[i].due.Before(f[j].due)
}
func (f flight) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *flight) Push(p any)   { *f = append(*f, p.(packet)) }
func (f *flight) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

func newLink(x *node, to string) *link {
	h := fnv.New64a()
	h.Write([]byte(x.Self() + "\x00" + to))
	seed := x.port.net.opt.Seed
	return &link{from: x, to: to, room: make(chan struct{}, room), news: make(chan struct{}, 1),
		fates: rand.New(rand.NewPCG(seed, h.Sum64())), fetches: rand.New(rand.NewPCG(seed, ^h.Sum64()))}
}

// add puts a message on its way, and waits while too many are.
func (l *link) add(ctx context.Context, message []byte) error {
	select {
	case l.room <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.from.ctx.Done():
		return transport.ErrClosed
	}
	opt, c := &l.from.port.net.opt, &l.from.port.net.counts
	c.messages.Add(1)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	// All is drawn for each message, so that its fate depends on nothing else.
	lost, double := l.fates.Float64() < opt.Loss, l.fates.Float64() < opt.Double
	reorder, damage := l.fates.Float64() < opt.Reorder, l.fates.Float64() < opt.Damage
	delay, back := time.Duration(l.fates.Float64()*float64(opt.Delay)), l.fates.Float64()
	again, where := l.fates.Float64(), l.fates.Uint64()
	if lost {
		c.lost.Add(1)
		<-l.room
		return nil
	}
	message = bytes.Clone(message)
	late := func(share float64) time.Time {
		return now.Add(delay + time.Duration(share*float64(2*opt.Delay+2*time.Millisecond)))
	}
	if double {
		c.doubled.Add(1)
		l.push(packet{message: bytes.Clone(message), due: late(again), copy: true})
	}
	if damage && len(message) > 0 {
		c.damaged.Add(1)
		message = spoil(message, where)
	}
	p := packet{message: message, due: now.Add(delay)}
	if reorder {
		c.reordered.Add(1)
		p.due = late(back)
	} else {
		if p.due.Before(l.latest) {
			p.due = l.latest
		}
		l.latest = p.due
	}
	l.push(p)
	return nil
}

// spoil changes a byte of a message, or cuts off its end.
func spoil(b []byte, where uint64) []byte {
	i := int(where >> 16 % uint64(len(b)))
	if where&7 == 0 {
		return b[:i]
	}
	b[i] ^= 1 << (where >> 3 & 7)
	return b
}

// push puts a packet on its way. The caller holds mu.
func (l *link) push(p packet) {
	l.count++
	p.number = l.count
	heap.Push(&l.flight, p)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// next returns the packet whose time has come, or how long the first one still takes.
func (l *link) next() (p packet, ok bool, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.flight) == 0 {
		return p, false, time.Hour
	}
	if wait = time.Until(l.flight[0].due); wait > 0 {
		return p, false, wait
	}
	return heap.Pop(&l.flight).(packet), true, 0
}

// run sends messages on, until the sender is closed, or has crashed and nothing of it is on
// its way any more.
func (l *link) run() {
	x, p := l.from, l.from.port
	defer p.running.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		m, ok, wait := l.next()
		if !ok {
			ended := x.ctx.Done()
			if x.ctx.Err() != nil {
				if l.empty() {
					return
				}
				ended = nil
			}
			timer.Reset(wait)
			select {
			case <-p.ctx.Done():
				return
			case <-ended:
			case <-l.news:
			case <-timer.C:
			}
			continue
		}
		w, err := p.net.await(p.ctx, x.Self(), l.to)
		if err == nil && w == open {
			err = p.below.Send(p.ctx, l.to, m.message)
		}
		if err != nil || w == shut {
			p.net.counts.cutOff.Add(1)
		}
		if !m.copy {
			<-l.room
		}
		if p.ctx.Err() != nil {
			return
		}
	}
}

// empty reports whether nothing is on its way.
func (l *link) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.flight) == 0
}

// fetchFate draws whether a fetch is lost, and after how many bytes it is torn; 0 means
// that it is whole.
func (l *link) fetchFate() (lost bool, torn int) {
	opt := &l.from.port.net.opt
	l.mu.Lock()
	defer l.mu.Unlock()
	lost = l.fetches.Float64() < opt.FetchLoss
	damage, n := l.fetches.Float64() < opt.FetchDamage, 1+l.fetches.IntN(64<<10)
	if damage {
		torn = n
	}
	return lost, torn
}
