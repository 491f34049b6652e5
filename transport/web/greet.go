package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// greeter is the part of a node that greets others, and so knows which are there.
type greeter struct {
	*caller
	heard   chan struct{} // capacity 1: there are new strangers
	at      connections   // connections that others have begun, by lifeOf
	second  second        // members.mu guards it
	running sync.WaitGroup
}

// there returns the other nodes that are there, and the digest of all.
func (n *greeter) there() (others map[string]string, known uint64) {
	others, known = n.members.addresses(), digest(n.opt.Name, n.address())
	for name, address := range others {
		known ^= digest(name, address)
	}
	return others, known
}

// greeting returns this node's greeting. If tells is set, it lists the nodes that are there, unless
// known shows that the receiver knows them.
func (n *greeter) greeting(known uint64, tells bool) []byte {
	g := greeting{Name: n.opt.Name, Address: n.address(), Life: n.life, Age: n.age(time.Now())}
	var others map[string]string
	if others, g.Known = n.there(); tells && known != g.Known {
		g.Others = others
	}
	b, err := json.Marshal(g)
	if err != nil {
		panic(err) // the type above can be encoded
	}
	return b
}

// digest returns a number that depends on a node's name and address.
func digest(name, address string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name + "\x00" + address))
	return h.Sum64()
}

// strangersAtOnce is how many strangers are greeted at a time. Most may not exist, and take a
// Timeout each.
const strangersAtOnce = 64

// greetings are the greetings under way. Only the goroutine of greet uses them.
type greetings struct {
	*greeter
	begun     map[string]chan struct{} // by address, closed at the end
	strangers int                      // greetings of strangers
	ended     chan struct{}            // one of these has ended
}

// begin greets an address, unless it was greeted in this round or the greeting is under way. At the
// end it calls then.
func (g *greetings) begin(address string, body []byte, then func()) bool {
	if g.begun[address] != nil || address == g.address() {
		return false
	}
	c := make(chan struct{})
	g.begun[address] = c
	g.running.Go(func() {
		defer close(c)
		g.greetOne(address, body)
		then()
	})
	return true
}

// beginStrangers greets strangers, at most strangersAtOnce at a time.
func (g *greetings) beginStrangers() {
	for g.strangers < strangersAtOnce {
		next := g.members.next(strangersAtOnce - g.strangers)
		if next == nil {
			return
		}
		b := g.greeting(0, false)
		for _, a := range next {
			if g.begin(a, b, func() { g.ended <- struct{}{} }) {
				g.strangers++
			}
		}
	}
}

// round greets all known nodes that are not closed.
func (g *greetings) round() {
	maps.DeleteFunc(g.begun, func(_ string, c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	})
	to := map[string]struct{}{}
	for _, a := range g.opt.Peers {
		to[a] = struct{}{}
	}
	g.members.tick(to)
	b := g.greeting(0, false)
	for a := range to {
		g.begin(a, b, func() {})
	}
	g.beginStrangers()
}

// greet greets all known nodes that are not closed, again and again, until Close; strangers that
// greet, or that others list, at once. A node that does not answer does not delay the others.
func (n *greeter) greet() {
	tick, look := time.NewTicker(n.opt.Greet), time.NewTicker(n.opt.Greet/4+1)
	defer tick.Stop()
	defer look.Stop()
	g := &greetings{greeter: n, begun: map[string]chan struct{}{}, ended: make(chan struct{}, strangersAtOnce)}
	g.round()
	for last := time.Now(); ; {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
			g.round()
		case <-g.ended:
			g.strangers--
			g.beginStrangers()
		case <-n.heard:
			g.beginStrangers()
		case <-look.C:
			now := time.Now()
			n.look(last, now)
			last = now
		}
	}
}

// look notes which nodes have not answered for too long, and drops what is not needed any more.
// last is the time of the call before.
func (n *greeter) look(last, now time.Time) {
	if pause := now.Sub(last); pause > n.opt.Timeout/4+n.opt.Greet {
		n.members.forgive(pause) // this process stood still, and could not hear the others
		if pause > n.opt.Timeout {
			n.renew(now)
		}
	}
	n.members.silent(n.opt.Timeout, fmt.Errorf("it has not answered for %v", n.opt.Timeout), now)
	n.clear()
	n.refusals.look(now)
	n.tidyHosts(now)
	n.members.tidy(n.opt.Timeout, n.to.keys(), now)
}

