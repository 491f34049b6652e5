//go:build mpi && linux && cgo

package libmpi

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// World is the processes that were started together, of which this one is Rank.
type World struct {
	Rank, Size int
	Hosts      []string // of all ranks
	Multiple   bool     // several threads may call MPI at once

	began bool        // Open has initialised MPI, so Close finalises it
	calls chan func() // calls for the thread that has initialised it
	host  C.tessera_host
	own   *C.tessera_bell
	bells []*C.tessera_bell // by rank; nil on other machines

	mu       sync.Mutex // held during calls of MPI, never while waiting
	requests []C.MPI_Request
	ops      []*Op // of the requests
	which    []C.int
	got      []C.int
	errors   []C.int
	statuses []C.MPI_Status
}

// Open initialises MPI, unless the program has: with MPI_THREAD_MULTIPLE if multiple is set, which the program must
// have asked for otherwise. All processes of the world must call it, and wait
// for each other for at most patience. The error is ErrAbsent, after which the process must end, a
// *ThreadError or an *Error.
func Open(patience time.Duration, multiple bool) (*World, error) {
	w := &World{calls: make(chan func())}
	go func() { // MPI must be initialised and finalised by the same thread
		runtime.LockOSThread()
		for f := range w.calls {
			f()
		}
	}()
	opened := make(chan error, 1)
	w.calls <- func() { opened <- w.open(multiple) }
	select {
	case err := <-opened:
		if err != nil {
			close(w.calls)
			return nil, err
		}
		return w, nil
	case <-time.After(patience):
		return nil, ErrAbsent // the thread stays blocked
	}
}

// call makes the thread of MPI call f.
func (w *World) call(f func()) {
	done := make(chan struct{})
	w.calls <- func() { f(); close(done) }
	<-done
}

func (w *World) open(multiple bool) error {
	var began, threads, rank, size, want C.int
	least := C.int(1)
	if multiple {
		want, least = 1, 2
	}
	if e := C.tessera_begin(want, &began, &threads, &rank, &size); e != C.MPI_SUCCESS {
		return failure("MPI_Init_thread", e)
	}
	if threads < least {
		e := &ThreadError{Multiple: multiple, Library: began != 0}
		if began != 0 {
			C.tessera_end()
		}
		return e
	}
	w.Multiple = threads > 1
	w.began, w.Rank, w.Size = began != 0, int(rank), int(size)
	var name [256]byte
	if e := C.tessera_name((*C.char)(unsafe.Pointer(&name[0])), C.int(len(name))); e != C.MPI_SUCCESS {
		return failure("MPI_Get_processor_name", e)
	}
	hosts, err := w.Gather(C.GoString((*C.char)(unsafe.Pointer(&name[0]))))
	if err != nil {
		return err
	}
	w.Hosts = hosts
	if e := C.tessera_host_open(&w.host); e != C.MPI_SUCCESS {
		return failure("MPI_Comm_split_type", e)
	}
	w.bells = make([]*C.tessera_bell, w.Size)
	bells := unsafe.Slice(w.host.bells, w.host.size)
	for i, r := range unsafe.Slice(w.host.ranks, w.host.size) {
		w.bells[r] = bells[i]
	}
	w.own = w.bells[w.Rank]
	return nil
}

// failure returns an error of MPI.
func failure(call string, e C.int) *Error {
	var text [256]byte
	C.tessera_text(e, (*C.char)(unsafe.Pointer(&text[0])), C.int(len(text)))
	return &Error{call, C.GoString((*C.char)(unsafe.Pointer(&text[0])))}
}

// patience is how long MPI_Finalize may take, which all ranks call at the same time.
const patience = 10 * time.Second

// Close ends the use of MPI. If well is set on all ranks, they end together, and MPI is finalised
// if Open has initialised it. Otherwise, and after ErrStuck, the process can only end. Other errors
// are *Errors.
func (w *World) Close(well bool) (err error) {
	defer close(w.calls)
	if !well {
		return nil
	}
	w.call(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		C.tessera_host_close(&w.host)
		if !w.began {
			return
		}
		if e := C.tessera_quit(w.host.size); e != C.MPI_SUCCESS {
			err = failure("MPI_Barrier", e)
		}
	})
	if !w.began || err != nil {
		return err
	}
	ended := make(chan error, 1)
	w.calls <- func() {
		if e := C.tessera_end(); e != C.MPI_SUCCESS {
			ended <- failure("MPI_Finalize", e)
		}
		close(ended)
	}
	select {
	case err = <-ended:
		return err
	case <-time.After(patience):
		return ErrStuck
	}
}

