package cluster

import (
	"container/list"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// values are what a node has of a driver's jobs, and what may be used again: what was derived
// from them, and memory.
type values struct {
	transport transport.Transport
	known     known
	devices   exec.Forgetter // have copies of values; nil if there are none

	mu          sync.Mutex              // a leaf
	held        map[transport.Ref]*held // by the datum: its Ref with version 0
	readers     map[transport.Ref]int   // how many copy a version here, without the transport
	readersDone sync.Cond               // nobody copies some version any more

	bytes int64 // of values, but for those that are the program's
	peak  int64 // the most that there were

	derived        list.List // of *derived, that which was used last in front
	derivableBytes int64     // bytes of operands of which something may be derived

	recycled      map[kindOf][]recyclable // values that were dropped
	recycledBytes int64
	trimTimer     *time.Timer // runs out when the node has had nothing for spareTime
}

// held is a datum on a node. Its memory stays the same for all versions that come here,
// made or fetched. Its version
//
//	is on its way     on: those who want it wait
//	is there          err is nil, and not on
//	has not come      err says why
//	is to be written  err is errNothing: a task makes it here
type held struct {
	ref      transport.Ref // of the version that is there, or on its way
	value    any           // a versions.Value, or what only the driver has
	home     *home         // of a datum of the program, on the driver
	err      error         // why it did not come
	waiters  []waiter      // who waits for it; nil if it is there
	coming   bool          // on its way
	detached bool          // another value has taken its place, while it was on its way
	derived  []*derived    // of the version that is there
}

// derived is what tasks have made of a version for others that read it.
type derived struct {
	of    *held
	role  int
	value versions.Derived
	at    *list.Element // of store.derived
}

// waiter is told that a version is there, and how it came, or why it has not come.
type waiter interface {
	got(c arrival, err error)
}

// then is a waiter that waits for one version.
type then func(error)

func (f then) got(_ arrival, err error) { f(err) }

// keyOf returns what a Ref and its later versions have in common.
func keyOf(r transport.Ref) transport.Ref {
	r.Version = 0
	return r
}

// derivablePerWorker is the bytes of operands for each worker of which tasks derive something for
// others: it is as large again. Panels of some 30 tiles of 512×512.
const derivablePerWorker = 64 << 20

// derive returns what tasks that read a version share in a role, nil if it is not there.
// What was used the longest time ago makes room.
func (s *values) derive(r transport.Ref, role int, fresh func() versions.Derived) versions.Derived {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[keyOf(r)]
	if h == nil || h.ref != r || h.err != nil || h.coming {
		return nil
	}
	for _, d := range h.derived {
		if d.role == role {
			s.derived.MoveToFront(d.at)
			return d.value
		}
	}
	d := &derived{of: h, role: role, value: fresh()}
	d.at = s.derived.PushFront(d)
	h.derived = append(h.derived, d)
	s.derivableBytes -= bytesOf(h.value)
	for s.derivableBytes < 0 && s.derived.Len() > 1 {
		s.release(s.derived.Back().Value.(*derived))
	}
	return d.value
}

// release ends the sharing of what was derived. The caller holds mu.
func (s *values) release(d *derived) {
	s.derivableBytes += bytesOf(d.of.value)
	s.derived.Remove(d.at)
	d.of.derived = slices.DeleteFunc(d.of.derived, func(x *derived) bool { return x == d })
	d.value.Release()
}

// releaseDerived notes that a datum will be another version, or go. The caller holds mu.
func (s *values) releaseDerived(h *held) {
	for len(h.derived) > 0 {
		s.release(h.derived[0])
	}
}

// forgetOnDevices notes that a value that no task uses is going to be another one, or nobody's.
func (s *values) forgetOnDevices(value any) {
	if s.devices != nil {
		s.devices.Forget(value)
	}
}

// recycleTime is how long a node that has nothing keeps the memory of what it had.
const recycleTime = 10 * time.Second

// kindOf is what values must have in common for one to take the place of another one.
type kindOf struct{ name, shape string }

// recyclable is a value whose memory is kept.
type recyclable interface {
	versions.Shaped
	versions.Stored
}

// recycle keeps a value that nobody uses any more, for others of its kind: memory that the
// system is not asked for again. With what is kept a node has no more than it has had at once.
func (s *values) recycle(value any) {
	v, ok := value.(recyclable)
	if !ok {
		return
	}
	f := core.FactsOf(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := bytesOf(v); s.bytes+s.recycledBytes+n <= s.peak {
		if s.recycled == nil {
			s.recycled = map[kindOf][]recyclable{}
		}
		k := kindOf{f.Kind, f.Shape}
		s.recycled[k] = append(s.recycled[k], v)
		s.recycledBytes += n
	}
}

// removeHeld notes that a datum has gone. What is kept goes, too, if the node then has nothing for a
// while. The caller holds mu.
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
			s.recycled, s.recycledBytes = nil, 0
		}
	})
}

