package cuda

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/versions"
)

// A simulated device has these parts:
//
//	            caller                       goroutine of each stream
//	 Stream:    check, count, enqueue ─────► execute, in order
//	                                            │ engine.use: one thing at a time
//	                                            ▼
//	                            in ──────── compute ──────── out
//	                                            │
//	 Device:    Alloc, Free ──────────────► simMemory ◄── find
//
// A misuse that a real driver notices at the call (arguments, a closed stream) is an error
// of the call. A misuse that the device notices later (addresses) makes the device lost;
// the next call or wait returns the error. Close returns every misuse, so no test can
// overlook one.

// SimOptions configures a [Simulated]. The zero value is a device of 1 GiB that takes no
// longer than the host to compute and copy. No delay has a default, since no measurement
// would justify one.
type SimOptions struct {
	Name    string // Info.Name; "simulated" if empty
	Ordinal int    // Info.Ordinal
	Memory  int64  // bytes; 0 means 1 GiB

	// A routine takes Launch plus its floating point operations over Rate (twice
	// that in float32), or what the host takes if that is longer. The device
	// works on one routine at a time, from whichever stream.
	Launch time.Duration
	Rate   float64 // floating point operations a second; 0 means no limit

	// A copy between host and device takes Latency plus its bytes over Bandwidth.
	// Copies of one direction queue for the bandwidth.
	Latency   time.Duration
	Bandwidth float64 // bytes a second; 0 means no limit

	// Each piece of work on a stream takes up to Jitter longer, at random from Seed.
	Jitter time.Duration
	Seed   uint64

	// Faults are errors to come.
	Faults []Fault
}

// Validate returns an error that lists all that is wrong.
func (o SimOptions) Validate() error {
	var bad []error
	negative := func(name string, is bool) {
		if is {
			bad = append(bad, fmt.Errorf("cuda: SimOptions.%s is negative", name))
		}
	}
	negative("Ordinal", o.Ordinal < 0)
	negative("Memory", o.Memory < 0)
	negative("Launch", o.Launch < 0)
	negative("Rate", !(o.Rate >= 0))
	negative("Latency", o.Latency < 0)
	negative("Bandwidth", !(o.Bandwidth >= 0))
	negative("Jitter", o.Jitter < 0)
	for i, f := range o.Faults {
		if f.N < 1 {
			bad = append(bad, fmt.Errorf("cuda: SimOptions.Faults[%d].N is %d, want at least 1", i, f.N))
		}
		if f.Op != "" && !slices.Contains(simOps(), f.Op) {
			bad = append(bad, fmt.Errorf("cuda: SimOptions.Faults[%d].Op is %q, want one of %v", i, f.Op, simOps()))
		}
	}
	return errors.Join(bad...)
}

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

// SimStats is what a [Simulated] has done so far.
type SimStats struct {
	Calls             map[string]int // of the methods of Device and Stream, by their names
	BytesIn, BytesOut int64          // copied between host and device
	Used, Peak        int64          // bytes that are, and at most were, allocated on the device
	Pinned            int64          // bytes of the host that are from AllocHost
}

// NewSimulated returns a device, or the error of the options' Validate.
func NewSimulated(opt SimOptions) (*Simulated, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if opt.Name == "" {
		opt.Name = "simulated"
	}
	if opt.Memory == 0 {
		opt.Memory = 1 << 30
	}
	d := &Simulated{
		opt: opt, name: fmt.Sprintf("sim%d", opt.Ordinal), in: newEngine(), out: newEngine(),
		calls: make(map[string]int), pinned: make(map[unsafe.Pointer]int64), rnd: rand.New(rand.NewPCG(opt.Seed, 0)),
	}
	d.memory.init(opt.Ordinal, opt.Memory)
	d.compute.engine = newEngine()
	d.compute.routines = newSimRoutines()
	return d, nil
}

// Info implements [Device].
func (d *Simulated) Info() Info {
	return Info{Name: d.opt.Name, Ordinal: d.opt.Ordinal, Memory: d.opt.Memory,
		Notes: []string{"simulated on the host: its speed says nothing of any device"}}
}

// Stats returns what d has done so far.
func (d *Simulated) Stats() SimStats {
	d.mu.Lock()
	s := d.stats
	s.Calls = maps.Clone(d.calls)
	for _, n := range d.pinned {
		s.Pinned += n
	}
	d.mu.Unlock()
	s.Used, s.Peak = d.memory.usage()
	return s
}

// Lose makes d lost: queued work is skipped, and every later call fails.
func (d *Simulated) Lose() { d.lose(&DeviceError{Op: "Lose", Reason: "lost on demand"}) }

// lose makes d lost because of err, unless d is lost already. Later calls report the first
// reason.
func (d *Simulated) lose(err *DeviceError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		e := *err
		e.Device, e.Lost = d.name, true
		if e.Code == 0 {
			e.Code = codeUnknown
		}
		d.lost = &e
	}
}

// lostError returns the error of a lost device for a call, or nil.
func (d *Simulated) lostError(op, stream string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lostErrorLocked(op, stream)
}

// lostErrorLocked is lostError for callers that hold mu. The error is that of the call, and
// says in its reason what lost the device.
func (d *Simulated) lostErrorLocked(op, stream string) error {
	if d.lost == nil {
		return nil
	}
	e := *d.lost
	if e.Op != op {
		e.Reason = fmt.Sprintf("%s, in %s", e.Reason, e.Op)
	}
	e.Op, e.Stream = op, stream
	return &e
}

// misused records a misuse of d and returns the error for it. It does not make d lost; the
// caller does, if a device would notice the misuse only later.
func (d *Simulated) misused(op, stream string, code int, format string, a ...any) *DeviceError {
	err := &DeviceError{Device: d.name, Op: op, Stream: stream, Code: code, Reason: fmt.Sprintf(format, a...)}
	d.mu.Lock()
	d.misuse = append(d.misuse, err)
	d.mu.Unlock()
	return err
}

// jitter returns a random delay, so that streams overtake one another in tests.
// They come from one sequence, so which stream gets which depends on the order in
// which they ask.
func (d *Simulated) jitter() time.Duration {
	if d.opt.Jitter == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rnd.Int64N(int64(d.opt.Jitter)))
}

// Close implements [Device]. Its error joins all misuses of d. Streams first do their
// queued work, so that a wrong routine is noticed.
func (d *Simulated) Close() error {
	d.mu.Lock()
	streams := d.streams
	d.streams, d.closed = nil, true
	d.mu.Unlock()
	for _, s := range streams {
		s.stop()
	}
	d.memory.clear()
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.pinned)
	return errors.Join(d.misuse...)
}

// Codes of errors, those of NVIDIA's driver for the like.
const (
	codeInvalid  = 1   // invalid value
	codeAddress  = 700 // illegal address
	codeUnknown  = 999
	codeInjected = 998
)
