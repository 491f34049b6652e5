package cuda

import (
	"errors"
	"runtime"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// This file opens and closes an accelerator, and answers the questions of runtimes.
// Its other methods are in these files:
//
//	accelerator_types.go    options, statistics, the struct and its parts, those of the cache too
//	accelerator_launch.go   Launch, LaunchBatch: how a call starts
//	accelerator_memory.go   where the memory of a call comes from
//	accelerator_settle.go   what the end of a copy or call, or of the device, changes
//	accelerator_ended.go    Ended, Wake: how the host learns of these ends
//	accelerator_fetch.go    Prefetch, Fetch, Flush: values between calls
//	transfer*.go            the copies themselves
//
// The runtime calls Missing, Bring and Back while it places tasks, often and under its
// locks. So they use the present state of the cache and do not poll the device. Their
// answers may be out of date when the call is launched. They guide a decision only; no
// result depends on them.

// NewAccelerator returns an accelerator on d, which it owns: Close closes d. It allocates memory
// for tiles when they need it. The error lists what is wrong with the options, or is the
// device's; d then is unchanged.
//
// Goroutines start last. Nothing can fail after that, so an error undoes only what has been made
// before.
func NewAccelerator(d Device, opt Options) (*Accelerator, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	info := d.Info()
	opt = opt.ensureDefaults(info)
	a := &Accelerator{
		device: d, opt: opt,
		target: &versions.Target{Kind: "cuda", Arch: runtime.GOARCH, Processor: info.Name, Units: 1, Memory: opt.Memory},
		cache:  newCache(opt.Memory), small: newArena(), pins: pinned{device: d},
		wake: make(chan struct{}, 1),
	}
	a.work.L = &a.mu
	if err := a.open(); err != nil {
		a.closeStreams()
		return nil, err
	}
	for range opt.Movers {
		for _, l := range []*lane{&a.in, &a.out} {
			m := &mover{a: a, lane: l}
			a.crew = append(a.crew, m)
			a.movers.Add(1)
			go m.run()
		}
	}
	return a, nil
}

// open makes the streams, and relates the device's time to the host's by an event on an empty
// stream, which the host sees a little later. That is exact enough for traces and statistics, and
// nothing else depends on it. If it fails, closeStreams ends what it has made.
func (a *Accelerator) open() (err error) {
	for range a.opt.Streams {
		s, err := a.device.NewStream()
		if err != nil {
			return err
		}
		a.streams = append(a.streams, s)
	}
	for _, l := range []*lane{&a.in, &a.out} {
		if l.stream, err = a.device.NewStream(); err != nil {
			return err
		}
	}
	if a.zero, err = a.device.NewEvent(); err != nil {
		return err
	}
	if err := a.streams[0].Record(a.zero); err != nil {
		return err
	}
	if err := a.zero.Synchronize(); err != nil {
		return err
	}
	a.since = time.Now()
	return nil
}

// Name returns the accelerator's name in messages.
func (a *Accelerator) Name() string { return a.opt.Name }

// Target returns what the accelerator offers to versions.
func (a *Accelerator) Target() *versions.Target { return a.target }

// Claim gives a to one user until Release, and reports false if another user has it. Two users
// would take the ends of each other's calls.
func (a *Accelerator) Claim() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.taken
	a.taken = true
	return !was
}

// Release ends a claim.
func (a *Accelerator) Release() {
	a.mu.Lock()
	a.taken = false
	a.mu.Unlock()
}

// Device returns the device.
func (a *Accelerator) Device() Device { return a.device }

// Stats returns what a has done so far, at one moment.
func (a *Accelerator) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Evictions = a.cache.evictions
	for _, e := range a.cache.entries {
		if e.block != nil {
			s.Values++
		}
	}
	return s
}

// Fits returns nil if all values can be on the device at once, with extra bytes of scratch
// memory, else a *[TooLargeError], a *[NotStoredError], or why the device is lost. It ignores
// what is on the device now: the cache can evict all of that.
func (a *Accelerator) Fits(values []any, extra int64) error {
	_, size, err := distinct(nil, values)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost != nil {
		return a.lost
	}
	return a.fits(size, extra)
}

// find returns the entry of a value, or nil. The caller holds mu.
func (a *Accelerator) find(value any) *entry {
	s, _ := value.(versions.Stored)
	return a.cache.entries[s] // there is none for nil
}

// Missing returns how many bytes of a value would have to be copied in before a call could read
// it: 0 if the value is on the device, on its way, or about to be written there, or if it stays
// on the host.
func (a *Accelerator) Missing(value any) int64 {
	s, ok := value.(versions.Stored)
	if !ok {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.cache.entries[s]; e != nil && (e.state != invalid || e.in || e.writer != nil) {
		return 0
	}
	return bytesOf(s.Memory())
}

// Bring returns how long it should take to copy that many bytes in, at the speed of recent
// copies. It does not count waiting copies.
func (a *Accelerator) Bring(bytes int64) time.Duration {
	if bytes <= 0 {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.in.speed.time(bytes)
}

// Back returns how long it should take to copy a value back, 0 if the host has it. It treats a
// lost value as one to be copied: so callers fetch it, and Fetch returns the error.
func (a *Accelerator) Back(value any) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.find(value)
	if e == nil || e.state != modified && !e.lost {
		return 0
	}
	return a.out.speed.time(e.bytes())
}

// Lost returns why the accelerator cannot be used any more, or nil. It never becomes nil again.
func (a *Accelerator) Lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// OnCopy makes the accelerator call f for each copy that has ended; nil stops that. f runs with
// no lock held, on any goroutine, maybe a mover or the worker in Launch, and must be quick.
func (a *Accelerator) OnCopy(f func(versions.Copy)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onCopy = f
}

// Close releases everything, the device included. Values that only the device has are lost: see
// Flush. All calls must have ended. The error is the device's, unless the device is lost. A
// second Close does nothing.
func (a *Accelerator) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	for a.lost == nil && a.moving+len(a.flying) > 0 {
		a.pause(20)
	}
	// From here on no other goroutine uses the accelerator. The movers end first. Then
	// each thing is freed before the things that it uses.
	a.closed = true
	a.work.Broadcast()
	a.mu.Unlock()
	a.movers.Wait()
	for _, m := range a.crew {
		m.free()
	}
	// Ended will not report these any more. Their pinned memory must be returned before
	// the allocation that it comes from is freed.
	for _, r := range a.over {
		for _, l := range r.launches {
			l.Err = r.err
		}
		a.report(r)
	}
	a.over = nil
	// A device that was declared lost may still work. Its streams may then have calls
	// that use memory which is freed below.
	for _, s := range a.streams {
		a.keep(s.Synchronize())
	}
	a.closeStreams()
	a.keep(a.pins.free())
	for _, p := range append(a.parts, a.under) {
		if p != 0 {
			a.keep(a.device.Free(p))
		}
	}
	return errors.Join(append(a.bad, a.device.Close())...)
}

// closeStreams ends the streams, which are idle or lost, and the events.
func (a *Accelerator) closeStreams() {
	for _, s := range append(a.streams, a.in.stream, a.out.stream) {
		if s != nil {
			a.keep(s.Close())
		}
	}
	for _, e := range append(a.events, a.zero) {
		if e != nil {
			a.keep(e.Close())
		}
	}
	a.events, a.zero = nil, nil
}
