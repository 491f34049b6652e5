package mpi

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

// World is the set of processes that a launcher of MPI has started together. A process has one. Its
// progress goroutine drives MPI and receives all messages.
type World struct {
	shared
	ended  chan struct{} // closed when the goroutine has ended
	told   sync.Once     // of Options.Broken
	rounds atomic.Uint64 // of the goroutine

	stay time.Duration // stayTimeout, but for tests

	meeting atomic.Int32 // calls of New and Gather: the goroutine waits with them for ranks that come late

	mu    sync.Mutex // a leaf
	nodes []*node
}

// stayTimeout is how long a rank of a task may go on when the task has failed.
const stayTimeout = 30 * time.Second

// joinTimeout is how long Open waits for the other ranks.
const joinTimeout = 2 * time.Minute

// Open initialises MPI with MPI_THREAD_SERIALIZED, unless the program has initialised it. Then the
// program must not call MPI itself while nodes are at work, unless it has MPI_THREAD_MULTIPLE. All
// processes of the world must call Open within two minutes: MPI itself would wait for ever for a
// process that has ended before. The error is a *[BuildError] if this program was built without
// MPI, [ErrAbsent], a *[ThreadError] or an *[Error].
func Open() (*World, error) { return open(joinTimeout, false) }

// OpenMultiple is [Open] with MPI_THREAD_MULTIPLE, for programs whose tasks call MPI: see [World.Run]. If the program
// has initialised MPI itself, it must have done so with MPI_THREAD_MULTIPLE.
func OpenMultiple() (*World, error) { return open(joinTimeout, true) }

// open is Open or OpenMultiple, with another patience.
func open(patience time.Duration, multiple bool) (*World, error) {
	lib, err := libmpi.Open(patience, multiple)
	if err != nil {
		return nil, err
	}
	w := &World{stay: stayTimeout, shared: shared{lib: lib, failed: make(chan struct{})}, ended: make(chan struct{})}
	go w.progress()
	go w.watch(6, 5*time.Second)
	return w, nil
}

// Rank returns the number of this process, and Size how many there are.
func (w *World) Rank() int { return w.lib.Rank }

// Size returns how many processes there are.
func (w *World) Size() int { return w.lib.Size }

// Host returns the name of a rank's machine.
func (w *World) Host(rank int) string { return w.lib.Hosts[rank] }

// Gather returns the text that each rank has passed, at most 4094 bytes. All processes of the world
// must call it, and wait for each other. The error is an *[Error].
func (w *World) Gather(own string) ([]string, error) {
	w.meeting.Add(1)
	defer w.meeting.Add(-1)
	return w.lib.Gather(own)
}

// Name returns the name of a rank's node: rank3, or rank3@node7 on several machines.
func (w *World) Name(rank int) string { return w.name(rank) }

// New returns this process's node of a network of all ranks, which joins when it is started. All
// processes of the world must call New, in the same order, and wait for each other. A lost rank
// does not come back. The error is an *[OptionsError] or an *[Error].
func (w *World) New(opt Options) (transport.Transport, error) { return w.network(w.lib.Size, opt) }

// network is New for the first size ranks. Others get nil.
func (w *World) network(size int, opt Options) (transport.Transport, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	w.meeting.Add(1)
	c, err := w.lib.Comm(size)
	w.meeting.Add(-1)
	if err != nil || c == nil {
		return nil, err
	}
	n := newNode(&w.shared, c, size, opt)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, n)
	return n, nil
}

// all appends the active nodes to into.
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

// looks is how often nothing must have arrived before progress naps: MPI libraries first look, and
// then make progress.
const looks = 3

// progress drives MPI until the world is closed.
func (w *World) progress() {
	defer close(w.ended)
	var nodes []*node
	quiet := 0 // looks at which there was nothing
	for since := time.Now(); !w.over.Load(); {
		w.rounds.Add(1)
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
			w.tell()
			return
		default:
		}
		if some {
			since, quiet = now, 0
		}
		if quiet++; quiet < looks {
			continue
		}
		// Let other goroutines run first: in a nap this one would keep its place in the scheduler's
		// queue for some time, and they would wait behind it.
		quiet = 0
		runtime.Gosched()
		w.lib.Nap(turn, nap(now.Sub(since), left > int(w.abandoned.Load()), far))
	}
}

// tell calls Options.Broken of all active nodes, once.
func (w *World) tell() {
	w.told.Do(func() {
		for _, n := range w.all(nil) {
			n.opt.Broken(w.why)
		}
	})
}

// watch calls Options.Broken if progress has begun no round between n looks, an interval apart: Open MPI
// may wait within MPI_Test for ever if a rank's machine is lost. Time in which the process is stopped does
// not count, as there are no looks then; nor does a wait for ranks that come late to New or Gather.
func (w *World) watch(n int, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for same, last := 0, uint64(0); same < n; {
		select {
		case <-w.ended:
			return
		case <-tick.C:
		}
		same++
		if r := w.rounds.Load(); r != last || w.meeting.Load() > 0 {
			same, last = 0, r
		}
	}
	w.broken(errHangs)
	w.tell()
}

// nap returns for how long probably nothing happens, if nothing has happened for idle. Senders on
// this machine wake the process; those on others, and the end of operations, must be polled. A poll
// costs 5 to 15 µs of a core, and 150 on a busy machine, most of it the nap itself. So after a long
// silence naps add a tenth of it at most. While operations are under way a nap is shorter than 10
// ms: after a longer one Go's monitor retakes the processor, and then polls every 20 µs for some
// time for others to retake.
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

// Abort ends all processes of the world, this one included, which exits with a code. It waits 0.2 s first: MPICH's
// launcher otherwise loses now and then what this process has just printed. If MPI has not ended it after 10 s, it ends
// by itself: MPI_Abort needs a launcher that listens.
func (w *World) Abort(code int) {
	time.Sleep(200 * time.Millisecond)
	time.AfterFunc(10*time.Second, func() { os.Exit(code) })
	w.lib.Abort(code)
}

// Close ends the use of MPI, after all nodes were closed. All processes of the world must call it,
// and wait for each other. If Open has initialised MPI, Close finalises it. After the loss of a
// rank, or if MPI does not return from another call, it cannot: it returns ErrLost, and the process
// must end. If MPI_Finalize takes longer than 10 s, it returns ErrStuck, and the process must end as
// well. Other errors are *[Error]s.
func (w *World) Close() error {
	if w.over.Swap(true) {
		return nil
	}
	w.lib.Wake()
	select {
	case <-w.ended:
	case <-w.failed: // the goroutine may never end
		return ErrLost
	}
	well := !w.maimed.Load()
	if err := w.lib.Close(well); err != nil {
		return err
	}
	if !well {
		return ErrLost
	}
	return nil
}
