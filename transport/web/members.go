package web

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// members are the nodes that this one knows. Times are handed in.
type members struct {
	mu     sync.Mutex // a leaf, but for that of events
	byName map[string]*member
	rumour map[string]struct{} // addresses that others have told since the last greetings of all
	shown  map[string]string   // by address, the name in the certificate that was shown last
	events *transport.Events
}

// member is another node. It is there while it answers: that it greets says only that it
// reaches this one, and what is to be sent to it would wait for ever.
type member struct {
	name, address string
	life          uint64    // a number that it has taken at its start
	answered      time.Time // its last answer
	greeted       time.Time // its last greeting
	since         time.Time // when it was met, or left
	there         bool
	over          bool // it has said that it goes: what it has answered before may come later
	refusals      int  // of connections with it since its last answer

	// turn is held by who sends it a message: they come in order.
	turn sync.Mutex
	sent uint64 // messages
	// taken is the number of the last message that it has sent and this node has
	// taken; inbox its messages. members.mu guards both.
	taken uint64
	inbox chan []byte
}

func newMembers() *members {
	return &members{byName: map[string]*member{}, rumour: map[string]struct{}{}, shown: map[string]string{}, events: transport.NewEvents()}
}

// answered notes that a node has answered, so that it is there, and reports whether it was not.
func (m *members) answered(name, address string, life uint64, now time.Time) (met bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.known(name, address, life, now)
	x.answered, x.refusals = now, 0
	if met = !x.there && !x.over; met {
		x.there = true
		m.events.Add(transport.Event{Node: name, Joined: true})
	}
	return met
}

// greeted notes that a node has greeted, and reports whether it is there.
func (m *members) greeted(name, address string, life uint64, now time.Time) (there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.known(name, address, life, now)
	x.greeted = now
	return x.there
}

// onlyGreets reports whether a node at an address greets, for longer than a time, and is not
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

// known returns the member of a name, another one if it has begun a new life. The caller
// holds mu.
func (m *members) known(name, address string, life uint64, now time.Time) *member {
	x := m.byName[name]
	if x != nil && x.life != life && x.there {
		m.left(x, errAnew, now)
	}
	if x == nil || x.life != life {
		x = &member{name: name, life: life, since: now}
		m.byName[name] = x
	}
	x.address = address
	return x
}

// errAnew is why a node has left that did not say so.
var errAnew = errors.New("it has begun anew")

// left notes that a node has gone. The caller holds mu.
func (m *members) left(x *member, why error, now time.Time) {
	x.there, x.since = false, now
	m.events.Add(transport.Event{Node: x.name, Err: why})
}

// gone notes that a node says that it goes.
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
}

// forgive notes that nobody could be heard for some time.
func (m *members) forgive(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		x.answered = x.answered.Add(d)
	}
}

// met notes which certificate was shown at an address. The error says that another node is
// there at that address.
func (m *members) met(address, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		if x.there && x.address == address && !speaks(name, x.name) {
			return fmt.Errorf("%s is at the address of %s", name, x.name)
		}
	}
	m.shown[address] = name
	return nil
}

// who returns the name in the certificate that was shown at an address.
func (m *members) who(address string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown[address]
}

// silent notes which nodes have not answered for a time, and returns their addresses.
func (m *members) silent(timeout time.Duration, why error, now time.Time) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := map[string]string{}
	for name, x := range m.byName {
		if x.there && now.Sub(x.answered) > timeout {
			m.left(x, why, now)
			left[name] = x.address
		}
	}
	return left
}

// refused notes that nobody listens at an address, and returns the names of those who have
// left therefore: a node that is stopped or cut off does not answer, a process that has ended
// has its machine refuse. One refusal may have come from what is between.
func (m *members) refused(address string, why error, now time.Time) (left []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, x := range m.byName {
		if !x.there || x.address != address {
			continue
		}
		if x.refusals++; x.refusals > 1 {
			m.left(x, why, now)
			left = append(left, name)
		}
	}
	return left
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

// rumourMost is how many addresses a node keeps that others have told. One that lies can not
// fill its memory.
const rumourMost = 10_000

// told notes what another node says who is there, and reports whether there is news.
func (m *members) told(others map[string]string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.rumour)
	for name, address := range others {
		if m.byName[name] == nil && len(m.rumour) < rumourMost {
			m.rumour[address] = struct{}{}
		}
	}
	return len(m.rumour) > before
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

// rumours adds to some addresses those that others have told since greets was last called. They
// stay, so that there are not more of them in that time.
func (m *members) rumours(to map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for a := range m.rumour {
		to[a] = struct{}{}
	}
}

// greets adds to some addresses those of all nodes that were ever there, and of those that
// others have told of since it was last called.
func (m *members) greets(to map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.byName {
		to[x.address] = struct{}{}
	}
	for a := range m.rumour {
		to[a] = struct{}{}
	}
	clear(m.rumour)
}
