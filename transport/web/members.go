package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// members are the nodes that this one knows. Times are arguments.
//
// A node with a valid certificate cannot fill the memory of another, nor make it dial without end:
// all information from other nodes is bounded, and old entries are dropped.
type members struct {
	mu     sync.Mutex // a leaf, but for that of events
	byName map[string]*member
	// strangers are addresses at which no node is known to be there: of members, and from other
	// nodes' lists. They are greeted once between two ticks; true means that they were.
	strangers map[string]bool
	shown     map[string]*shown // by address
	rivals    map[string]*rival // by the name that both nodes have
	departed  []departure       // since parted was called last
	events    *transport.Events
}

// greeting is the body of a greeting and of its answer.
type greeting struct {
	Name    string
	Address string
	Life    uint64
	Age     time.Duration     // since the sender began
	Known   uint64            // the digest of the nodes that the sender sees
	Others  map[string]string // names and addresses of these, if the receiver may not know them
}

// lifeOf returns the key of connections with one life of a node.
func lifeOf(name string, life uint64) string { return name + " " + strconv.FormatUint(life, 10) }

// departure is a node that has left, whose connections are to be closed.
type departure struct {
	address string
	life    string // lifeOf
	lost    bool   // it has left without saying so
}

// shown is the certificate that was shown last at an address.
type shown struct {
	name string
	used time.Time // time of the last connection
}

const (
	// strangersMost bounds the addresses from other nodes.
	strangersMost = 10_000
	// addressMost is the longest address. One with a comma is a list for package fasthttp.
	addressMost = 300
	// namesMost bounds the known names of one certificate, including those of closed nodes.
	namesMost = 1000
	// overFor is for how many Timeouts a closed node is remembered. Its earlier messages arrive
	// within one of them, as no greeting takes longer. A node that still tells others of it notices
	// within one more.
	overFor = 4
	// shutFor is for how many Timeouts a node counts as absent that answers but receives no
	// messages.
	shutFor = 10
	// goneFor is for how many Timeouts other absent nodes are remembered and greeted, as the
	// network may heal.
	goneFor = 100
)

// member is another node. It is there while it answers greetings: its own greetings only show that
// it reaches this one, and messages to it might wait for ever.
//
//	greeted ──► answered ──► there ──► silent, refused twice, or shut: absent, greeted again
//	                           └─────► gone: over, forgotten after overFor Timeouts
type member struct {
	name, address string
	life          uint64    // a random number chosen at its start
	answered      time.Time // its last answer
	greeted       time.Time // its last greeting
	began         time.Time // when it began, by its own account
	since         time.Time // time of the first meeting, or of its leaving
	there         bool
	over          bool      // it has said that it is closed; earlier answers may still arrive
	refusals      int       // refused connections since its last answer
	shut          time.Time // until when it counts as absent, as nothing reaches it
	failed        error     // why the last greeting was not answered; nil if it was

	// turn is held by the goroutine that sends it a message, so that messages keep their order. It
	// guards way.
	turn sync.Mutex
	way  way // nil if nothing was sent to it

	// joins counts how often it has joined, taken is the number of its last message that this node
	// has taken, and comes the latest connection for its messages. members.mu guards all.
	joins, taken uint64
	comes        *inbound
	forgotten    bool
}

// inbound is a connection over which messages arrive.
type inbound struct {
	net.Conn
	over  chan struct{} // closed when no message from it is being handled any more
	moved atomic.Uint64 // bytes received, with waitsBit while the reader waits for more
}

// waitsBit is set in inbound.moved while the reader waits for more.
const waitsBit = 1 << 63

// counted counts the bytes received over an inbound.
type counted struct {
	io.Reader
	in *inbound
}

// Read implements [io.Reader].
func (c *counted) Read(b []byte) (int, error) {
	c.in.moved.Or(waitsBit)
	n, err := c.Reader.Read(b)
	c.in.moved.Store(c.in.moved.Load()&^waitsBit + uint64(n))
	return n, err
}

// way carries messages to a member until it leaves.
type way interface {
	send(ctx context.Context, turn uint64, message []byte) error
	prompt() bool // send would not wait
	over() bool
}

func newMembers() *members {
	return &members{byName: map[string]*member{}, strangers: map[string]bool{}, shown: map[string]*shown{},
		rivals: map[string]*rival{}, events: transport.NewEvents()}
}

// answered notes that a node has answered at an address, so that it is there, and reports whether
// it was absent before. The error says that its certificate has too many names, or is rivalry's.
func (m *members) answered(g *greeting, address string, now time.Time) (met bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, err := m.known(g, address, true, now)
	if err != nil {
		return false, err
	}
	x.answered, x.refusals, x.failed = now, 0, nil
	if met = !x.there && !x.over && now.After(x.shut); met {
		x.there = true
		x.joins++
		m.events.Add(transport.Event{Node: g.Name, Joined: true})
	}
	return met, nil
}

