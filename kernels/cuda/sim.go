package cuda

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"unsafe"
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
