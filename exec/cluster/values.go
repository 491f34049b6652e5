package cluster

import (
	"sync"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// values holds the values that a node has of a driver's jobs, what tasks have derived from them,
// and memory that can be reused.
type values struct {
	transport transport.Transport
	known     known
	devices   exec.Forgetter      // devices that have copies of values; nil if there are none
	changing  func(transport.Ref) // called before a version goes or is overwritten; nil on a driver

	mu          sync.Mutex              // a leaf
	held        map[transport.Ref]*held // by keyOf the datum
	readers     map[transport.Ref]int   // copies in progress of a version within this node
	readersDone sync.Cond               // signalled when the last such copy ends

	bytes int64 // of values, except for the program's
	peak  int64 // the largest value of bytes so far

	derived   derivedCache
	recycled  recycler
	trimTimer *time.Timer // fires when the node has had no data for recycleTime
}

// held is a datum on a node. Its memory is reused for each version that is made or fetched here.
// Its version
//
//	is on its way     coming: waiters are told when it is there
//	is there          err is nil, and not coming
//	has not come      err says why
//	will be written   err is errNoVersion: a task makes it here
type held struct {
	ref      transport.Ref // the version that is there, or on its way
	value    any           // a versions.Value, or a value that only the driver has
	home     *home         // of a datum of the program, on the driver
	err      error         // why no version is there
	waiters  []waiter      // nil if the version is there
	coming   bool          // the version is on its way
	detached bool          // another held has taken its place while a version was coming
	derived  derivations   // from the version that is there
}

// waiter is told that a version is there, and how it came, or why it has not come.
type waiter interface {
	got(c arrival, err error)
}

// then is a waiter for one version.
type then func(error)

func (f then) got(_ arrival, err error) { f(err) }

// keyOf returns the key of a datum: its Ref with version 0.
func keyOf(r transport.Ref) transport.Ref {
	r.Version = 0
	return r
}

// derive returns the derived data that tasks which read version r share in a role, nil if the version is not
// there. fresh makes them.
func (s *values) derive(r transport.Ref, role int, fresh func() versions.Derived) versions.Derived {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[keyOf(r)]; h != nil && h.has(r) {
		return s.derived.of(&h.derived, bytesOf(h.value), role, fresh)
	}
	return nil
}

// forgetOnDevices makes devices forget a value that will be overwritten or dropped and that no task
// uses.
func (s *values) forgetOnDevices(value any) {
	if s.devices != nil {
		s.devices.Forget(value)
	}
}

// recycleTime is how long a node without data keeps the memory of its former data.
const recycleTime = 10 * time.Second

// recycle keeps a value that is no longer used, so that a new value of its kind can take its memory. The bytes of
// used and recycled values together never exceed the peak.
func (s *values) recycle(value any) {
	v, ok := value.(recyclable)
	if !ok {
		return
	}
	f := core.FactsOf(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+s.recycled.bytes+bytesOf(v) <= s.peak {
		s.recycled.add(valueKind{f.Kind, f.Shape}, v)
	}
}

// removeHeld removes a datum. If the node then has no data for recycleTime, the recycled values go,
// too. The caller holds mu.
func (s *values) removeHeld(r transport.Ref) {
	if delete(s.held, r); len(s.held) > 0 {
		return
	}
	if s.trimTimer != nil {
		s.trimTimer.Reset(recycleTime)
		return
	}
	s.trimTimer = time.AfterFunc(recycleTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.held) == 0 {
			s.recycled = recycler{}
		}
	})
}

// newValue returns a value for an operand: a recycled or a new one. It is zero if it is new or zero is set. The
// caller holds mu.
func (s *values) newValue(o *operand, zero bool) (any, error) {
	if v := s.reuse(o, zero); v != nil {
		return v, nil
	}
	return s.known.value(o.Type, o.Shape)
}

// reuse returns a recycled value of the operand's kind, nil if there is none. It clears the value if zero is set.
// The caller holds mu.
func (s *values) reuse(o *operand, zero bool) any {
	v := s.recycled.take(valueKind{o.Type, o.Shape})
	if v == nil {
		return nil
	}
	if m := v.Memory(); zero && m.Data != nil {
		for i := range m.Rows {
			clear(unsafe.Slice((*byte)(unsafe.Add(m.Data, int64(i)*m.Pitch)), m.Width))
		}
	}
	return v
}

// addBytes changes the bytes of values. Recycled values make room so that the total stays within
// the peak. The caller holds mu.
func (s *values) addBytes(by int64) {
	s.bytes += by
	s.peak = max(s.peak, s.bytes)
	s.recycled.shrink(s.peak - s.bytes)
}

// peakBytes returns the largest number of bytes so far.
func (s *values) peakBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// currentBytes returns the bytes of values that the store has.
func (s *values) currentBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// comingTo returns the versions that are on their way, by waiter.
func (s *values) comingTo() map[waiter][]transport.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[waiter][]transport.Ref{}
	for _, h := range s.held {
		for _, w := range h.waiters {
			if _, isFunc := w.(then); !isFunc { // a func cannot be a key
				all[w] = append(all[w], h.ref)
			}
		}
	}
	return all
}

// publish lets other nodes fetch a version.
func (s *values) publish(r transport.Ref, value any) {
	if v, ok := value.(versions.Value); ok {
		s.transport.Publish(r, v)
	}
}

// isHome reports whether r is the version in the program's memory.
func (h *held) isHome(r transport.Ref) bool { return h.home != nil && h.home.ref == r }

// has reports whether a version is there.
func (h *held) has(r transport.Ref) bool { return h.ref == r && h.err == nil && !h.coming }

// inHome reports whether the value is the program's memory.
func (h *held) inHome() bool { return h.home != nil && h.value == h.home.value }

// copy copies a version of this node into another value, and reports whether the node has it.
func (s *values) copy(into versions.Value, r transport.Ref) bool {
	s.mu.Lock()
	v := s.valueOf(r)
	if v == nil {
		s.mu.Unlock()
		return false
	}
	s.readers[r]++
	s.mu.Unlock()
	into.Restore(v)
	s.mu.Lock()
	if s.readers[r]--; s.readers[r] == 0 {
		delete(s.readers, r)
		s.readersDone.Broadcast()
	}
	s.mu.Unlock()
	return true
}

// valueOf returns the value of a version, nil if the node does not have it. The caller holds mu.
func (s *values) valueOf(r transport.Ref) versions.Value {
	h := s.held[keyOf(r)]
	switch {
	case h == nil:
	case h.isHome(r):
		v, _ := h.home.value.(versions.Value)
		return v
	case h.home != nil && h.home.base != nil && h.home.baseRef == r:
		return h.home.base
	case h.has(r):
		v, _ := h.value.(versions.Value)
		return v
	}
	return nil
}

// withdraw takes a version back, and returns when neither other nodes nor this one read it any
// more. The caller has seen to it that no new copy begins.
func (s *values) withdraw(r transport.Ref) {
	if s.changing != nil {
		s.changing(r)
	}
	s.transport.Drop(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.readers[r] > 0 {
		s.readersDone.Wait()
	}
}