// Abort ends all processes of the world, this one included.
func (w *World) Abort(code int) { C.tessera_abort(C.int(code)) }

// gathered is the number of bytes of each rank for Gather.
const gathered = 4096

// Gather returns the text that each rank has passed, at most 4094 bytes. All processes of the world
// must call it. The error is an *Error.
func (w *World) Gather(own string) (all []string, err error) {
	one, every := make([]byte, gathered), make([]byte, gathered*w.Size)
	binary.LittleEndian.PutUint16(one, uint16(copy(one[2:], own)))
	w.mu.Lock()
	e := C.tessera_gather(unsafe.Pointer(&one[0]), gathered, unsafe.Pointer(&every[0]))
	w.mu.Unlock()
	if e != C.MPI_SUCCESS {
		return nil, failure("MPI_Allgather", e)
	}
	for ; len(every) > 0; every = every[gathered:] {
		all = append(all, string(every[2:2+binary.LittleEndian.Uint16(every)]))
	}
	return all, nil
}

// Near reports whether a process is on this machine and naps on a bell that this one can ring.
func (w *World) Near(rank int) bool { return w.bells[rank] != nil }

// Turn returns the argument for Nap; the caller takes it before it polls.
func (w *World) Turn() uint32 { return uint32(C.tessera_turn(w.own)) }

// Nap returns after a time, or when the bell has been rung since Turn.
func (w *World) Nap(turn uint32, d time.Duration) {
	C.tessera_nap(w.own, C.uint32_t(turn), C.int64_t(d))
}

// Wake rings this process's own bell.
func (w *World) Wake() { C.tessera_ring(w.own) }

func (w *World) ring(rank int) {
	if b := w.bells[rank]; b != nil {
		C.tessera_ring(b)
	}
}

// Comm is a communicator of the first ranks of a world.
type Comm struct {
	w *World
	c C.MPI_Comm
}

// Comm makes a communicator of the first size ranks. All processes of the world must call it. Those
// of the communicator are connected when it returns; others get nil. The error is an *Error.
func (w *World) Comm(size int) (*Comm, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &Comm{w: w}
	if e := C.tessera_comm(C.int(size), C.int(w.Rank), &c.c); e != C.MPI_SUCCESS {
		return nil, failure("MPI_Comm_split", e)
	}
	if w.Rank >= size {
		return nil, nil
	}
	if e := C.tessera_meet(c.c); e != C.MPI_SUCCESS {
		return nil, failure("MPI_Sendrecv", e)
	}
	return c, nil
}

// Group is a communicator of some ranks, for calls from any thread. The world must be Multiple.
type Group struct{ c C.MPI_Comm }

// Group makes a communicator of some ranks, this one among them. All of them must call it, with the same tag, and wait
// for each other. The error is an *Error.
func (w *World) Group(ranks []int, tag int) (*Group, error) {
	all := make([]C.int, len(ranks))
	for i, r := range ranks {
		all[i] = C.int(r)
	}
	g := &Group{}
	if e := C.tessera_group(&w.host, C.int(len(all)), &all[0], C.int(tag), &g.c); e != C.MPI_SUCCESS {
		return nil, failure("MPI_Comm_create_group", e)
	}
	return g, nil
}

// Fortran returns the handle of the communicator in Fortran.
func (g *Group) Fortran() int32 { return int32(C.tessera_fortran(g.c)) }

// Agree returns the smallest of the numbers that the ranks pass, and the text of the rank of that number. It is
// collective. The error is an *Error.
func (g *Group) Agree(who int, text string) (int, string, error) {
	var room [1024]byte
	copy(room[:len(room)-1], text)
	first := C.int(who)
	if e := C.tessera_agree(g.c, &first, (*C.char)(unsafe.Pointer(&room[0])), C.int(len(room))); e != C.MPI_SUCCESS {
		return 0, "", failure("MPI_Allreduce", e)
	}
	return int(first), C.GoString((*C.char)(unsafe.Pointer(&room[0]))), nil
}

// Free frees the communicator. The error is an *Error.
func (g *Group) Free() error {
	if e := C.tessera_group_free(&g.c); e != C.MPI_SUCCESS {
		return failure("MPI_Comm_free", e)
	}
	return nil
}

// pin pins memory until the operation has ended, and returns it.
func (o *Op) pin(b []byte) unsafe.Pointer {
	o.buf = b
	if len(b) == 0 {
		return nil
	}
	o.pins.Pin(&b[0])
	return unsafe.Pointer(&b[0])
}

