package mpi

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

// World is the processes that a launcher of MPI has started together. A process has one.
// A goroutine has MPI get on; it is where all that comes is noticed.
type World struct {
	shared
	ended chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex // a leaf
	nodes []*node
}

// Open initialises MPI with MPI_THREAD_SERIALIZED, unless the program has; then it must not
// call MPI itself while nodes are at work, unless it has MPI_THREAD_MULTIPLE. All processes
// of the world have to call Open, within two minutes: MPI itself would wait for ever for a
// process that has ended before. The error is a *[BuildError] if this program was built without
// MPI, [ErrAbsent], a *[ThreadError] or an *[Error].
func Open() (*World, error) { return open(2 * time.Minute) }

// open is Open, with another patience.
func open(patience time.Duration) (*World, error) {
	lib, err := libmpi.Open(patience)
	if err != nil {
		return nil, err
	}
	w := &World{shared: shared{lib: lib, failed: make(chan struct{})}, ended: make(chan struct{})}
	go w.progress()
	return w, nil
}

// Rank returns the number of this process, and Size how many there are.
func (w *World) Rank() int { return w.lib.Rank }

// Size returns how many processes there are.
func (w *World) Size() int { return w.lib.Size }

// Host returns the name of a rank's machine.
func (w *World) Host(rank int) string { return w.lib.Hosts[rank] }

// Gather returns what each rank has given it, at most 4094 bytes of it. All processes of the
// world have to call it, and wait for each other there. The error is an *[Error].
func (w *World) Gather(own string) ([]string, error) { return w.lib.Gather(own) }

// Name returns what a rank's node is called: rank3, or rank3@node7 if there are several
// machines.
func (w *World) Name(rank int) string { return w.name(rank) }

// New returns this process's node of a network of all ranks, which joins when it is started.
// All processes of the world have to call New, in the same order, and wait for each other
// there. A rank that was lost does not come back. The error is an *[OptionsError] or an
// *[Error].
func (w *World) New(opt Options) (transport.Transport, error) { return w.network(w.lib.Size, opt) }

// network is New for the first size ranks. Others get nil.
func (w *World) network(size int, opt Options) (transport.Transport, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	c, err := w.lib.Comm(size)
	if err != nil || c == nil {
		return nil, err
	}
	n := newNode(&w.shared, c, size, opt)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, n)
	return n, nil
}

// all returns the nodes whose messages are looked for.
func (w *World) all(into []*node) []*node {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.nodes {
		if n.active.Load() {
			into = append(into, n)
		}
	}
	return into
}

// looks is how often there has to be nothing before it is believed: MPI libraries first look,
// and then get on.
const looks = 3

// progress has MPI get on, until the world is closed.
func (w *World) progress() {
	defer close(w.ended)
	var nodes []*node
	quiet := 0 // looks at which there was nothing
	for since := time.Now(); !w.over.Load(); {
		turn := w.lib.Turn()
		now := time.Now()
		ended, left, err := w.lib.Progress()
		some, far := ended > 0, false
		nodes = w.all(nodes[:0])
		for _, n := range nodes {
			came, failed := n.look(now)
			some, far = some || came, far || n.far()
			err = errors.Join(err, failed)
			n.tick(now)
		}
		if err != nil {
			w.broken(err)
		}
		select {
		case <-w.failed:
			for _, n := range nodes {
				n.opt.Broken(w.why)
			}
			return
		default:
		}
		if some {
			since, quiet = now, 0
		}
		if quiet++; quiet < looks {
			continue
		}
		// Others may have something to do now. In a nap this goroutine would keep its place
		// in the queue of the scheduler for some time, and them behind it.
		quiet = 0
		runtime.Gosched()
		w.lib.Nap(turn, nap(now.Sub(since), left > int(w.abandoned.Load()), far))
	}
}

// nap returns for how long there is probably nothing to do, if there was nothing for a time.
// Who is near rings; what comes from far is seen when it is looked for, and so is the end of
// what is under way. To look costs 5 to 15 µs of a core, and 150 on a busy machine, most of it the
// nap itself. So who has heard nothing for long adds a tenth to that at most. While something goes
// on, a nap is shorter than 10 ms: from a longer one Go's monitor takes the processor away, and
// then looks every 20 µs for some time whether there are more to take.
func nap(idle time.Duration, busy, far bool) time.Duration {
	least, most := 50*time.Microsecond, min(max(idle/10, 4*time.Millisecond), 50*time.Millisecond)
	switch {
	case busy:
		least, most = 20*time.Microsecond, time.Millisecond
	case !far:
		return most
	}
	return min(max(idle/2, least), most)
}

// Abort ends all processes of the world at once, this one included, which exits with a code.
func (w *World) Abort(code int) { w.lib.Abort(code) }

// Close ends the use of MPI, after all nodes were closed. All processes of the world have to
// call it, and wait for each other there. If Open has initialised MPI, it is finalised. If a
// rank was lost that cannot be: Close returns ErrLost, and the process has to end. So it has if
// MPI_Finalize takes longer than 10 s: then Close returns ErrStuck. Other errors are *[Error]s.
func (w *World) Close() error {
	if w.over.Swap(true) {
		return nil
	}
	w.lib.Wake()
	<-w.ended
	well := !w.maimed.Load()
	if err := w.lib.Close(well); err != nil {
		return err
	}
	if !well {
		return ErrLost
	}
	return nil
}
