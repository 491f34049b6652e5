package cuda

import (
	"errors"
	"runtime"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// This file has the life of an accelerator, from [NewAccelerator] to Close, and the
// questions that runtimes ask it. The rest of its methods are in files of their
// own:
//
//	accelerator_types.go    options, statistics, the struct and what it consists of
//	accelerator_launch.go   Launch, LaunchBatch: how a call starts
//	accelerator_room.go     where its memory comes from
//	accelerator_ended.go    Ended, Wake: how it ends; how a device is lost
//	accelerator_fetch.go    Prefetch, Fetch, Flush: values between calls
//	transfer*.go            the copies themselves
//
// Missing, Bring and Back are asked while tasks are placed, often and under locks
// of the runtime. So they look at the books as they are and ask the device nothing.
// What they say may be out of date when the call is launched: it is what a decision
// goes by, and no result depends on it.

// smallScratch is the size up to which scratch memory is small, and smallBytes
// how much there is for it.
const (
	smallScratch = 64 << 10
	smallBytes   = 1 << 20
)

// NewAccelerator returns an accelerator on d, which is its own from then on:
// Close closes it. Memory for tiles is allocated as it is needed. The
// error lists what is wrong with the options, or is the device's; then d is as
// it was.
//
// Goroutines start last: nothing can fail after that, so what has been made before
// is all that has to be undone.
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

// open makes the streams, and relates the device's time to the host's: by an event on
// an empty stream, which the host sees a little later. That is exact enough for traces
// and statistics, and nothing else depends on it. What it has made when it fails is
// left to closeStreams.
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

// Name returns what people call it.
func (a *Accelerator) Name() string { return a.opt.Name }

// Target returns what it offers to versions.
func (a *Accelerator) Target() *versions.Target { return a.target }

// Claim has a serve one user, until Release, and reports false if another one has it.
// Two users would take the ends of each other's calls.
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

// Stats returns what a has done so far. The numbers belong to one moment.
func (a *Accelerator) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Evictions = a.cache.evictions
	return s
}

// Fits returns nil if all values can be on the device at once, with extra bytes of
// scratch memory, else a *[TooLargeError], a *[NotStoredError], or why the device is
// lost. It does not look at what is there at present: all of that can be given up, but
// for the operands themselves.
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

// fits is Fits for the size of all operands. Small scratch memory has a place of its
// own. Scratch memory is one block of the arena beside the operands, so it is rounded
// as they are. The caller holds mu.
func (a *Accelerator) fits(size, extra int64) error {
	if extra > smallScratch {
		size += roundUp(extra, grain)
	}
	if have := a.cache.limit; size > have {
		return &TooLargeError{Device: a.opt.Name, Want: size, Have: have}
	}
	return nil
}

// find returns what is known of a value, or nil. The caller holds mu.
func (a *Accelerator) find(value any) *entry {
	s, _ := value.(versions.Stored)
	return a.cache.entries[s] // there is none for nil
}

// Missing returns how many bytes of a value would have to be copied in before a call
// could read it: none of one that is there, on its way, or about to be written there. A
// value that stays with the host is never missing.
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

// Bring returns how long it is expected to take to copy so many bytes in: at the pace
// of the copies of late. Copies that wait before these are not counted.
func (a *Accelerator) Bring(bytes int64) time.Duration {
	if bytes <= 0 {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.in.speed.time(bytes)
}

// Back returns how long it is expected to take to copy a value back, 0 if the host has
// it. A value that is lost counts as one to be copied: so callers fetch it, and learn
// that from Fetch.
func (a *Accelerator) Back(value any) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.find(value)
	if e == nil || e.state != modified && !e.lost {
		return 0
	}
	return a.out.speed.time(e.bytes())
}

// Lost returns why the accelerator is of no use any more, or nil. It never becomes nil
// again.
func (a *Accelerator) Lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// OnCopy has f called for each copy that has ended; nil ends that. It is called on
// whichever goroutine comes by next, with no lock held, and has to be quick: it may be
// a mover, or the worker in Launch.
func (a *Accelerator) OnCopy(f func(versions.Copy)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onCopy = f
}

// tellCopies tells of copies that have ended. While f runs others may note more, so it
// looks again until there is nothing left. The caller holds mu, which is given up
// meanwhile.
func (a *Accelerator) tellCopies() {
	for len(a.told) > 0 {
		told, f := a.told, a.onCopy
		a.told = nil
		if f == nil {
			return
		}
		a.mu.Unlock()
		for _, c := range told {
			f(c)
		}
		a.mu.Lock()
	}
}

// event returns an unused event, or a new one: there are never more than were in use at
// once. An event is recorded anew by each user; what it was recorded for before does
// not matter. The caller holds mu.
func (a *Accelerator) event() (Event, error) {
	if n := len(a.events); n > 0 {
		e := a.events[n-1]
		a.events = a.events[:n-1]
		return e, nil
	}
	return a.device.NewEvent()
}

// recycle takes events back, of which nobody waits for any. The caller holds mu.
func (a *Accelerator) recycle(events ...Event) {
	for _, e := range events {
		if e != nil {
			a.events = append(a.events, e)
		}
	}
}

// keep notes an error of something that is given back, for Close to return: nobody
// waits for it. A device that is lost cannot take it, which is no error.
func (a *Accelerator) keep(err error) {
	var d *DeviceError
	if err != nil && !(errors.As(err, &d) && d.Lost) {
		a.bad = append(a.bad, err)
	}
}

// Close gives everything back, the device included. What only the device has is lost:
// see Flush. All calls must have ended. The error is what the device said of it, unless
// it is lost. A second Close does nothing.
func (a *Accelerator) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	for a.lost == nil && a.moving+len(a.flying) > 0 {
		a.pause(20)
	}
	// From here on nobody else is in here: movers end, and then all is freed in the
	// order in which one thing uses the other.
	a.closed = true
	a.work.Broadcast()
	a.mu.Unlock()
	a.movers.Wait()
	for _, m := range a.crew {
		m.free()
	}
	// Nobody asks Ended for these any more. Their pinned memory goes back before the
	// allocation that it comes from.
	for _, r := range a.over {
		for _, l := range r.launches {
			l.Err = r.err
		}
		a.report(r)
	}
	a.over = nil
	// Where the device was given up although it still works, calls may be on the
	// streams, and use what is freed below.
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
