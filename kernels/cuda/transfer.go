package cuda

import (
	"sync"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/versions"
)

// Values travel by way of pinned memory of the accelerator's own:
//
//	tile on the host ──memcpy──► stage (pinned) ──stream──► tile on the device
//
// Pinning the tiles themselves would spare the memcpy, but costs as much where a
// tile travels once, cannot be done for tiles that share pages with others, as
// those of a view do, and ties their memory to the device until it is undone.
// What the memcpy costs is hidden by several goroutines that copy at once, each
// with two stages, of which one is filled while the other one travels.

// transfer is a copy of a value in or out.
type transfer struct {
	e     *entry
	out   bool
	begin time.Time

	// In: all of it is on the stream, and done is behind it. Then the host's
	// memory is not read any more.
	staged bool
	done   Event

	over bool // with or without an error
	err  error
}

// lane is the stream of one direction and the transfers that wait for it.
type lane struct {
	mu      sync.Mutex // of the stream: a leaf
	stream  Stream
	waiting []*transfer // the accelerator's lock guards it
	speed   speed       // and this
}

// maxTries is how often a copy to the host is tried.
const maxTries = 3

// startIn begins to bring e in, which has a block. The caller holds mu.
func (a *Accelerator) startIn(e *entry) {
	t := &transfer{e: e}
	e.arriving = t
	a.cache.beginIn(e)
	a.moving++
	a.in.waiting = append(a.in.waiting, t)
	a.work.Broadcast()
}

// hurry has the copy of e that waits in a lane, if it does, be the next one:
// somebody waits for it. The caller holds mu.
func (l *lane) hurry(e *entry) {
	w := l.waiting
	for i, t := range w {
		if t.e == e {
			copy(w[1:i+1], w[:i])
			w[0] = t
			return
		}
	}
}

// startOut begins to write e back. The caller holds mu.
func (a *Accelerator) startOut(e *entry) {
	a.cache.beginOut(e)
	a.moving++
	a.outs++
	a.out.waiting = append(a.out.waiting, &transfer{e: e, out: true})
	a.work.Broadcast()
}

// endIn concludes a copy in. The caller holds mu.
func (a *Accelerator) endIn(t *transfer, err error) {
	e := t.e
	t.over, t.err = true, err
	a.moving--
	e.arriving = nil
	a.recycle(t.done)
	t.done = nil
	a.cache.endIn(e, err == nil)
	switch {
	case err == nil:
		a.stats.In += e.bytes()
		a.stats.Ins++
		a.tell(t, &a.in)
	case !e.busy():
		a.cache.drop(e)
	}
}

// endOut concludes a copy out, or has it tried again. The caller holds mu.
func (a *Accelerator) endOut(t *transfer, err error) {
	e := t.e
	a.moving--
	a.outs--
	a.cache.endOut(e, err == nil)
	if err == nil {
		e.tries = 0
		a.stats.Out += e.bytes()
		a.stats.Outs++
		a.tell(t, &a.out)
		return
	}
	if e.tries++; e.tries >= maxTries {
		a.lose(err)
	}
}

// tell learns from a copy that has ended, and tells of it.
func (a *Accelerator) tell(t *transfer, l *lane) {
	now := time.Now()
	l.speed.learn(t.e.bytes(), t.begin, now)
	if a.onCopy != nil {
		c := versions.Copy{Out: t.out, Bytes: t.e.bytes(), Begin: t.begin, Took: now.Sub(t.begin)}
		if n := len(t.e.jobs); n > 0 {
			c.Job = t.e.jobs[n-1]
		}
		a.told = append(a.told, c)
	}
}

// stage is pinned memory on the way of a copy, and when it is free again.
type stage struct {
	p    unsafe.Pointer
	n    int64
	done Event
}

// mover is a goroutine that copies in one direction.
type mover struct {
	a      *Accelerator
	lane   *lane
	stages [2]stage
	next   int
}

// run copies until the accelerator is closed.
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

// takeIn brings a value as far as onto the stream. The caller holds mu.
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
		a.endIn(t, a.lost)
	default:
		t.staged = true
		a.arriving = append(a.arriving, t)
	}
}