// newValue returns a value for an operand: one that was kept, or a new one, which is zero. The caller
// holds mu.
func (s *values) newValue(o *operand, zero bool) (any, error) {
	if v := s.reuse(o, zero); v != nil {
		return v, nil
	}
	return s.known.value(o.Type, o.Shape)
}

// reuse returns a value that was kept, nil if there is none of that kind. It is made zero if the task
// reads what nobody has written yet. The caller holds mu.
func (s *values) reuse(o *operand, zero bool) any {
	k := kindOf{o.Type, o.Shape}
	if len(s.recycled[k]) == 0 {
		return nil
	}
	v := s.takeRecycled(k)
	if m := v.Memory(); zero && m.Data != nil {
		for i := range m.Rows {
			clear(unsafe.Slice((*byte)(unsafe.Add(m.Data, int64(i)*m.Pitch)), m.Width))
		}
	}
	return v
}

// takeRecycled takes one of a kind that are kept. The caller holds mu.
func (s *values) takeRecycled(k kindOf) recyclable {
	all := s.recycled[k]
	v := all[len(all)-1]
	all[len(all)-1] = nil
	if s.recycled[k] = all[:len(all)-1]; len(all) == 1 {
		delete(s.recycled, k)
	}
	s.recycledBytes -= bytesOf(v)
	return v
}

// bytesOf returns how many bytes a value has, 0 if that is not known.
func bytesOf(v any) int64 {
	if v, ok := v.(versions.Value); ok {
		return v.Bytes()
	}
	return 0
}

// addBytes notes that there are more bytes than before, or fewer. The caller holds mu.
func (s *values) addBytes(by int64) {
	s.bytes += by
	s.peak = max(s.peak, s.bytes)
	for k := range s.recycled {
		for s.bytes+s.recycledBytes > s.peak && len(s.recycled[k]) > 0 {
			s.takeRecycled(k)
		}
	}
}

// peakBytes returns the bytes of the most values that the store has had.
func (s *values) peakBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// currentBytes returns the bytes of the values that the store has.
func (s *values) currentBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// comingTo returns the versions that are on their way, by what waits for them.
func (s *values) comingTo() map[waiter][]transport.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[waiter][]transport.Ref{}
	for _, h := range s.held {
		for _, w := range h.waiters {
			if _, task := w.(then); !task { // or else it cannot be a key
				all[w] = append(all[w], h.ref)
			}
		}
	}
	return all
}

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

// copy copies a version that the node has into another value, and reports whether it has it.
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

// valueOf returns the value of a version that the node has, nil if it has not. The caller holds mu.
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

// withdraw returns when nobody reads a version any more: others, which fetch it, or this node, which
// copies it. The node has it no more, so that nobody else begins to.
func (s *values) withdraw(r transport.Ref) {
	s.transport.Drop(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.readers[r] > 0 {
		s.readersDone.Wait()
	}
}
