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
	shared *sharedFetches
	ctx    context.Context // the end of all fetches
	end    context.CancelFunc
	meter  *meter
	count  sync.WaitGroup // of fetchers, and of what is brought into the program's memory

	fetches  []fetch   // to be begun, in turn; mu guards it and what follows
	fetchers int       // goroutines that do so
	resting  int       // of these, those that have nothing to do
	more     sync.Cond // there is something to do, or the store is closed
}

// sharedFetches is what all fetchers of a node share: how many fetches there are at once, and
// which nodes have left.
type sharedFetches struct {
	tokens chan struct{}

	mu        sync.Mutex // a leaf
	left      map[string]bool
	unmet     map[string]time.Time // when nodes that have not left were waited for in vain
	stalledAt map[string]time.Time // when nothing came from nodes that can be reached
	news      chan struct{}        // closed when there is one more in left or vain
}

// maxFetches is how many values a node fetches at once. Not measured.
const maxFetches = 8

// maxRemembered is how many nodes that have left are remembered. Others are waited for in vain.
const maxRemembered = 1000

func newSharedFetches() *sharedFetches {
	return &sharedFetches{tokens: make(chan struct{}, maxFetches), left: map[string]bool{}, unmet: map[string]time.Time{}, stalledAt: map[string]time.Time{}, news: make(chan struct{})}
}

// event notes that a node has come or gone.
func (f *sharedFetches) event(e transport.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.unmet, e.Node)
	delete(f.stalledAt, e.Node)
	if e.Joined {
		delete(f.left, e.Node)
		return
	}
	makeRoom(f.left)
	f.left[e.Node] = true
	f.notify()
}

// makeRoom makes room for one more.
func makeRoom[V any](nodes map[string]V) {
	for other := range nodes {
		if len(nodes) < maxRemembered {
			break
		}
		delete(nodes, other)
	}
}

// notify tells those who wait for nodes that there is news. The caller holds mu.
func (f *sharedFetches) notify() {
	close(f.news)
	f.news = make(chan struct{})
}

// noteUnmet notes that nodes were waited for in vain: others need not do so, too, for a while. A node
// that came when another one had gone never hears that it left.
func (f *sharedFetches) noteUnmet(nodes []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range nodes {
		makeRoom(f.unmet)
		f.unmet[node] = time.Now()
	}
	f.notify()
}

// noteStall notes that nothing comes from a node, which can be reached.
func (f *sharedFetches) noteStall(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	makeRoom(f.stalledAt)
	f.stalledAt[node] = time.Now()
}

// stalled returns why a node is not asked, if nothing came from it just before. What waits meanwhile
// for its turn need not wait for a Timeout of its own.
func (f *sharedFetches) stalled(node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, idle := f.stalledAt[node]
	if idle && time.Since(since) < unmetTime {
		return &transport.UnreachableError{Node: node, Err: &transport.StalledError{Node: node}}
	}
	return nil
}

// gone reports whether a node has left, or was just waited for in vain; news is closed when
// that is so of another one.
func (f *sharedFetches) gone(node string) (left bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, vain := f.unmet[node]
	return f.left[node] || vain && time.Since(since) < unmetTime, f.news
}

// unmetTime is how long nobody waits for a node that was waited for in vain. Not measured.
const unmetTime = time.Second

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
	more := len(s.fetches) > s.resting && s.fetchers < cap(s.shared.tokens)
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
			s.withdraw(f.old)
		}
		c, err := s.copy(f.h.value.(versions.Value), f.name, f.from)
		if err == nil {
			s.publish(f.r, f.h.value)
		} else {
			s.transport.Drop(f.r) // others may wait for it here
		}
		s.deliver(f.h, f.r, c, err)
	}
}

// deliver tells those who wait for a datum that it is there, and how it came, or why not.
func (s *fetcher) deliver(h *held, r transport.Ref, c arrival, err error) {
	s.mu.Lock()
	wants := h.waiters
	h.coming, h.err, h.waiters = false, err, nil
	now := s.held[keyOf(r)]
	gone := now != h && (now == nil || now.ref != r || now.err != nil) // nobody has this version here
	if h.detached {
		s.addBytes(-bytesOf(h.value))
		err = cmp.Or(err, errNoVersion)
	}
	s.mu.Unlock()
	if gone {
		s.transport.Drop(r)
	}
	c.Ref = r
	for _, w := range wants {
		w.got(c, err)
	}
}

// copy copies a version into a value: from here, or from a node that has it, and says which.
func (s *fetcher) copy(into versions.Value, r transport.Ref, from givers) (c arrival, err error) {
	s.forgetOnDevices(into)
	if s.values.copy(into, r) {
		return c, nil
	}
	first := ""
	for _, node := range from.From {
		if node != s.transport.Self() {
			first = node
			break
		}
	}
	s.meter.beginFetch(originOf(first, r))
	giver, since, err := s.fetchFromAny(into, r, from)
	return s.meter.endFetch(originOf(first, r), giver, into.Bytes(), since), err
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
		m.Unreachable, m.Without = f.cut, f.lacks
	}
	return m
}

// fetchFromAny has the first of some nodes that can give a version, and says which, and since when.
// A node that cannot be reached may be one that this node is yet to meet, of which the driver
// knows already: it is asked again for a while, unless it has left. So is one from which something
// wrong came. One from which nothing comes for a Timeout is not, and others do not ask it either for
// a while. The error is a *fetchError, or the end of the store.
func (s *fetcher) fetchFromAny(into versions.Value, r transport.Ref, from givers) (giver string, since time.Time, err error) {
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		var news <-chan struct{}
		var coming []string // they may be met soon
		failed := &fetchError{err: &transport.NotHereError{Ref: r}}
		for i, node := range from.From {
			if node == s.transport.Self() {
				continue
			}
			soon := time.Duration(0)
			if from.Soon && i == 0 && wait == time.Millisecond {
				soon = maxSoonWait
			}
			if since, err = s.fetchFrom(node, r, soon, into); err == nil {
				return node, since, nil
			}
			var unreachable *transport.UnreachableError
			var wrong *transport.ChecksumError
			var stalled *transport.StalledError
			var left bool
			left, news = s.shared.gone(node)
			cut := errors.As(err, &unreachable) || errors.As(err, &wrong)
			switch {
			case errors.As(err, &stalled):
				if stalled.For > 0 { // or else another one has seen it
					s.shared.noteStall(node)
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
		late := wait > meetTime || time.Since(began) > 2*meetTime
		if late {
			s.shared.noteUnmet(coming)
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

// fetchFrom fetches a version from a node, when its turn has come, and says since when. If the
// node is about to have it, it is waited for so long.
func (s *fetcher) fetchFrom(node string, r transport.Ref, soon time.Duration, into versions.Value) (since time.Time, err error) {
	select {
	case s.shared.tokens <- struct{}{}:
		defer func() { <-s.shared.tokens }()
	case <-s.ctx.Done():
		return since, context.Cause(s.ctx)
	}
	if err := s.shared.stalled(node); err != nil { // as another one has just seen
		return since, err
	}
	since = time.Now()
	if soon == 0 {
		return since, s.transport.Fetch(s.ctx, node, r, 0, into)
	}
	to := &timed{into, since}
	err = s.transport.Fetch(s.ctx, node, r, soon, to)
	return to.began, err
}

// maxSoonWait is how long a node waits at another one for what that is about to fetch.
const maxSoonWait = 2 * time.Second

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

// meetTime bounds, by half, how long a node waits for one that others say is there.
const meetTime = 500 * time.Millisecond
