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

// fetcher fetches versions from other nodes.
type fetcher struct {
	values
	shared *sharedFetches
	ctx    context.Context // ends all fetches
	end    context.CancelFunc
	meter  *meter
	count  sync.WaitGroup // goroutines that fetch, or bring data into the program's memory

	fetches  []fetch   // to be begun, in this order; mu guards it and what follows
	fetchers int       // goroutines of fetchAll
	resting  int       // of these, those without a fetch
	more     sync.Cond // signalled when there is a fetch, or the store is closed
}

// sharedFetches is what all fetchers of a node share: a bound on fetches at once, and what is known
// of the nodes that give values.
type sharedFetches struct {
	tokens chan struct{} // one for each fetch in progress

	mu        sync.Mutex           // a leaf
	left      map[string]bool      // nodes that have left
	unmet     map[string]time.Time // when this node gave up waiting to meet a node
	stalledAt map[string]time.Time // when nothing came from a node that can be reached
	news      chan struct{}        // closed and replaced when left or unmet grows
}

// maxFetches is how many values a node fetches at once. In virtual time runs take 4 % longer with
// half of it, and 1 to 3 % less with twice as many, each of which is an open request
// (docs/internals/measurements.md, constants of the runtime).
const maxFetches = 8

// maxRemembered bounds left, unmet and stalledAt. A forgotten node that has left is waited for like
// an unmet one.
const maxRemembered = 1000

func newSharedFetches() *sharedFetches {
	return &sharedFetches{
		tokens: make(chan struct{}, maxFetches), news: make(chan struct{}),
		left: map[string]bool{}, unmet: map[string]time.Time{}, stalledAt: map[string]time.Time{},
	}
}

// hasLeft reports whether a node has left, as far as this one remembers.
func (f *sharedFetches) hasLeft(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left[name]
}

// event notes that a node has come or left.
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

// makeRoom removes nodes until there is room for one more.
func makeRoom[V any](nodes map[string]V) {
	for other := range nodes {
		if len(nodes) < maxRemembered {
			break
		}
		delete(nodes, other)
	}
}

// notify wakes goroutines that wait for a change. The caller holds mu.
func (f *sharedFetches) notify() {
	close(f.news)
	f.news = make(chan struct{})
}

// noteUnmet notes that this node did not meet some nodes in time, so other fetches need not wait
// for them for a while. A node that joins after another has left never hears of it.
func (f *sharedFetches) noteUnmet(nodes []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range nodes {
		makeRoom(f.unmet)
		f.unmet[node] = time.Now()
	}
	f.notify()
}

// noteStall notes that nothing comes from a node that can be reached.
func (f *sharedFetches) noteStall(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	makeRoom(f.stalledAt)
	f.stalledAt[node] = time.Now()
}

// stalled returns why a node is not asked, if nothing came from it a moment ago. Fetches that have
// waited for a token meanwhile need no time-out of their own.
func (f *sharedFetches) stalled(node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, idle := f.stalledAt[node]
	if idle && time.Since(since) < unmetTime {
		return &transport.UnreachableError{Node: node, Err: &transport.StalledError{Node: node}}
	}
	return nil
}

// gone reports whether a node has left, or was not met a moment ago. The channel news is closed when that may
// have changed for a node.
func (f *sharedFetches) gone(node string) (left bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, unmet := f.unmet[node]
	return f.left[node] || unmet && time.Since(since) < unmetTime, f.news
}

// unmetTime is how long no fetch waits for a node that was not met. It is as long as the fetch that did not
// meet the node has waited. So such a node costs fetches at most half of their time.
const unmetTime = 2 * meetTime

// fetch is a version to be fetched.
type fetch struct {
	h       *held         // where the version comes
	r, name transport.Ref // the version here, and its name on the nodes that give it
	from    givers
	old     transport.Ref // the version whose memory it overwrites; zero if there is none
}

// fetch queues a fetch, whose end the waiters of f.h are told. It starts a goroutine only if more fetches
// are queued than goroutines rest, and fewer goroutines exist than tokens: a goroutine for each fetch would
// cost more than fetching a small value.
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

// fetchAll executes fetches until the store is closed.
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
		c, err := s.copy(s.ctx, f.h.value.(versions.Value), f.name, f.from)
		if err == nil {
			s.publish(f.r, f.h.value)
		} else {
			s.transport.Drop(f.r) // other nodes may wait for it here
		}
		s.deliver(f.h, f.r, c, err)
	}
}

