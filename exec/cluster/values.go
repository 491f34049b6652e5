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
	through transport.Transport
	known   known
	devices exec.Forgetter // have copies of values; nil if there are none

	mu     sync.Mutex              // a leaf
	held   map[transport.Ref]*held // by the datum: its Ref with version 0
	copied map[transport.Ref]int   // how many copy a version here, without the transport
	quiet  sync.Cond               // nobody copies some version any more

	bytes int64 // of values, but for those that are the program's
	peak  int64 // the most that there were

	derived list.List // of *derived, that which was used last in front
	room    int64     // bytes of operands of which something may be derived

	spare      map[kindOf][]spared // values that were dropped
	spareBytes int64
	fades      *time.Timer // runs out when the node has had nothing for spareTime
}

// held is a datum on a node. Its memory stays the same for all versions that come here,
// made or fetched. Its version
//
//	is on its way     on: those who want it wait
//	is there          err is nil, and not on
//	has not come      err says why
//	is to be written  err is errNothing: a task makes it here
type held struct {
	ref   transport.Ref // of the version that is there, or on its way
	value any           // a versions.Value, or what only the driver has
	home  *home         // of a datum of the program, on the driver
	err   error         // why it did not come
	wants []waiter      // who waits for it; nil if it is there
	on    bool          // on its way
	apart bool          // another value has taken its place, while it was on its way
	made  []*derived    // of the version that is there
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
	got(c came, err error)
}

// then is a waiter that waits for one version.
type then func(error)

func (f then) got(_ came, err error) { f(err) }

// datum returns what a Ref and its later versions have in common.
func datum(r transport.Ref) transport.Ref {
	r.Version = 0
	return r
}

// derivedRoom is the bytes of operands for each worker of which tasks derive something for
// others: it is as large again. Panels of some 30 tiles of 512×512.
const derivedRoom = 64 << 20

// derive returns what tasks that read a version share in a role, nil if it is not there.
// What was used the longest time ago makes room.
func (s *values) derive(r transport.Ref, role int, fresh func() versions.Derived) versions.Derived {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[datum(r)]
	if h == nil || h.ref != r || h.err != nil || h.on {
		return nil
	}
	for _, d := range h.made {
		if d.role == role {
			s.derived.MoveToFront(d.at)
			return d.value
		}
	}
	d := &derived{of: h, role: role, value: fresh()}
	d.at = s.derived.PushFront(d)
	h.made = append(h.made, d)
	s.room -= bytesOf(h.value)
	for s.room < 0 && s.derived.Len() > 1 {
		s.release(s.derived.Back().Value.(*derived))
	}
	return d.value
}

// release ends the sharing of what was derived. The caller holds mu.
func (s *values) release(d *derived) {
	s.room += bytesOf(d.of.value)
	s.derived.Remove(d.at)
	d.of.made = slices.DeleteFunc(d.of.made, func(x *derived) bool { return x == d })
	d.value.Release()
}

// changes notes that a datum will be another version, or go. The caller holds mu.
func (s *values) changes(h *held) {
	for len(h.made) > 0 {
		s.release(h.made[0])
	}
}

// overwrites notes that a value that no task uses is going to be another one, or nobody's.
func (s *values) overwrites(value any) {
	if s.devices != nil {
		s.devices.Forget(value)
	}
}

// spareTime is how long a node that has nothing keeps the memory of what it had.
const spareTime = 10 * time.Second

// kindOf is what values must have in common for one to take the place of another one.
type kindOf struct{ name, shape string }

// spared is a value whose memory is kept.
type spared interface {
	versions.Shaped
	versions.Stored
}

// spares keeps a value that nobody uses any more, for others of its kind: memory that the
// system is not asked for again. With what is kept a node has no more than it has had at once.
func (s *values) spares(value any) {
	v, ok := value.(spared)
	if !ok {
		return
	}
	f := core.FactsOf(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := bytesOf(v); s.bytes+s.spareBytes+n <= s.peak {
		if s.spare == nil {
			s.spare = map[kindOf][]spared{}
		}
		k := kindOf{f.Kind, f.Shape}
		s.spare[k] = append(s.spare[k], v)
		s.spareBytes += n
	}
}

// leaves notes that a datum has gone. What is kept goes, too, if the node then has nothing for a
// while. The caller holds mu.
func (s *values) leaves(r transport.Ref) {
	if delete(s.held, r); len(s.held) > 0 {
		return
	}
	if s.fades != nil {
		s.fades.Reset(spareTime)
		return
	}
	s.fades = time.AfterFunc(spareTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.held) == 0 {
			s.spare, s.spareBytes = nil, 0
		}
	})
}

