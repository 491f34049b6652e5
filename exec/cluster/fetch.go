package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// fetcher brings versions from other nodes.
type fetcher struct {
	values
	all   *fetching
	ctx   context.Context // the end of all fetches
	end   context.CancelFunc
	meter *meter
	count sync.WaitGroup // of fetchers, and of what is brought into the program's memory

	fetches  []fetch   // to be begun, in turn; mu guards it and what follows
	fetchers int       // goroutines that do so
	resting  int       // of these, those that have nothing to do
	more     sync.Cond // there is something to do, or the store is closed
}

// fetching is what all fetchers of a node share: how many fetches there are at once, and
// which nodes have left.
type fetching struct {
	tokens chan struct{}

	mu   sync.Mutex // a leaf
	left map[string]bool
	vain map[string]time.Time // when nodes that have not left were waited for in vain
	idle map[string]time.Time // when nothing came from nodes that can be reached
	news chan struct{}        // closed when there is one more in left or vain
}

// fetches is how many values a node fetches at once. Not measured.
const fetches = 8

// leftMost is how many nodes that have left are remembered. Others are waited for in vain.
const leftMost = 1000

func newFetching() *fetching {
	return &fetching{tokens: make(chan struct{}, fetches), left: map[string]bool{}, vain: map[string]time.Time{}, idle: map[string]time.Time{}, news: make(chan struct{})}
}

// event notes that a node has come or gone.
func (f *fetching) event(e transport.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.vain, e.Node)
	delete(f.idle, e.Node)
	if e.Joined {
		delete(f.left, e.Node)
		return
	}
	bound(f.left)
	f.left[e.Node] = true
	f.tell()
}

// bound makes room for one more.
func bound[V any](nodes map[string]V) {
	for other := range nodes {
		if len(nodes) < leftMost {
			break
		}
		delete(nodes, other)
	}
}

// tell tells those who wait for nodes that there is news. The caller holds mu.
func (f *fetching) tell() {
	close(f.news)
	f.news = make(chan struct{})
}

// waited notes that nodes were waited for in vain: others need not do so, too, for a while. A node
// that came when another one had gone never hears that it left.
func (f *fetching) waited(nodes []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range nodes {
		bound(f.vain)
		f.vain[node] = time.Now()
	}
	f.tell()
}

// stalls notes that nothing comes from a node, which can be reached.
func (f *fetching) stalls(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bound(f.idle)
	f.idle[node] = time.Now()
}

// stalled returns why a node is not asked, if nothing came from it just before. What waits meanwhile
// for its turn need not wait for a Timeout of its own.
func (f *fetching) stalled(node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, idle := f.idle[node]
	if idle && time.Since(since) < vainTime {
		return &transport.UnreachableError{Node: node, Err: &transport.StalledError{Node: node}}
	}
	return nil
}

// gone reports whether a node has left, or was just waited for in vain; news is closed when
// that is so of another one.
func (f *fetching) gone(node string) (left bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, vain := f.vain[node]
	return f.left[node] || vain && time.Since(since) < vainTime, f.news
}

// vainTime is how long nobody waits for a node that was waited for in vain. Not measured.
const vainTime = time.Second

// fetch is a version to be brought, under its name or another one.
type fetch struct {
	h       *held
	r, name transport.Ref
	from    givers
	old     transport.Ref // whose memory it comes into; none if it has no version
}

// fetch has a version brought, which those who wait for it are told of. As many goroutines
// do so as are of use: a goroutine for each would cost more than to fetch a small value.
func (s *fetcher) fetch(f fetch) {
	s.mu.Lock()
	s.fetches = append(s.fetches, f)
	more := len(s.fetches) > s.resting && s.fetchers < cap(s.all.tokens)
	if more {
		s.fetchers++
		s.count.Add(1)
	} else {
		s.more.Signal()
	}
	s.mu.Unlock()
	if more {
		go s.fetchAll()
	}
}

// fetchAll brings what is to be brought, until the store is closed.
func (s *fetcher) fetchAll() {
	defer s.count.Done()
	for {
		s.mu.Lock()
		for len(s.fetches) == 0 {
			if s.ctx.Err() != nil {
				s.mu.Unlock()
				return
			}
			s.fetches = nil
			s.resting++
			s.more.Wait()
			s.resting--
		}
		f := s.fetches[0]
		s.fetches = s.fetches[1:]
		s.mu.Unlock()
		if f.old != (transport.Ref{}) {
			s.takesBack(f.old)
		}
		c, err := s.copy(f.h.value.(versions.Value), f.name, f.from)
		if err == nil {
			s.publish(f.r, f.h.value)
		} else {
			s.through.Drop(f.r) // others may wait for it here
		}
		s.came(f.h, f.r, c, err)
	}
}

