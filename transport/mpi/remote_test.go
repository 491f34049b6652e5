//go:build mpi && linux && cgo

package mpi

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/transporttest"
	"github.com/tessera-la/tessera/versions"
)

// Plan says which network a rank is to make a node of.
type Plan struct {
	Size    int
	Timeout time.Duration
}

// Order is what a node is to do.
type Order struct {
	Node, ID int
	To       string
	Data     []byte
	Ref      transport.Ref
	Wait     time.Duration
	Over     bool // its context has ended
}

// Result is what came of it.
type Result struct {
	Data   []byte
	Names  []string
	Prompt bool
	Err    fault
}

// fault is an error of a transport.
type fault struct {
	Kind        string // empty if there is none
	Text, Node  string
	Ref         transport.Ref
	Size, Limit int
}

func newFault(err error) (f fault) {
	if err == nil {
		return f
	}
	f.Text = err.Error()
	var gone *transport.UnreachableError
	var large *transport.TooLargeError
	var absent *transport.NotHereError
	var sum *transport.ChecksumError
	switch {
	case errors.As(err, &gone):
		f.Kind, f.Node = "unreachable", gone.Node
	case errors.As(err, &large):
		f.Kind, f.Size, f.Limit = "large", large.Size, large.Limit
	case errors.As(err, &absent):
		f.Kind, f.Node, f.Ref = "absent", absent.Node, absent.Ref
	case errors.As(err, &sum):
		f.Kind, f.Node, f.Ref = "checksum", sum.Node, sum.Ref
	case errors.Is(err, transport.ErrClosed):
		f.Kind = "closed"
	case errors.Is(err, context.Canceled):
		f.Kind = "canceled"
	default:
		f.Kind = "other"
	}
	return f
}

func (r *Result) error() error {
	switch f := r.Err; f.Kind {
	case "":
		return nil
	case "unreachable":
		return &transport.UnreachableError{Node: f.Node, Err: errors.New(f.Text)}
	case "large":
		return &transport.TooLargeError{Size: f.Size, Limit: f.Limit}
	case "absent":
		return &transport.NotHereError{Node: f.Node, Ref: f.Ref}
	case "checksum":
		return &transport.ChecksumError{Node: f.Node, Ref: f.Ref}
	case "closed":
		return transport.ErrClosed
	case "canceled":
		return context.Canceled
	default:
		return errors.New(f.Text)
	}
}

// remote is a node of another rank.
type remote struct {
	to   *rpc.Client
	name string
	node int
	ids  atomic.Int64
	told sync.WaitGroup
}

// call has the other rank do something, as long as ctx lasts.
func (r *remote) call(ctx context.Context, what string, o Order) (reply Result, err error) {
	o.Node, o.ID, o.Over = r.node, int(r.ids.Add(1)), ctx.Err() != nil
	call := r.to.Go("Rank."+what, o, &reply, nil)
	stop := context.AfterFunc(ctx, func() { _ = r.to.Call("Rank.Cancel", o, new(int)) })
	defer stop()
	<-call.Done
	if call.Error != nil {
		return reply, call.Error
	}
	if err = reply.error(); errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return reply, err
}

// Self implements [transport.Transport].
func (r *remote) Self() string { return r.name }

// Nodes implements [transport.Transport].
func (r *remote) Nodes() []string {
	reply, _ := r.call(context.Background(), "Nodes", Order{})
	return reply.Names
}

// Start implements [transport.Transport].
func (r *remote) Start(h transport.Handler, e func(transport.Event)) error {
	if _, err := r.call(context.Background(), "Start", Order{}); err != nil {
		return err
	}
	r.told.Add(1)
	go func() {
		defer r.told.Done()
		for {
			var n Notice
			if r.to.Call("Rank.Next", Order{Node: r.node}, &n) != nil || n.ID == 0 {
				return
			}
			r.told.Add(1)
			go func() { // the other side has those that have to wait do so
				defer r.told.Done()
				if n.Event {
					e(transport.Event{Node: n.From, Joined: n.Joined})
				} else {
					h(n.From, n.Data)
				}
				_ = r.to.Call("Rank.Handled", Order{Node: r.node, ID: n.ID}, new(int))
			}()
		}
	}()
	return nil
}

// Send implements [transport.Transport].
func (r *remote) Send(ctx context.Context, to string, message []byte) error {
	_, err := r.call(ctx, "Send", Order{To: to, Data: message})
	return err
}

// Prompt implements [transport.Prompt].
func (r *remote) Prompt(to string) bool {
	reply, err := r.call(context.Background(), "Prompt", Order{To: to})
	return err == nil && reply.Prompt
}

// Publish implements [transport.Transport].
func (r *remote) Publish(ref transport.Ref, v versions.Value) {
	_, _ = r.call(context.Background(), "Publish", Order{Ref: ref, Data: v.(*transporttest.Value).Data})
}

// Drop implements [transport.Transport].
func (r *remote) Drop(ref transport.Ref) {
	_, _ = r.call(context.Background(), "Drop", Order{Ref: ref})
}

// Fetch implements [transport.Transport].
func (r *remote) Fetch(ctx context.Context, from string, ref transport.Ref, wait time.Duration, into versions.Value) error {
	reply, err := r.call(ctx, "Fetch", Order{To: from, Ref: ref, Wait: wait})
	into.(*transporttest.Value).Data = reply.Data
	return err
}

