package cuda

import "unsafe"

// pinnedBytes is the size of the pinned memory for data other than tiles that calls
// send and receive.
const pinnedBytes = 1 << 20

// pinned lends small pieces of pinned memory of the host. A copy needs pinned memory to
// run in the background; with other memory the caller waits while the driver copies.
// Pieces come from one allocation, since the driver may wait for the device to allocate.
// A large piece has an allocation of its own. The accelerator's lock guards it.
type pinned struct {
	device Device
	arena  *arena
	base   unsafe.Pointer
}

// pin is a piece of pinned memory.
type pin struct {
	p unsafe.Pointer
	b *block // of the arena; nil if it was allocated for itself
}

// lend returns n bytes. The error is the device's. A piece of the arena begins on a
// multiple of grain; the allocation itself is aligned by the device.
func (m *pinned) lend(n int64) (pin, error) {
	if m.base == nil {
		p, err := m.device.AllocHost(pinnedBytes)
		if err != nil {
			return pin{}, err
		}
		m.base, m.arena = p, newArena()
		m.arena.grow(0, pinnedBytes)
	}
	if b := m.arena.alloc(roundUp(n, grain)); b != nil {
		return pin{unsafe.Add(m.base, b.at), b}, nil
	}
	p, err := m.device.AllocHost(n)
	return pin{p, nil}, err
}

// giveBack takes back a piece that nothing on the device uses any more.
func (m *pinned) giveBack(p pin) error {
	if p.b != nil {
		m.arena.release(p.b)
		return nil
	}
	return m.device.FreeHost(p.p)
}

// free frees the allocation. Nothing may be lent.
func (m *pinned) free() error {
	if m.base == nil {
		return nil
	}
	p := m.base
	m.base = nil
	return m.device.FreeHost(p)
}