// Send sends b, of at most Piece bytes, which must not change before the end of the operation.
func (c *Comm) Send(b []byte, to, tag int, then func(*Op)) *Op {
	o := &Op{Then: then, rank: to}
	p := o.pin(b)
	var r C.MPI_Request
	var done C.int
	c.w.mu.Lock()
	e := C.tessera_isend(c.c, p, C.int(len(b)), C.int(to), C.int(tag), &r, &done)
	c.w.begun(o, r, e, "MPI_Isend", done != 0)
	c.w.ring(to)
	return o
}

// Receive receives a message of at most len(b) bytes into b.
func (c *Comm) Receive(b []byte, from, tag int, then func(*Op)) *Op {
	o := &Op{Then: then, rank: from, in: true}
	p := o.pin(b)
	var r C.MPI_Request
	var done, got C.int
	c.w.mu.Lock()
	e := C.tessera_irecv(c.c, p, C.int(len(b)), C.int(from), C.int(tag), &r, &done, &got)
	o.N = int(got)
	c.w.begun(o, r, e, "MPI_Irecv", done != 0)
	c.w.ring(from) // the message is under way or complete: the sender can go on
	return o
}

// Found is a message that Probe has found, and that no other receive gets.
type Found struct {
	From, Size int
	c          *Comm
	f          C.tessera_found
}

// Probe looks for a message of a tag. The error is an *Error.
func (c *Comm) Probe(tag int, f *Found) (bool, error) {
	var anything C.int
	c.w.mu.Lock()
	e := C.tessera_probe(c.c, C.int(tag), &anything, &f.f)
	c.w.mu.Unlock()
	if e != C.MPI_SUCCESS {
		return false, failure("MPI_Improbe", e)
	}
	f.c, f.From, f.Size = c, int(f.f.source), int(f.f.size)
	return anything != 0, nil
}

// Receive receives the message into b, of its size.
func (f *Found) Receive(b []byte, then func(*Op)) *Op {
	o := &Op{Then: then, rank: f.From, N: f.Size, in: true}
	p := o.pin(b)
	var r C.MPI_Request
	var done C.int
	f.c.w.mu.Lock()
	e := C.tessera_take(&f.f, p, C.int(len(b)), &r, &done)
	f.c.w.begun(o, r, e, "MPI_Imrecv", done != 0)
	return o
}

// begun notes that an operation is under way, or has ended. It releases mu.
func (w *World) begun(o *Op, r C.MPI_Request, e C.int, call string, done bool) {
	if e == C.MPI_SUCCESS && !done {
		w.requests, w.ops = append(w.requests, r), append(w.ops, o)
		w.mu.Unlock()
		w.Wake() // the progress goroutine polls more often now
		return
	}
	w.mu.Unlock()
	if e != C.MPI_SUCCESS {
		o.Err = failure(call, e)
	}
	o.finish()
}

// Cancel asks MPI to cancel a receive, which it does if nothing has been received. The operation
// ends with an error then.
func (w *World) Cancel(o *Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, x := range w.ops {
		if x == o && o.in {
			C.tessera_cancel(&w.requests[i])
		}
	}
}

// Progress drives MPI and finishes completed operations. It returns the numbers of operations that
// have ended and that have not. The error is an *Error: of MPI as a whole.
func (w *World) Progress() (ended, left int, err error) {
	w.mu.Lock()
	n := len(w.requests)
	if n == 0 {
		w.mu.Unlock()
		return 0, 0, nil
	}
	for len(w.which) < n {
		w.which, w.got, w.errors = append(w.which, 0), append(w.got, 0), append(w.errors, 0)
		w.statuses = append(w.statuses, C.MPI_Status{})
	}
	var many C.int
	if e := C.tessera_test(&w.requests[0], C.int(n), &w.which[0], &many, &w.got[0], &w.errors[0], &w.statuses[0]); e != C.MPI_SUCCESS {
		w.mu.Unlock()
		return 0, n, failure("MPI_Testsome", e)
	}
	if many == 0 {
		w.mu.Unlock()
		return 0, n, nil
	}
	over := make([]*Op, many)
	for i := range over {
		o := w.ops[w.which[i]]
		if o.in {
			o.N = int(w.got[i])
		}
		if w.errors[i] != C.MPI_SUCCESS {
			o.Err = failure("MPI_Testsome", w.errors[i])
		}
		over[i], w.ops[w.which[i]] = o, nil
	}
	keep := 0
	for i, o := range w.ops {
		if o != nil {
			w.requests[keep], w.ops[keep] = w.requests[i], o
			keep++
		}
	}
	clear(w.ops[keep:])
	w.requests, w.ops = w.requests[:keep], w.ops[:keep]
	w.mu.Unlock()
	for _, o := range over {
		if o.in {
			w.ring(o.rank)
		}
		o.finish()
	}
	return len(over), keep, nil
}