// Close implements [transport.Transport].
func (r *remote) Close() error {
	_, err := r.call(context.Background(), "Close", Order{})
	r.told.Wait()
	return err
}

// Rank is what a rank does for rank 0, by net/rpc.
type Rank struct {
	w     *World
	over  chan struct{}
	mu    sync.Mutex
	nodes []*obedient
	stops map[[2]int]context.CancelFunc // by node and ID, of calls that go on
}

// Notice is a message or an event. ID is 0 at the end.
type Notice struct {
	ID            int
	Event, Joined bool
	From          string
	Data          []byte
}

// obedient is a node that does what it is told.
type obedient struct {
	transport.Transport
	next    chan Notice
	over    chan struct{}
	mu      sync.Mutex
	last    int
	handled map[int]chan struct{}
}

// obey does what rank 0 says, until it says so.
func obey(w *World) error {
	l, err := net.Listen("unix", socket(w.Rank()))
	if err != nil {
		return err
	}
	defer l.Close()
	r := &Rank{w: w, over: make(chan struct{}), stops: map[[2]int]context.CancelFunc{}}
	s := rpc.NewServer()
	if err := s.Register(r); err != nil {
		return err
	}
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	go s.ServeConn(conn)
	<-r.over
	time.Sleep(10 * time.Millisecond) // the answer goes out
	return w.Close()
}

// tell has rank 0 handle something, and waits until it has.
func (o *obedient) tell(n Notice) {
	c := make(chan struct{})
	o.mu.Lock()
	o.last++
	n.ID = o.last
	o.handled[n.ID] = c
	o.mu.Unlock()
	o.next <- n
	<-c
}

// New makes a node.
func (r *Rank) New(p Plan, node *int) error {
	t, err := r.w.network(p.Size, Options{Timeout: p.Timeout})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	*node = len(r.nodes)
	r.nodes = append(r.nodes, &obedient{Transport: t, next: make(chan Notice), over: make(chan struct{}), handled: map[int]chan struct{}{}})
	return nil
}

// do does something with a node, which ends with Cancel.
func (r *Rank) do(o Order, reply *Result, f func(context.Context, *obedient) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.mu.Lock()
	n, key := r.nodes[o.Node], [2]int{o.Node, o.ID}
	r.stops[key] = cancel
	r.mu.Unlock()
	if o.Over {
		cancel()
	}
	reply.Err = newFault(f(ctx, n))
	r.mu.Lock()
	delete(r.stops, key)
	r.mu.Unlock()
	return nil
}

// Cancel ends the context of a call.
func (r *Rank) Cancel(o Order, _ *int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stop := r.stops[[2]int{o.Node, o.ID}]; stop != nil { // or it has ended, or begins so late that it is Over
		stop()
	}
	return nil
}

// Next waits for a message or an event.
func (r *Rank) Next(o Order, n *Notice) error {
	r.mu.Lock()
	x := r.nodes[o.Node]
	r.mu.Unlock()
	select {
	case *n = <-x.next:
	case <-x.over:
	}
	return nil
}

// Handled says that it was handled.
func (r *Rank) Handled(o Order, _ *int) error {
	r.mu.Lock()
	x := r.nodes[o.Node]
	r.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.handled[o.ID])
	delete(x.handled, o.ID)
	return nil
}

// Start starts a node.
func (r *Rank) Start(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		return n.Transport.Start(func(from string, b []byte) { n.tell(Notice{From: from, Data: b}) },
			func(e transport.Event) { n.tell(Notice{Event: true, From: e.Node, Joined: e.Joined}) })
	})
}

// Nodes returns which nodes are there.
func (r *Rank) Nodes(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		reply.Names = n.Transport.Nodes()
		return nil
	})
}

// Send sends a message.
func (r *Rank) Send(o Order, reply *Result) error {
	return r.do(o, reply, func(ctx context.Context, n *obedient) error { return n.Transport.Send(ctx, o.To, o.Data) })
}

// Prompt reports whether messages leave at once.
func (r *Rank) Prompt(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		reply.Prompt = n.Transport.(transport.Prompt).Prompt(o.To)
		return nil
	})
}

// Publish publishes a value.
func (r *Rank) Publish(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		n.Transport.Publish(o.Ref, &transporttest.Value{Data: o.Data})
		return nil
	})
}

// Drop drops it.
func (r *Rank) Drop(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		n.Transport.Drop(o.Ref)
		return nil
	})
}

// Fetch fetches a value.
func (r *Rank) Fetch(o Order, reply *Result) error {
	return r.do(o, reply, func(ctx context.Context, n *obedient) error {
		var v transporttest.Value
		err := n.Transport.Fetch(ctx, o.To, o.Ref, o.Wait, &v)
		reply.Data = v.Data
		return err
	})
}

// Close closes a node.
func (r *Rank) Close(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		err := n.Transport.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		select {
		case <-n.over:
		default:
			close(n.over)
		}
		return err
	})
}

// End ends the rank.
func (r *Rank) End(int, *int) error {
	close(r.over)
	return nil
}

// Echo starts a node that sends messages back.
func (r *Rank) Echo(o Order, reply *Result) error {
	return r.do(o, reply, func(_ context.Context, n *obedient) error {
		return n.Transport.Start(func(from string, b []byte) { _ = n.Transport.Send(context.Background(), from, b) }, func(transport.Event) {})
	})
}