// clear closes the connections of nodes that have left. Earlier messages of a closed node still
// arrive.
func (n *greeter) clear() {
	for _, d := range n.members.parted() {
		if d.lost {
			n.to.cut(d.address)
			n.at.cut(d.life)
		}
		n.part(d.address)
	}
}

// greetOne greets a node. A missing answer is no error: the node may not be there yet.
//
// A node that joins learns at once of all nodes that are there. Two nodes that join at the same
// time greet a third before that one has met either, and neither learns of the other. So this node
// greets a node that it has just met a second time, with its list: the last of the two learns of
// the first.
func (n *greeter) greetOne(address string, b []byte) {
	met, name, known := false, "", uint64(0)
	answer := func(b []byte) error {
		var g greeting
		if err := json.Unmarshal(b, &g); err != nil {
			return err
		}
		if err := n.shows(address, g.Name); err != nil {
			n.refusals.tell("answer refused", "from", address, err)
			return err
		}
		if g.Name != n.opt.Name {
			var err error
			switch met, err = n.members.answered(&g, address, time.Now()); {
			case errors.Is(err, errUndecided):
				return err
			case err != nil:
				n.refusals.tell("answer refused", "from", address, err)
				return err
			}
			name, known = g.Name, g.Known
			n.keep(address)
		}
		n.told(g.Others)
		return nil
	}
	err := n.post(address, "/v1/greet", b, answer)
	if others, now := n.there(); err == nil && met && len(others) > 1 && known != now {
		err = n.post(address, "/v1/greet", n.greeting(known, true), answer)
	}
	if err != nil {
		n.unanswered(address, err)
	}
	n.clear()
	if x, at := n.members.find(name); x == nil || at != address { // no node is there, or not any more
		n.part(address)
	}
}

// unanswered notes that a greeting had no answer, or a refusal.
func (n *greeter) unanswered(address string, err error) {
	var r *refusal
	switch {
	case n.ctx.Err() != nil:
		return
	case errors.Is(err, syscall.ECONNREFUSED):
		n.members.refused(address, err, time.Now())
	case errors.As(err, &r) && r.first != "":
		if r.taken == n.opt.Name {
			n.yields(address, r.first, time.Now())
			return
		}
		n.refusals.tell("a node refuses all others", "at", address, err)
		if n.members.told(map[string]string{r.taken: r.first}) {
			n.hear()
		}
		return
	case errors.As(err, &r) && r.status == fasthttp.StatusConflict:
		return // the other node is undecided
	}
	n.members.failed(address, err)
	if n.members.onlyGreets(address, n.opt.Timeout/2) {
		n.refusals.tell("a node greets this one and cannot be reached", "at", address, err)
	}
}

// told notes another node's list of nodes.
func (n *greeter) told(others map[string]string) {
	delete(others, n.opt.Name)
	if n.members.told(others) {
		n.hear()
	}
}

// hear wakes greet for new strangers.
func (n *greeter) hear() {
	select {
	case n.heard <- struct{}{}:
	default:
	}
}

// second says that this node is the second of its name, and refuses others for a while.
type second struct {
	why   *takenError
	until time.Time
}

// rival returns why a greeting is refused: its sender has this node's name, or this node has that
// of another one. The error is a *takenError.
func (n *greeter) rival(g *greeting, now time.Time) error {
	n.members.mu.Lock()
	s, began := n.second, n.began
	n.members.mu.Unlock()
	if g.Name == n.opt.Name {
		if g.Life == n.life {
			return nil
		}
		if older(now.Add(-min(max(g.Age, 0), ageMost)), began, g.Life, n.life) {
			if n.members.told(map[string]string{g.Name: g.Address}) { // that node will refuse this one itself
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

// yields notes that this node was refused because another one has its name. If that node itself
// says so, this one refuses others, too, for a while: they may have met it before the first one.
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

// age returns for how long this node counts as there, to compare with others of its name.
func (n *greeter) age(now time.Time) time.Duration {
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	return now.Sub(n.began)
}

// renew makes this node count as new among nodes of its name: it stood still for so long that
// another one may have taken its place.
func (n *greeter) renew(now time.Time) {
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	n.began = now
}
