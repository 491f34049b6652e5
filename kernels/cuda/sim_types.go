package cuda

import (
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// The parts of a simulated device. Their methods are in the other files sim_*.go, and use those
// above them in this list:
//
//	sim_options.go   what a device is asked to be, and its errors to come
//	sim_faults.go    errors: of faults, of misuse, of a lost device
//	sim_stream.go    streams, events and engines
//	sim_memory.go    memory
//	sim_copy.go      copies
//	sim_routines.go  what all routines have in common
//	sim_blas.go, sim_lapack.go, sim_kernels.go   the routines
//	sim.go           opens and closes a device

// Simulated is a device whose memory and streams are the host's. It really copies, and
// computes with the routines of kernels/cpu, after a delay. It serves tests of code for
// devices, and is strict. It records an access outside an allocation, a use after a free
// and the like; the call or the device fails with a *[DeviceError], and Close returns the
// misuse. New memory is full of NaN, and so is the destination of a copy or a routine
// until it is written: a read that is too early gets NaN. At any time at most one thread
// of the host computes, and one copies in each direction.
type Simulated struct {
	opt  SimOptions
	name string // in errors: "sim0"

	// memory has a lock of its own, as routines look up their operands while others
	// allocate.
	memory simMemory

	// Work on a stream uses the engines. compute has the scratch memory of the routines.
	in, out engine
	compute struct {
		engine
		routines simRoutines
		work     versions.Workspace
	}

	// mu guards the rest. No goroutine holds it while it computes, copies or waits.
	mu     sync.Mutex
	closed bool
	// calls counts the methods by name, and all of them together, for Faults.
	calls  map[string]int
	all    int
	lost   *DeviceError // how the device was lost, or nil
	misuse []error
	// streams are open ones, for Close.
	streams []*simStream
	rnd     *rand.Rand
	stats   SimStats
	pinned  map[unsafe.Pointer]int64 // bytes, from AllocHost
}

// simStream is a [Stream] of a [Simulated]: a queue, and a goroutine that does the queued
// work.
type simStream struct {
	d    *Simulated
	name string // its number among the device's

	// mu guards the queue. more says that something was queued, or the stream closed.
	mu     sync.Mutex
	more   sync.Cond
	queue  []simWork
	closed bool
	// ended is closed when the goroutine has ended.
	ended chan struct{}
}

// simWork is a piece of work in a queue. The stream skips it if the device is lost, unless
// always is set: points are reached even then, so that no goroutine waits for ever.
type simWork struct {
	op     string // the method that queued it
	do     func() *DeviceError
	late   bool // the device is lost by it: see Fault.Late
	always bool
}

// simPoint is a point in a stream.
type simPoint struct {
	reached chan struct{}
	at      time.Time // when it was; to be read after that
}

// simEvent is an [Event] of a [Simulated].
type simEvent struct {
	d     *Simulated
	mu    sync.Mutex
	point *simPoint // recorded last
}

// engine is a part of a device that does one thing at a time.
type engine struct {
	// turn is full while a stream uses the engine. A goroutine that waits for a mutex would
	// stop the time of package testing/synctest, so it is a channel.
	turn chan struct{}
	free time.Time // when the engine is free, in modelled time
}

// simMemory is the memory of a [Simulated]. An address is a tag and an offset
// that only grows, so that none is ever valid again after a free, and lies where
// the host has no memory:
//
//	bits 63, 62    01: no process has addresses there, on 64 bits
//	bits 59–54     the device's number
//	below          the offset; allocations are 256 bytes apart at least
type simMemory struct {
	mu   sync.RWMutex
	next Ptr // of the next allocation
	// cap is the bytes of the device, of which used are allocated, and peak were at
	// most.
	cap        int64
	used, peak int64
	// blocks are in the order of their addresses, the dead ones, which were freed,
	// among them: that a pointer is old can be told from that it is wrong.
	blocks []simBlock
	dead   int
}

// simBlock is an allocation; nil data if it was freed.
type simBlock struct {
	at   Ptr
	size int64
	data []byte
}

// simRoutines are the fastest routines that this machine has.
type simRoutines struct {
	f32 cpu.Routines[float32]
	f64 cpu.Routines[float64]
}

// Codes of errors, those of NVIDIA's driver for the like.
const (
	codeInvalid  = 1   // invalid value
	codeAddress  = 700 // illegal address
	codeUnknown  = 999
	codeInjected = 998
)