// greeted notes that a node has greeted, and reports whether it is to be greeted in turn. The error
// is that of answered. A node seen at that address that claims to have begun anew must answer there
// first.
func (m *members) greeted(g *greeting, now time.Time) (stranger bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.byName[g.Name]; x != nil && x.there && x.life != g.Life && x.address == g.Address {
		return m.stranger(g.Address), nil
	}
	x, err := m.known(g, g.Address, false, now)
	if err != nil {
		return errors.Is(err, errUndecided), err
	}
	x.greeted = now
	if now.Before(x.shut) { // it must not count this node as there
		return false, fmt.Errorf("what is sent to %.100q does not reach it", g.Name)
	}
	return !x.there && !x.over && m.stranger(g.Address), nil
}

// onlyGreets reports whether a node at an address has greeted for longer than a time without being
// there.
func (m *members) onlyGreets(address string, longer time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if x.address == address && !x.there && x.greeted.Sub(x.since) > longer {
			return true
		}
	}
	return false
}

// meets reports whether a node that is not there yet has greeted.
func (m *members) meets(name string, life uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.byName[name]
	return x != nil && x.life == life && !x.there
}

// known returns the member with a name, a new one if the node has begun a new life. answers says
// that it has answered at the address, and does not only claim to be there. The error is that of
// answered. The caller holds mu.
func (m *members) known(g *greeting, address string, answers bool, now time.Time) (*member, error) {
	x, name := m.byName[g.Name], g.Name
	if x == nil {
		node, _ := nodeOf(name)
		names := 0
		for other := range m.byName {
			if of, _ := nodeOf(other); of == node {
				names++
			}
		}
		if names >= namesMost {
			return nil, fmt.Errorf("%s has %d names already, and no place for %.100q", node, names, name)
		}
	}
	began := now.Add(-min(max(g.Age, 0), ageMost))
	if x != nil && x.life != g.Life {
		why := errAnew
		if x.there && x.address != address {
			if why = m.rivalry(x, g.Life, address, began, answers, now); !errors.Is(why, errOlder) {
				return nil, why
			}
		}
		if x.there {
			m.left(x, why, now)
		}
		m.forget(x)
		x = nil
	}
	if x == nil {
		x = &member{name: name, life: g.Life, since: now, began: began}
		m.byName[name] = x
		delete(m.rivals, name)
	}
	x.address = address
	if began.Before(x.began) { // an earlier estimate was too late
		x.began = began
	}
	return x, nil
}

// rivalry decides between a member that is there and another node with its name at another address.
// The error is a *takenError if the other node is refused, errOlder if it takes the member's place,
// and errUndecided until that is clear. The caller holds mu.
func (m *members) rivalry(x *member, life uint64, address string, began time.Time, answers bool, now time.Time) error {
	r := m.rivals[x.name]
	if r == nil || r.life != life {
		r = &rival{life: life, began: began, since: now}
		m.rivals[x.name] = r
	}
	if r.address = address; began.Before(r.began) {
		r.began = began
	}
	if !answers {
		m.stranger(address) // it must answer there before it takes a place
	}
	switch {
	case !x.answered.After(r.since): // the member is greeted all the time
		return errUndecided
	case !older(r.began, x.began, life, x.life):
		return &takenError{x.name, x.address, address}
	case !answers:
		return errUndecided
	}
	return fmt.Errorf("%w: it is at %s, and this one at %s", errOlder, address, x.address)
}

// forget removes an absent member. The caller holds mu.
func (m *members) forget(x *member) {
	delete(m.byName, x.name)
	delete(m.rivals, x.name)
	x.forgotten = true
}

// takes reports whether message number turn of a member is to be handled, and whether further ones
// may be. Messages that a closed node has sent before are.
func (m *members) takes(x *member, turn uint64) (this, others bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.forgotten || !x.there && !x.over {
		return false, false
	}
	if turn <= x.taken { // it arrived before, over another connection
		return false, true
	}
	x.taken = turn
	return true, true
}

// takenOf returns the number of the last message of a member that this node has taken.
func (m *members) takenOf(x *member) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return x.taken
}

// tidy removes nodes that have been closed or absent for long, and certificates of addresses
// without a present connection, in connected, and without one for so long that every answer over
// one has been read.
func (m *members) tidy(timeout time.Duration, connected map[string]bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		heard := x.since
		if x.greeted.After(heard) {
			heard = x.greeted
		}
		if x.over && now.Sub(x.since) > overFor*timeout || !x.there && now.Sub(heard) > goneFor*timeout {
			m.forget(x)
		}
	}
	for address, x := range m.shown {
		if connected[address] {
			x.used = now
		} else if now.Sub(x.used) > 2*timeout {
			delete(m.shown, address)
		}
	}
}

