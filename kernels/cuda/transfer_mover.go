package cuda

import (
	"time"
	"unsafe"
)

// A mover cuts a value into chunks of rows, so that the host copies one chunk while
// the device copies the one before:
//
//	in    host      │ 0 → stage a │ 1 → stage b │ 2 → stage a │
//	      stream                  │  a → tile   │  b → tile   │  a → tile   │ done
//
//	out   stream    │ 0 → stage a │ 1 → stage b │ 2 → stage a │
//	      host                    │  a → tile   │  b → tile   │  a → tile   │
//
// An event behind each copy says when its stage may be used again. Rows travel
// without their padding: stages hold them tightly.
//
// Movers take transfers in the order of their lane. They know of no tasks: what may
// be copied when is decided by the call that begins the transfer, and the flags in and out
// of the entry keep its block and its host memory as they are until it is over.

// stage is pinned memory on the way of a copy. done is behind the last copy that
// used it; nil before the first.
type stage struct {
	p    unsafe.Pointer
	n    int64
	done Event
}

// mover is a goroutine that copies in one direction, one value at a time. Its stages
// are its own. It holds two stages of pinned memory of up to Options.Stage bytes, or of
// one row where that is longer.
type mover struct {
	a      *Accelerator
	lane   *lane
	stages [2]stage
	next   int
}

// run copies until the accelerator is closed. It holds the accelerator's lock but while
// it copies. When that is closed none wait any more: Close or the loss of the device
// has seen to it.
func (m *mover) run() {
	a := m.a
	defer a.movers.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for len(m.lane.waiting) == 0 && !a.closed {
			a.work.Wait()
		}
		if a.closed {
			return
		}
		t := m.lane.waiting[0]
		m.lane.waiting = m.lane.waiting[1:]
		if t.out {
			m.takeOut(t)
		} else {
			m.takeIn(t)
		}
		a.tellCopies()
	}
}

// takeIn brings a value as far as onto the stream. The caller holds mu, which is
// given up meanwhile; the entry keeps its block, as in is set.
//
// When it returns, the transfer is one of those that poll looks at, or over with an
// error.
func (m *mover) takeIn(t *transfer) {
	a, e := m.a, t.e
	done, err := a.event()
	t.done, t.begin = done, time.Now()
	if err == nil {
		at := Ptr(e.block.at)
		a.mu.Unlock()
		if err = m.copyIn(at, e, done); err != nil {
			m.settle()
		}
		a.mu.Lock()
	}
	switch {
	case err != nil:
		a.failed(err)
		a.endIn(t, err)
	case a.lost != nil:
		// Nobody polls for it any more.
		a.endIn(t, a.lost)
	default:
		t.staged = true
		a.arriving = append(a.arriving, t)
	}
}

// takeOut brings a value to the host. The value counts as the host's only when all of
// it is there: an error in between leaves the entry modified, and the tile on the host
// in part overwritten, which nobody reads. The caller holds mu, which is given up
// meanwhile.
func (m *mover) takeOut(t *transfer) {
	a, e := m.a, t.e
	t.begin = time.Now()
	at := Ptr(e.block.at)
	a.mu.Unlock()
	err := m.copyOut(at, e)
	if err != nil {
		m.settle()
	}
	a.mu.Lock()
	if err == nil {
		// If the device was lost meanwhile the value was declared lost, too. It came
		// in time.
		e.lost = false
	} else {
		a.failed(err)
	}
	a.endOut(t, err)
}

// settle waits for what a copy that has failed has left on the stream, which
// uses the block and the stages: only then may they be given to others. The device
// may be lost; then nothing uses them.
func (m *mover) settle() {
	m.lane.mu.Lock()
	_ = m.lane.stream.Synchronize()
	m.lane.mu.Unlock()
}

// chunk returns how many rows of e travel at once. Rows are whole: at least one.
func (m *mover) chunk(e *entry) int {
	return int(min(max(1, m.a.opt.Stage/e.mem.Width), int64(e.mem.Rows)))
}

