package web

import (
	"errors"
	"fmt"
	"time"
)

// Two nodes with one name, as of a certificate that was copied to two machines, are an error. The one
// that began first keeps the name, everywhere: by what each says of its age, as clocks differ. The
// other one is refused as long as the first one is there, which is seen as of any node: it answers, or
// refuses connections, or is silent. So one that begins anew at another address is let in as soon as it
// is clear that what it was before has ended.
//
// Whoever refuses a node tells it where the first one is, and it greets that. When the first one has
// told it the same, it refuses others itself.

// rival is a node that has the name of another one, and was seen since.
type rival struct {
	address string
	life    uint64
	began   time.Time
	since   time.Time
}

const (
	// alike is the difference of ages that counts as none: who tells of them takes some time.
	alike = 2 * time.Second
	// ageMost is the greatest age that is believed.
	ageMost = 100 * 365 * 24 * time.Hour
)

var (
	// errOlder is why a node has left.
	errOlder = errors.New("an older node of its name is there")
	// errUndecided is what a rival is told until it is clear whether the other one is there.
	errUndecided = errors.New("another node has had that name, and may still be there")
)

// takenError says that a node has the name of another one.
type takenError struct{ name, first, second string }

func (e *takenError) Error() string {
	return fmt.Sprintf("%s is there already, at %s, and the node of that name at %s is refused: each needs a certificate, or a name, of its own", e.name, e.first, e.second)
}

// older reports whether the one of two nodes of a name began first.
func older(a, b time.Time, lifeA, lifeB uint64) bool {
	if d := a.Sub(b); d.Abs() > alike {
		return d < 0
	}
	return lifeA < lifeB
}

// rivalry decides between a member that is there and another node of its name, at another address. The
// error is a *takenError if that is refused, errOlder if it takes the other one's place, and
// errUndecided as long as nobody knows. The caller holds mu.
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
		m.stranger(address) // it has to answer there before it takes anybody's place
	}
	switch {
	case !x.answered.After(r.since): // it is greeted all the time
		return errUndecided
	case !older(r.began, x.began, life, x.life):
		return &takenError{x.name, x.address, address}
	case !answers:
		return errUndecided
	}
	return fmt.Errorf("%w: it is at %s, and this one at %s", errOlder, address, x.address)
}

// second is why a node refuses others: it has the name of another one, that was there just now.
type second struct {
	why   *takenError
	until time.Time
}

// rival returns why a greeting is refused: its sender has this node's name, or this node has that of
// another one. The error is a *takenError.
func (n *greeter) rival(g *greeting, now time.Time) error {
	n.members.mu.Lock()
	s, began := n.second, n.began
	n.members.mu.Unlock()
	if g.Name == n.opt.Name {
		if g.Life == n.life {
			return nil
		}
		if older(now.Add(-min(max(g.Age, 0), ageMost)), began, g.Life, n.life) {
			if n.members.told(map[string]string{g.Name: g.Address}) { // it will say so itself
				n.hear()
			}
			return nil
		}
		return &takenError{n.opt.Name, n.address(), g.Address}
	}
	if now.Before(s.until) {
		return s.why
	}
	return nil
}

// yields notes that this node was refused, because another one of its name is there. If that has said
// so itself, this one refuses others, too, for a while: of the two they may have met it first.
func (n *greeter) yields(by, first string, now time.Time) {
	why := &takenError{n.opt.Name, first, n.address()}
	n.refusals.tell("this node is refused", "at", by, why)
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	if by == first {
		if n.opt.TLS == nil || n.members.shown[by] != nil && speaks(n.members.shown[by].name, n.opt.Name) {
			n.second = second{why, now.Add(n.opt.Timeout)}
		}
	} else if n.members.stranger(first) {
		n.hear()
	}
}

// age returns for how long this node counts as there, for others of its name.
func (n *greeter) age(now time.Time) time.Duration {
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	return now.Sub(n.began)
}

// begin has this node count as new, for others of its name: it stood still for so long that another
// one may have taken its place.
func (n *greeter) begin(now time.Time) {
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	n.began = now
}
