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
// Movers take transfers in the order of their lane. They know nothing of tasks: startIn and
// startOut are called when a value may be copied. Until the transfer is over, the entry's flags
// in and out keep its block and its host memory as they are.

// run takes transfers until the accelerator is closed. It holds mu except while it waits or copies.
// Close waits for all transfers first, or the loss of the device has ended them, so none is left.
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

// takeIn enqueues the copy of t's value. The caller holds mu; takeIn unlocks it while it copies. The
// entry's flag in keeps the block in place. Afterwards t is in arriving, where poll finds it, or over
// with an error.
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
		// poll does nothing after the device is lost.
		a.endIn(t, a.lost)
	default:
		t.staged = true
		a.arriving = append(a.arriving, t)
	}
}

// takeOut copies t's value to the host. The caller holds mu; takeOut unlocks it while it copies. The
// host has the value only when the whole copy has succeeded. After an error the entry stays modified.
// The tile on the host then is partly overwritten, and nothing reads it.
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
		// If the device was lost meanwhile, lose has marked the value as lost. But the
		// copy has succeeded.
		e.lost = false
	} else {
		a.failed(err)
	}
	a.endOut(t, err)
}

// settle waits for the work that a failed copy has left on the stream. That work uses the block and
// the stages, so they must not be used again before. If the device is lost, nothing uses them.
func (m *mover) settle() {
	m.lane.mu.Lock()
	_ = m.lane.stream.Synchronize()
	m.lane.mu.Unlock()
}

// chunk returns how many rows of e one chunk has: as many whole rows as a stage takes, at least one.
func (m *mover) chunk(e *entry) int {
	return int(min(max(1, m.a.opt.Stage/e.mem.Width), int64(e.mem.Rows)))
}

// stage returns the next of the two stages, with at least n bytes. It waits until the copy that used
// the stage last has ended, the copy before the latest one. A stage that is too small is allocated
// anew. After an error the stage is unchanged or empty.
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

// copyIn enqueues a copy of e to its block at address at, and records done behind it. It holds the
// lane's lock for one chunk at a time, so chunks of other movers may come between. All movers share
// the bus in any case.
func (m *mover) copyIn(at Ptr, e *entry, done Event) error {
	rows := m.chunk(e)
	for i := 0; i < e.mem.Rows; i += rows {
		n := min(rows, e.mem.Rows-i)
		s, err := m.stage(int64(n) * e.mem.Width)
		if err != nil {
			return err
		}
		// The lane is unlocked here, so that several movers copy in parallel.
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

// copyOut copies e from its block at address at to the host, and returns when the value is there. The
// host copies one chunk to the tile while the device copies the next one to a stage.
func (m *mover) copyOut(at Ptr, e *entry) error {
	rows := m.chunk(e)
	var last *stage
	var first, held int // last holds rows first to first+held-1
	// finish waits until the chunk in last has arrived, and copies it to the tile.
	finish := func() error {
		if last == nil {
			return nil
		}
		if err := last.done.Synchronize(); err != nil {
			return err
		}
		moveRows(unsafe.Add(e.mem.Data, int64(first)*e.mem.Pitch), e.mem.Pitch, last.p, e.mem.Width, e.mem.Width, held)
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
		if err := finish(); err != nil {
			return err
		}
		last, first, held = s, i, k
	}
	return finish()
}

// free frees the stages and their events. Close calls it when the goroutine has ended. The device may
// be lost.
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
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*dpitch)), width),
			unsafe.Slice((*byte)(unsafe.Add(src, i*spitch)), width))
	}
}