// fresh returns a value for an operand: one that was kept, or a new one, which is zero. The caller
// holds mu.
func (s *values) fresh(o *operand, zero bool) (any, error) {
	if v := s.again(o, zero); v != nil {
		return v, nil
	}
	return s.known.value(o.Type, o.Shape)
}

// again returns a value that was kept, nil if there is none of that kind. It is made zero if the task
// reads what nobody has written yet. The caller holds mu.
func (s *values) again(o *operand, zero bool) any {
	k := kindOf{o.Type, o.Shape}
	if len(s.spare[k]) == 0 {
		return nil
	}
	v := s.takes(k)
	if m := v.Memory(); zero && m.Data != nil {
		for i := range m.Rows {
			clear(unsafe.Slice((*byte)(unsafe.Add(m.Data, int64(i)*m.Pitch)), m.Width))
		}
	}
	return v
}

// takes takes one of a kind that are kept. The caller holds mu.
func (s *values) takes(k kindOf) spared {
	all := s.spare[k]
	v := all[len(all)-1]
	all[len(all)-1] = nil
	if s.spare[k] = all[:len(all)-1]; len(all) == 1 {
		delete(s.spare, k)
	}
	s.spareBytes -= bytesOf(v)
	return v
}

// bytesOf returns how many bytes a value has, 0 if that is not known.
func bytesOf(v any) int64 {
	if v, ok := v.(versions.Value); ok {
		return v.Bytes()
	}
	return 0
}

// grows notes that there are more bytes than before, or fewer. The caller holds mu.
func (s *values) grows(by int64) {
	s.bytes += by
	s.peak = max(s.peak, s.bytes)
	for k := range s.spare {
		for s.bytes+s.spareBytes > s.peak && len(s.spare[k]) > 0 {
			s.takes(k)
		}
	}
}

// most returns the bytes of the most values that the store has had.
func (s *values) most() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// now returns the bytes of the values that the store has.
func (s *values) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// awaited returns the versions that are on their way, by what waits for them.
func (s *values) awaited() map[waiter][]transport.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[waiter][]transport.Ref{}
	for _, h := range s.held {
		for _, w := range h.wants {
			if _, task := w.(then); !task { // or else it cannot be a key
				all[w] = append(all[w], h.ref)
			}
		}
	}
	return all
}

func (s *values) publish(r transport.Ref, value any) {
	if v, ok := value.(versions.Value); ok {
		s.through.Publish(r, v)
	}
}

// isHome reports whether r is the version in the program's memory.
func (h *held) isHome(r transport.Ref) bool { return h.home != nil && h.home.ref == r }

// has reports whether a version is there.
func (h *held) has(r transport.Ref) bool { return h.ref == r && h.err == nil && !h.on }

// inHome reports whether the value is the program's memory.
func (h *held) inHome() bool { return h.home != nil && h.value == h.home.value }

// copy copies a version that the node has into another value, and reports whether it has it.
func (s *values) copy(into versions.Value, r transport.Ref) bool {
	s.mu.Lock()
	v := s.here(r)
	if v == nil {
		s.mu.Unlock()
		return false
	}
	s.copied[r]++
	s.mu.Unlock()
	into.Restore(v)
	s.mu.Lock()
	if s.copied[r]--; s.copied[r] == 0 {
		delete(s.copied, r)
		s.quiet.Broadcast()
	}
	s.mu.Unlock()
	return true
}

// here returns the value of a version that the node has, nil if it has not. The caller holds mu.
func (s *values) here(r transport.Ref) versions.Value {
	h := s.held[datum(r)]
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

// takesBack returns when nobody reads a version any more: others, which fetch it, or this node, which
// copies it. The node has it no more, so that nobody else begins to.
func (s *values) takesBack(r transport.Ref) {
	s.through.Drop(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.copied[r] > 0 {
		s.quiet.Wait()
	}
}