// stage returns the next stage, of at least n bytes, when it is free: it waits for
// the copy before the last one. It grows to the largest chunk that has come by.
// An error leaves the stage as it is, or empty.
func (m *mover) stage(n int64) (*stage, error) {
	s := &m.stages[m.next]
	m.next = 1 - m.next
	d := m.a.device
	if s.done == nil {
		e, err := d.NewEvent()
		if err != nil {
			return nil, err
		}
		s.done = e
	}
	// An event that was never recorded is reached at once.
	if err := s.done.Synchronize(); err != nil {
		return nil, err
	}
	if s.n < n {
		if s.p != nil {
			if err := d.FreeHost(s.p); err != nil {
				return nil, err
			}
			s.p, s.n = nil, 0
		}
		p, err := d.AllocHost(n)
		if err != nil {
			return nil, err
		}
		s.p, s.n = p, n
	}
	return s, nil
}

// copyIn enqueues a copy of e to its block at at, and done behind it. The stream's
// lock is held for one chunk at a time, so that other movers' chunks come between:
// they share the bus in any case.
func (m *mover) copyIn(at Ptr, e *entry, done Event) error {
	rows := m.chunk(e)
	for i := 0; i < e.mem.Rows; i += rows {
		n := min(rows, e.mem.Rows-i)
		s, err := m.stage(int64(n) * e.mem.Width)
		if err != nil {
			return err
		}
		// Without a lock: this is what movers are several for.
		moveRows(s.p, e.mem.Width, unsafe.Add(e.mem.Data, int64(i)*e.mem.Pitch), e.mem.Pitch, e.mem.Width, n)
		m.lane.mu.Lock()
		if m.a.opt.Poison && i == 0 {
			err = m.lane.stream.Fill(at, 0xff, e.size)
		}
		if err == nil {
			err = m.lane.stream.CopyIn(at+Ptr(int64(i)*e.pitch), e.pitch, s.p, e.mem.Width, e.mem.Width, n)
		}
		if err == nil {
			err = m.lane.stream.Record(s.done)
		}
		if err == nil && i+n == e.mem.Rows { // the last chunk
			err = m.lane.stream.Record(done)
		}
		m.lane.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// copyOut copies e from its block at at to the host, and returns when it is there.
// The host is one chunk behind the device.
func (m *mover) copyOut(at Ptr, e *entry) error {
	rows := m.chunk(e)
	var last *stage
	var first, n int // the rows that travel by way of last
	// land waits for the chunk before, while the one after is under way, and copies
	// it to the tile.
	land := func() error {
		if last == nil {
			return nil
		}
		if err := last.done.Synchronize(); err != nil {
			return err
		}
		moveRows(unsafe.Add(e.mem.Data, int64(first)*e.mem.Pitch), e.mem.Pitch, last.p, e.mem.Width, e.mem.Width, n)
		return nil
	}
	for i := 0; i < e.mem.Rows; i += rows {
		k := min(rows, e.mem.Rows-i)
		s, err := m.stage(int64(k) * e.mem.Width)
		if err != nil {
			return err
		}
		m.lane.mu.Lock()
		err = m.lane.stream.CopyOut(s.p, e.mem.Width, at+Ptr(int64(i)*e.pitch), e.pitch, e.mem.Width, k)
		if err == nil {
			err = m.lane.stream.Record(s.done)
		}
		m.lane.mu.Unlock()
		if err != nil {
			return err
		}
		if err := land(); err != nil {
			return err
		}
		last, first, n = s, i, k
	}
	return land()
}

// free gives the stages back. The device may be lost. Close calls it when the
// goroutine has ended.
func (m *mover) free() {
	for i := range m.stages {
		s := &m.stages[i]
		if s.done != nil {
			_ = s.done.Synchronize()
			m.a.keep(s.done.Close())
		}
		if s.p != nil {
			m.a.keep(m.a.device.FreeHost(s.p))
		}
	}
}

// moveRows copies rows of width bytes on the host. Rows lie dpitch and spitch bytes
// apart.
func moveRows(dst unsafe.Pointer, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) {
	for i := range int64(rows) {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*dpitch)), width), unsafe.Slice((*byte)(unsafe.Add(src, i*spitch)), width))
	}
}