// came tells those who wait for a datum that it is there, and how it came, or why not.
func (s *fetcher) came(h *held, r transport.Ref, c came, err error) {
	s.mu.Lock()
	wants := h.wants
	h.on, h.err, h.wants = false, err, nil
	now := s.held[datum(r)]
	gone := now != h && (now == nil || now.ref != r || now.err != nil) // nobody has this version here
	if h.apart {
		s.grows(-bytesOf(h.value))
		err = cmp.Or(err, errNothing)
	}
	s.mu.Unlock()
	if gone {
		s.through.Drop(r)
	}
	c.Ref = r
	for _, w := range wants {
		w.got(c, err)
	}
}

// copy copies a version into a value: from here, or from a node that has it, and says which.
func (s *fetcher) copy(into versions.Value, r transport.Ref, from givers) (c came, err error) {
	s.overwrites(into)
	if s.values.copy(into, r) {
		return c, nil
	}
	first := ""
	for _, node := range from.From {
		if node != s.through.Self() {
			first = node
			break
		}
	}
	s.meter.awaits(originOf(first, r))
	giver, since, err := s.give(into, r, from)
	return s.meter.fetched(originOf(first, r), giver, into.Bytes(), since), err
}

// fetchError says that nobody could give a version.
type fetchError struct {
	cut   []string // could not be reached, or nothing right came from there
	lacks []string // do not have it
	err   error    // of the last one
}

func (e *fetchError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *fetchError) Unwrap() error { return e.err }

// missingFrom returns what an error says of a version that did not come.
func missingFrom(r transport.Ref, err error) missing {
	m := missing{Ref: r}
	if f := (*fetchError)(nil); errors.As(err, &f) {
		m.Cut, m.Lacks = f.cut, f.lacks
	}
	return m
}

// give has the first of some nodes that can give a version, and says which, and since when.
// A node that cannot be reached may be one that this node is yet to meet, of which the driver
// knows already: it is asked again for a while, unless it has left. So is one from which something
// wrong came. One from which nothing comes for a Timeout is not, and others do not ask it either for
// a while. The error is a *fetchError, or the end of the store.
func (s *fetcher) give(into versions.Value, r transport.Ref, from givers) (giver string, since time.Time, err error) {
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		var news <-chan struct{}
		var coming []string // they may be met soon
		failed := &fetchError{err: &transport.NotHereError{Ref: r}}
		for i, node := range from.From {
			if node == s.through.Self() {
				continue
			}
			soon := time.Duration(0)
			if from.Soon && i == 0 && wait == time.Millisecond {
				soon = soonMost
			}
			if since, err = s.ask(node, r, soon, into); err == nil {
				return node, since, nil
			}
			var unreachable *transport.UnreachableError
			var wrong *transport.ChecksumError
			var stalled *transport.StalledError
			var left bool
			left, news = s.all.gone(node)
			cut := errors.As(err, &unreachable) || errors.As(err, &wrong)
			switch {
			case errors.As(err, &stalled):
				if stalled.For > 0 { // or else another one has seen it
					s.all.stalls(node)
				}
			case cut && !left:
				coming = append(coming, node)
			}
			if failed.err = err; cut {
				failed.cut = append(failed.cut, node)
			} else {
				failed.lacks = append(failed.lacks, node)
			}
		}
		late := wait > patience || time.Since(began) > 2*patience
		if late {
			s.all.waited(coming)
		}
		if s.ctx.Err() != nil {
			return "", since, context.Cause(s.ctx)
		}
		if len(coming) == 0 || late {
			return "", since, failed
		}
		select {
		case <-time.After(wait):
		case <-news:
		case <-s.ctx.Done():
			return "", since, context.Cause(s.ctx)
		}
	}
}

// ask fetches a version from a node, when its turn has come, and says since when. If the
// node is about to have it, it is waited for so long.
func (s *fetcher) ask(node string, r transport.Ref, soon time.Duration, into versions.Value) (since time.Time, err error) {
	select {
	case s.all.tokens <- struct{}{}:
		defer func() { <-s.all.tokens }()
	case <-s.ctx.Done():
		return since, context.Cause(s.ctx)
	}
	if err := s.all.stalled(node); err != nil { // as another one has just seen
		return since, err
	}
	since = time.Now()
	if soon == 0 {
		return since, s.through.Fetch(s.ctx, node, r, 0, into)
	}
	to := &timed{into, since}
	err = s.through.Fetch(s.ctx, node, r, soon, to)
	return to.began, err
}

// soonMost is how long a node waits at another one for what that is about to fetch.
const soonMost = 2 * time.Second

// timed is a value that notes when it begins to come.
type timed struct {
	versions.Value
	began time.Time
}

// Decode implements [versions.Value].
func (t *timed) Decode(r io.Reader) error {
	t.began = time.Now()
	return t.Value.Decode(r)
}

// patience bounds, by half, how long a node waits for one that others say is there.
const patience = 500 * time.Millisecond