// takeOut brings a value to the host. The caller holds mu.
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
		e.lost = false // it came in time
	} else {
		a.failed(err)
	}
	a.endOut(t, err)
}

// settle waits for what a copy that has failed has left on the stream, which
// uses the block and the stages. The device may be lost.
func (m *mover) settle() {
	m.lane.mu.Lock()
	_ = m.lane.stream.Synchronize()
	m.lane.mu.Unlock()
}

// chunk returns how many rows of e travel at once.
func (m *mover) chunk(e *entry) int {
	return int(min(max(1, m.a.opt.Stage/e.mem.Width), int64(e.mem.Rows)))
}

// stage returns the next stage, of at least n bytes, when it is free.
func (m *mover) stage(n int64) (*stage, error) {
	s := &m.stages[m.next]
	m.next = 1 - m.next
	d := m.a.device
	if s.done == nil {
		var err error
		if s.done, err = d.NewEvent(); err != nil {
			s.done = nil
			return nil, err
		}
	}
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

func (m *mover) copyIn(at Ptr, e *entry, done Event) error {
	rows := m.chunk(e)
	for i := 0; i < e.mem.Rows; i += rows {
		n := min(rows, e.mem.Rows-i)
		s, err := m.stage(int64(n) * e.mem.Width)
		if err != nil {
			return err
		}
		m.a.moveRows(s.p, e.mem.Width, unsafe.Add(e.mem.Data, int64(i)*e.mem.Pitch), e.mem.Pitch, e.mem.Width, n)
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
		if err == nil && i+n == e.mem.Rows {
			err = m.lane.stream.Record(done)
		}
		m.lane.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *mover) copyOut(at Ptr, e *entry) error {
	rows := m.chunk(e)
	var last *stage
	var first, n int // the rows that travel by way of last
	land := func() error {
		if last == nil {
			return nil
		}
		if err := last.done.Synchronize(); err != nil {
			return err
		}
		m.a.moveRows(unsafe.Add(e.mem.Data, int64(first)*e.mem.Pitch), e.mem.Pitch, last.p, e.mem.Width, e.mem.Width, n)
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

// free gives the stages back. The device may be lost.
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

// moveRows copies rows of width bytes on the host.
func (a *Accelerator) moveRows(dst unsafe.Pointer, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) {
	if a.opt.Unwatched {
		moveUnwatched(dst, dpitch, src, spitch, width, rows)
		return
	}
	for i := range int64(rows) {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, i*dpitch)), width), unsafe.Slice((*byte)(unsafe.Add(src, i*spitch)), width))
	}
}

// moveUnwatched is moveRows without the race detector.
//
//go:norace
func moveUnwatched(dst unsafe.Pointer, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) {
	for i := range int64(rows) {
		copyUnwatched(unsafe.Slice((*byte)(unsafe.Add(dst, i*dpitch)), width), unsafe.Slice((*byte)(unsafe.Add(src, i*spitch)), width))
	}
}

// speed is how fast one direction has been of late.
type speed struct {
	perByte float64 // seconds
	last    time.Time
}

// guess is the speed before anything was copied, in seconds a byte: that of a
// PCIe bus of the third generation with sixteen lanes.
const guess = 1 / 12e9

// learn takes a copy in. Copies overlap: one takes the time since the last one
// ended, if it began before.
func (s *speed) learn(bytes int64, begin, end time.Time) {
	if s.last.After(begin) {
		begin = s.last
	}
	s.last = end
	if took := end.Sub(begin).Seconds(); bytes > 0 && took > 0 {
		x := took / float64(bytes)
		if s.perByte == 0 {
			s.perByte = x
		} else {
			s.perByte += (x - s.perByte) / 8
		}
	}
}

// time returns how long a copy is expected to take.
func (s *speed) time(bytes int64) time.Duration {
	p := s.perByte
	if p == 0 {
		p = guess
	}
	return max(time.Duration(p*float64(bytes)*1e9), 1)
}