// errAnew is the reason of a leaving that shows only by the node's new life.
var errAnew = errors.New("it has begun anew")

// left notes that a node has left. The caller holds mu.
func (m *members) left(x *member, why error, now time.Time) {
	x.there, x.since = false, now
	m.departed = append(m.departed, departure{x.address, lifeOf(x.name, x.life), why != nil})
	m.events.Add(transport.Event{Node: x.name, Err: why})
}

// parted returns the nodes that have left since the last call.
func (m *members) parted() []departure {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.departed
	m.departed = nil
	return all
}

// shut notes that no message reaches a node, though it answers short requests. For some time it
// counts as absent here, and this node there.
func (m *members) shut(x *member, why error, now time.Time, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x.shut = now.Add(d)
	if x.there {
		m.left(x, why, now)
	}
}

// gone notes that a node has said that it is closed.
func (m *members) gone(name string, life uint64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.byName[name]
	if x == nil || x.life != life {
		return
	}
	if x.over = true; x.there {
		m.left(x, nil, now)
	}
	x.since = now
}

// forgive excuses a time in which this process could hear no node.
func (m *members) forgive(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		x.answered = x.answered.Add(d)
	}
}

// met notes the certificate shown at an address. The error says that another node is at that
// address.
func (m *members) met(address, name string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if x.there && x.address == address && !speaks(name, x.name) {
			return fmt.Errorf("%s is at the address of %s", name, x.name)
		}
	}
	m.shown[address] = &shown{name, now}
	return nil
}

// shownName returns the name in the certificate that was shown at an address.
func (m *members) shownName(address string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.shown[address]; x != nil {
		return x.name
	}
	return ""
}

// silent notes that nodes have left that have not answered for a timeout. why is the reason if none
// is known.
func (m *members) silent(timeout time.Duration, why error, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if x.there && now.Sub(x.answered) > timeout {
			this := why
			if x.failed != nil {
				this = fmt.Errorf("%w: %w", why, x.failed)
			}
			m.left(x, this, now)
		}
	}
}

// failed notes why a greeting has not reached the nodes at an address.
func (m *members) failed(address string, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if x.address == address {
			x.failed = why
		}
	}
}

// refused notes that no process listens at an address. A second time means that the node has left:
// a stopped or cut-off node does not answer, but the machine of an ended process refuses. A single
// refusal may come from a device between.
func (m *members) refused(address string, why error, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if !x.there || x.address != address {
			continue
		}
		if x.refusals++; x.refusals > 1 {
			m.left(x, why, now)
		}
	}
}

// there returns the nodes that are there.
func (m *members) there() (all []*member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if x.there {
			all = append(all, x)
		}
	}
	return all
}

// find returns a node that is there, nil if it is not, and its address.
func (m *members) find(name string) (x *member, address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x = m.byName[name]; x == nil || !x.there {
		return nil, ""
	}
	return x, x.address
}

// told notes another node's list of nodes, and reports whether it has new addresses.
func (m *members) told(others map[string]string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := false
	for name, address := range others {
		x := m.byName[name]
		if (x == nil || x.there && x.address != address) && m.stranger(address) {
			news = true
		}
	}
	return news
}

// stranger adds an address to be greeted before the next tick, and reports whether it is new. The
// caller holds mu.
func (m *members) stranger(address string) bool {
	if _, _, err := net.SplitHostPort(address); err != nil || len(address) > addressMost ||
		strings.Contains(address, ",") {
		return false
	}
	if _, ok := m.strangers[address]; ok || len(m.strangers) >= strangersMost {
		return false
	}
	m.strangers[address] = false
	return true
}

// addresses returns the addresses of all nodes that are there, by name.
func (m *members) addresses() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string]string, len(m.byName))
	for name, x := range m.byName {
		if x.there {
			all[name] = x.address
		}
	}
	return all
}

// next returns at most most strangers that were not greeted since the last tick.
func (m *members) next(most int) (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for a, greeted := range m.strangers {
		if len(all) >= most {
			break
		}
		if !greeted {
			m.strangers[a] = true
			all = append(all, a)
		}
	}
	return all
}

// tick adds the addresses of the nodes that are there to to, and makes the others that may come
// again strangers. Strangers that were greeted in vain are dropped.
func (m *members) tick(to map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.strangers, func(_ string, greeted bool) bool { return greeted })
	for _, x := range m.byName {
		switch {
		case x.there:
			to[x.address] = struct{}{}
		case !x.over:
			m.strangers[x.address] = false
		}
	}
}
