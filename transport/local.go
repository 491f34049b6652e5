package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// behind is how many messages of a sender may wait to be handled before Send waits.
const behind = 64

// ErrClosed is returned by a Transport that is closed, or was not started.
var ErrClosed = errors.New("transport: closed, or not started")

// NameError says that a node with that name is, or was, in the network.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("transport: a node called %q has joined before", e.Name)
}

// Network connects nodes of one process. It is safe for concurrent use.
type Network struct {
	mu    sync.Mutex          // a leaf, but for members' own locks
	nodes map[string]*member  // nodes that are there
	names map[string]struct{} // all names given so far
	small sync.Pool           // of *bytes.Buffer, for values of at most smallBytes
}

// NewNetwork returns a network without nodes.
func NewNetwork() *Network {
	n := &Network{nodes: map[string]*member{}, names: map[string]struct{}{}}
	n.small.New = func() any { return new(bytes.Buffer) }
	return n
}

// Node returns a new node, which joins when it is started. The error is a *NameError.
func (n *Network) Node(name string) (Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.names[name]; ok {
		return nil, &NameError{name}
	}
	n.names[name] = struct{}{}
	return &member{network: n, name: name, events: NewEvents(), over: make(chan struct{}),
		senders: map[string]chan []byte{}}, nil
}

// member is a node of a Network. One goroutine handles the messages of each sender, and one the
// events.
type member struct {
	network *Network
	name    string
	values  Published
	handle  Handler
	events  *Events

	over    chan struct{} // closed at the end
	running sync.WaitGroup

	mu      sync.Mutex // a leaf; guards what follows
	senders map[string]chan []byte
	started bool
	closed  bool
}

// Self implements [Transport].
func (m *member) Self() string { return m.name }

// Nodes implements [Transport].
func (m *member) Nodes() (names []string) {
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	for name := range m.network.nodes {
		if name != m.name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Start implements [Transport]. The error is ErrClosed.
func (m *member) Start(h Handler, e func(Event)) error {
	n := m.network
	n.mu.Lock()
	defer n.mu.Unlock()
	m.mu.Lock()
	ok := !m.started && !m.closed
	m.handle, m.started = h, true
	if ok {
		m.running.Go(func() { m.events.Tell(m.over, e) })
	}
	m.mu.Unlock()
	if !ok {
		return ErrClosed
	}
	for _, o := range n.nodes {
		o.events.Add(Event{Node: m.name, Joined: true})
		m.events.Add(Event{Node: o.name, Joined: true})
	}
	n.nodes[m.name] = m
	return nil
}

// other returns a node that is there. The error is an *UnreachableError, or ErrClosed if this node
// is closed.
func (m *member) other(name string) (*member, error) {
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	if m.network.nodes[m.name] != m {
		return nil, ErrClosed
	}
	if o := m.network.nodes[name]; o != nil {
		return o, nil
	}
	return nil, &UnreachableError{Node: name}
}

// from returns the queue of a sender's messages, nil after Close.
func (m *member) from(sender string) chan []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.senders[sender]
	if c == nil && !m.closed {
		c = make(chan []byte, behind)
		m.senders[sender] = c
		m.running.Add(1)
		go m.serve(sender, c)
	}
	return c
}

// serve handles the messages of a sender until Close.
func (m *member) serve(sender string, c chan []byte) {
	defer m.running.Done()
	for {
		select {
		case <-m.over:
			return
		case b := <-c:
			select {
			case <-m.over: // both may be ready: nothing is handled after Close
				return
			default:
				m.handle(sender, b)
			}
		}
	}
}

// Send implements [Transport].
func (m *member) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > MessageLimit {
		return &TooLargeError{len(message), MessageLimit}
	}
	o, err := m.other(to)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case o.from(m.name) <- bytes.Clone(message): // the nil channel of a closed node blocks
		return nil
	case <-o.over:
		return &UnreachableError{Node: to}
	case <-m.over:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Prompt implements [Prompt].
func (m *member) Prompt(to string) bool {
	o, err := m.other(to)
	return err == nil && len(o.from(m.name)) < behind/2 // nor does Send to a closed node wait
}

// Publish implements [Transport].
func (m *member) Publish(r Ref, v versions.Value) { m.values.Put(r, v) }

// Drop implements [Transport].
func (m *member) Drop(r Ref) { m.values.Drop(r) }

// Fetch implements [Transport]: the value is encoded and decoded, as it would be on its way
// to another machine.
func (m *member) Fetch(ctx context.Context, from string, r Ref, wait time.Duration, into versions.Value) error {
	o, err := m.other(from)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	v, done := o.values.Read(ctx, o.over, r, wait)
	switch {
	case v != nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		if _, gone := m.other(from); gone != nil { // meanwhile
			return gone
		}
		return &NotHereError{Node: from, Ref: r}
	}
	if v.Bytes() <= smallBytes {
		return m.network.copySmall(v, done, into)
	}
	in, out := io.Pipe()
	var encoding sync.WaitGroup
	encoding.Go(func() {
		defer done()
		out.CloseWithError(v.Encode(out)) // io.EOF for the reader, if it is nil
	})
	defer encoding.Wait()
	defer in.CloseWithError(ErrClosed) // ends the wait of Encode if Decode has failed
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })
	defer stop()
	err = into.Decode(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // bytes that Decode leaves
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// smallBytes is the size in bytes of the largest value that is encoded as a whole before it is
// decoded. A value of 4 KiB takes 0.3 µs so, and 10 with a goroutine that encodes while
// another one decodes (2 cores of an EPYC, busy, 2026-11-24; go test ./transport -bench Fetch).
const smallBytes = 64 << 10

// copySmall encodes a value as a whole, and decodes it.
func (n *Network) copySmall(v versions.Value, done func(), into versions.Value) error {
	b := n.small.Get().(*bytes.Buffer)
	defer n.small.Put(b)
	b.Reset()
	err := v.Encode(b)
	done()
	if err != nil {
		return err
	}
	return into.Decode(b)
}

// Close implements [Transport].
func (m *member) Close() error {
	n := m.network
	n.mu.Lock()
	if n.nodes[m.name] == m {
		delete(n.nodes, m.name)
		for _, o := range n.nodes {
			o.events.Add(Event{Node: m.name})
		}
	}
	n.mu.Unlock()
	m.mu.Lock()
	again := m.closed
	m.closed = true
	m.mu.Unlock()
	if !again {
		close(m.over)
	}
	m.running.Wait()
	return nil
}
