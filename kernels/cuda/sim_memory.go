package cuda

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"
)

// Memory of a simulated device, and pinned memory. Both are memory of the host. A test that
// uses a wrong address gets an error with a reason, never other memory.

// compare compares addresses, for binary searches.
func (b simBlock) compare(p Ptr) int { return cmp.Compare(b.at, p) }

// init makes m the memory of the device with the given number, of n bytes.
func (m *simMemory) init(ordinal int, n int64) {
	m.cap = n
	// No process has addresses whose bits 62 and 63 differ, on any 64-bit processor
	// that Go supports.
	const tag = bits.UintSize - 2
	m.next = 1<<tag | Ptr(ordinal%64)<<(tag-8) | grain
}

// Alloc implements [Device]. Unlike a driver's, it never waits for the device, and has no
// fragmentation: it succeeds if n bytes are free.
func (d *Simulated) Alloc(n int64) (Ptr, error) {
	if err := d.called("Alloc", ""); err != nil {
		return 0, err
	}
	if n <= 0 {
		return 0, d.misused("Alloc", "", codeInvalid, "%d bytes", n)
	}
	p, free := d.memory.alloc(n)
	if p == 0 {
		return 0, &OutOfMemoryError{Device: d.name, Want: n, Free: free}
	}
	return p, nil
}

// alloc returns the address of n new bytes, or 0 and the number of bytes that are free.
func (m *simMemory) alloc(n int64) (p Ptr, free int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := roundUp(n, grain)
	if free := m.cap - m.used; size > free {
		return 0, free
	}
	// The rounded size counts as used. The block has only n bytes, so that an access
	// behind them is an error.
	b := simBlock{at: m.next, size: n, data: aligned(n)}
	poison(b.data)
	m.next += Ptr(size + grain) // the gap belongs to no allocation
	m.blocks = append(m.blocks, b)
	m.used += size
	m.peak = max(m.peak, m.used)
	return b.at, 0
}

// Free implements [Device]. It does not wait for streams that use the memory. Their next
// access is misuse.
func (d *Simulated) Free(p Ptr) error {
	if err := d.called("Free", ""); err != nil {
		return err
	}
	if why := d.memory.free(p); why != "" {
		return d.misused("Free", "", codeInvalid, "%#x %s", p, why)
	}
	return nil
}

// free gives the memory at p back, or returns why it cannot.
func (m *simMemory) free(p Ptr) (why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := slices.BinarySearchFunc(m.blocks, p, simBlock.compare)
	switch {
	case !ok:
		return "is no address that Alloc returned"
	case m.blocks[i].data == nil:
		return "was freed before"
	}
	m.used -= roundUp(m.blocks[i].size, grain)
	m.blocks[i].data = nil
	// Freed blocks are removed when they are the majority, so that searches stay fast.
	if m.dead++; m.dead > keptFreed && 2*m.dead > len(m.blocks) {
		m.blocks = slices.DeleteFunc(m.blocks, func(b simBlock) bool { return b.data == nil })
		m.dead = 0
	}
	return ""
}

// keptFreed is the number of freed blocks that stay in any case, for better errors.
const keptFreed = 1024

// find returns n bytes at p, or why they cannot be used. p may be any address inside an
// allocation, since callers add offsets to the addresses that Alloc returned.
func (m *simMemory) find(p Ptr, n int64) (b []byte, why string) {
	if n == 0 {
		return nil, ""
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, ok := slices.BinarySearchFunc(m.blocks, p, simBlock.compare)
	if !ok {
		i--
	}
	switch {
	case i < 0 || uint64(p-m.blocks[i].at) >= uint64(m.blocks[i].size):
		return nil, "no allocation has it"
	case m.blocks[i].data == nil:
		return nil, "the allocation was freed"
	case int64(p-m.blocks[i].at) > m.blocks[i].size-n:
		return nil, "beyond the end of the allocation"
	}
	o := int64(p - m.blocks[i].at)
	return m.blocks[i].data[o : o+n : o+n], ""
}

// usage returns the number of bytes that are allocated, and the largest number that ever was.
func (m *simMemory) usage() (used, peak int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.used, m.peak
}

// clear frees everything.
func (m *simMemory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks, m.used, m.dead = nil, 0, 0
}

// AllocHost implements [Device]. The memory is ordinary memory of the program. The device
// notes its address for FreeHost.
func (d *Simulated) AllocHost(n int64) (unsafe.Pointer, error) {
	if err := d.called("AllocHost", ""); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, d.misused("AllocHost", "", codeInvalid, "%d bytes", n)
	}
	b := aligned(n)
	poison(b)
	p := unsafe.Pointer(unsafe.SliceData(b))
	d.mu.Lock()
	d.pinned[p] = n
	d.mu.Unlock()
	return p, nil
}

// FreeHost implements [Device]. It does not notice a copy under way that uses the memory.
func (d *Simulated) FreeHost(p unsafe.Pointer) error {
	if err := d.called("FreeHost", ""); err != nil {
		return err
	}
	d.mu.Lock()
	_, ok := d.pinned[p]
	delete(d.pinned, p)
	d.mu.Unlock()
	if !ok {
		return d.misused("FreeHost", "", codeInvalid, "%p is no address that AllocHost returned", p)
	}
	return nil
}

// aligned returns n bytes that begin on a cache line.
func aligned(n int64) []byte {
	const line = 64
	raw := make([]byte, n+line)
	o := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % line)
	return raw[o : o+n : o+n]
}

// poison makes every element of b NaN, whether b holds float32 or float64.
func poison(b []byte) {
	const nan = 0xff // all bytes of one
	for i := range b[:min(len(b), 64)] {
		b[i] = nan
	}
	for done := 64; done < len(b); done *= 2 {
		copy(b[done:], b[:done])
	}
}
