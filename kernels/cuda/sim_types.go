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
//	sim_options.go   options of a device, and the errors that it simulates
//	sim_faults.go    errors of faults, of misuse and of a lost device
//	sim_stream.go    streams, events and engines
//	sim_memory.go    memory
//	sim_copy.go      copies
//	sim_routines.go  the common part of all routines
//	sim_blas.go, sim_lapack.go, sim_kernels.go   the routines
//	sim.go           opens and closes a device

// Simulated is a device whose memory and streams are the host's. It really copies, and
// computes with the routines of kernels/cpu, after a modelled delay. It serves tests of code
// for devices, and is strict: for misuse, such as an access outside an allocation or a use
// after a free, the call or the device fails with a *[DeviceError], and Close returns all
// misuse. New memory is full of NaN, and so is the destination of a copy or a routine until
// it is written, so a read that is too early gets NaN. At any time at most one thread of the
// host computes, and one copies in each direction.
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
	// calls counts the calls of each method by its name, and all counts the calls of all
	// methods, for Faults.
	calls  map[string]int
	all    int
	lost   *DeviceError // how the device was lost, or nil
	misuse []error
	// streams are the open streams, for Close.
	streams []*simStream
	rnd     *rand.Rand
	stats   SimStats
	pinned  map[unsafe.Pointer]int64 // the sizes of memory from AllocHost, in bytes
}

// simStream is a [Stream] of a [Simulated]: a queue, and a goroutine that does the queued
// work.
type simStream struct {
	d    *Simulated
	name string // its number among the device's

	// mu guards the queue. more wakes the goroutine: work was queued, or the stream was
	// closed.
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
	late   bool // the device is lost when the stream comes to it: see Fault.Late
	always bool
}

// simPoint is a point in a stream.
type simPoint struct {
	reached chan struct{}
	at      time.Time // when the stream came to it; valid after reached is closed
}

// simEvent is an [Event] of a [Simulated].
type simEvent struct {
	d     *Simulated
	mu    sync.Mutex
	point *simPoint // recorded last
}

// engine is a part of a device that does one thing at a time.
type engine struct {
	// turn is full while a stream uses the engine. It is a channel and no mutex, since a
	// goroutine that waits for a mutex would stop the time of package testing/synctest.
	turn chan struct{}
	free time.Time // when the engine is free, in modelled time
}

// simMemory is the memory of a [Simulated]. An address consists of a tag, by which no memory
// of the host has that address, and of an offset. Offsets only grow, so an address is never
// valid again after a free:
//
//	bits 63, 62    01, which no address of a process has, on 64-bit processors
//	bits 59–54     the device's number
//	below          the offset; allocations are at least 256 bytes apart
type simMemory struct {
	mu   sync.RWMutex
	next Ptr // of the next allocation
	// cap is the size of the memory in bytes. used bytes are allocated, and peak is the
	// largest value that used has had.
	cap        int64
	used, peak int64
	// blocks are in the order of their addresses. dead of them were freed. They stay for
	// a while, so that an error can tell an old address from a wrong one.
	blocks []simBlock
	dead   int
}

// simBlock is an allocation. Its data is nil after it was freed.
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

// Codes of errors. All but codeInjected are those of NVIDIA's driver for such errors.
const (
	codeInvalid  = 1   // invalid value
	codeAddress  = 700 // illegal address
	codeUnknown  = 999
	codeInjected = 998 // of a Fault
)