// deliver tells the waiters of a datum that version r has come, with arrival c, or why it has not come.
func (s *fetcher) deliver(h *held, r transport.Ref, c arrival, err error) {
	s.mu.Lock()
	wants := h.waiters
	h.coming, h.err, h.waiters = false, err, nil
	now := s.held[keyOf(r)]
	gone := now != h && (now == nil || now.ref != r || now.err != nil) // the node does not have this version
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

// within returns a context that ends when ctx ends or the store is closed. The caller must call end.
func (s *fetcher) within(ctx context.Context) (both context.Context, end func()) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return both, func() {
		stop()
		cancel(nil)
	}
}

// copy copies version r into a value, from this node or from another one. It returns the arrival, which is zero
// if the version was here.
func (s *fetcher) copy(ctx context.Context, into versions.Value, r transport.Ref, from givers) (c arrival, err error) {
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
	giver, since, err := s.fetchFromAny(ctx, into, r, from)
	return s.meter.endFetch(originOf(first, r), giver, into.Bytes(), since), err
}

// fetchError says that no node could give a version.
type fetchError struct {
	cut   []string // nodes that could not be reached, or gave damaged values
	lacks []string // nodes that do not have it
	err   error    // of the last node
}

func (e *fetchError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *fetchError) Unwrap() error { return e.err }

// missingFrom returns what the driver is told of a version that could not be fetched.
func missingFrom(r transport.Ref, err error) missing {
	m := missing{Ref: r}
	if f := (*fetchError)(nil); errors.As(err, &f) {
		m.Unreachable, m.Without = f.cut, f.lacks
	}
	return m
}

// fetchFromAny fetches a version from the first of some nodes that can give it, and returns that
// node and when the fetch began.
//
// The driver may know nodes that this node has yet to meet. So a node that cannot be reached is
// asked again for a while, unless it has left. So is a node that gave a damaged value. A node from
// which nothing came for the transport's time-out is not asked again, and other fetches do not ask
// it for a while. The error is a *fetchError, or the reason why ctx has ended.
func (s *fetcher) fetchFromAny(ctx context.Context, into versions.Value, r transport.Ref, from givers) (
	giver string, since time.Time, err error,
) {
	began := time.Now()
	for wait := time.Millisecond; ; wait *= 2 {
		var news <-chan struct{}
		var coming []string // this node may meet them soon
		failed := &fetchError{err: &transport.NotHereError{Ref: r}}
		for i, node := range from.From {
			if node == s.transport.Self() {
				continue
			}
			soon := time.Duration(0)
			if from.Soon && i == 0 && wait == time.Millisecond {
				soon = maxSoonWait
			}
			if since, err = s.fetchFrom(ctx, node, r, soon, into); err == nil {
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
				if stalled.For > 0 { // otherwise another fetch has noted it
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
		if ctx.Err() != nil {
			return "", since, context.Cause(ctx)
		}
		if len(coming) == 0 || late {
			return "", since, failed
		}
		select {
		case <-time.After(wait):
		case <-news:
		case <-ctx.Done():
			return "", since, context.Cause(ctx)
		}
	}
}

// fetchFrom fetches a version from a node when it has a token, and returns when the fetch began. If
// the node is still fetching the version itself, the fetch waits for up to soon.
func (s *fetcher) fetchFrom(
	ctx context.Context, node string, r transport.Ref, soon time.Duration, into versions.Value,
) (since time.Time, err error) {
	select {
	case s.shared.tokens <- struct{}{}:
		defer func() { <-s.shared.tokens }()
	case <-ctx.Done():
		return since, context.Cause(ctx)
	}
	if err := s.shared.stalled(node); err != nil { // as another fetch has just seen
		return since, err
	}
	since = time.Now()
	if soon == 0 {
		return since, s.transport.Fetch(ctx, node, r, 0, into)
	}
	to := &timed{into, since}
	err = s.transport.Fetch(ctx, node, r, soon, to)
	return to.began, err
}

// maxSoonWait is how long a fetch waits for a version that the giver is still fetching itself.
const maxSoonWait = 2 * time.Second

// timed is a value that notes when its first byte comes.
type timed struct {
	versions.Value
	began time.Time
}

// Decode implements [versions.Value].
func (t *timed) Decode(r io.Reader) error {
	t.began = time.Now()
	return t.Value.Decode(r)
}

// meetTime is half of the bound on how long a node waits to meet one that the driver knows.
const meetTime = 500 * time.Millisecond
