package cuda

import (
	"sync"
	"time"

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

// A transfer waits in its lane until a mover takes it:
//
//	         startIn               takeIn                      poll
//	in   ───────────► waiting ───────────────► arriving ──────────────► over
//	                  (hurry: first)          on the stream   done reached
//
//	         startOut              takeOut
//	out  ───────────► waiting ───────────────────────────────────────► over
//	                               the mover waits for the device itself
//
// A copy in need not be waited for: calls that read the value wait on the device.
// A copy out has to be, since its bytes go from the stage to the tile when they are
// there; so it keeps its mover until then.

// transfer is a copy of a value in or out. The accelerator's lock guards it.
type transfer struct {
	e     *entry
	out   bool
	begin time.Time

	// In: all of it is on the stream, and done is behind it. Then the host's
	// memory is not read any more, only the stages are.
	staged bool
	done   Event

	over bool // with or without an error
	err  error
}

// lane is the stream of one direction and the transfers that wait for it.
type lane struct {
	// mu guards the stream: a Stream is for one goroutine at a time, and several
	// movers use it.
	mu     sync.Mutex
	stream Stream
	// The accelerator's lock guards these.
	waiting []*transfer
	speed   speed
}

// maxTries is how often a copy to the host is tried. Then the device is given up:
// what only it has cannot be had, and a call that waits for room would wait for ever.
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

// endIn concludes a copy in. If it failed, the entry has no contents, and its room
// goes unless a call holds it; that call finds the error. The caller holds mu.
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

// endOut concludes a copy out. One that failed leaves the entry modified: a call that
// wants the value begins another one. The caller holds mu.
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
	} else if e.tries++; e.tries >= maxTries {
		a.lose(err)
	}
}

// tell learns from a copy that has ended, and notes it for OnCopy, in the name of
// the job that used the value last. The caller holds mu.
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

// speed is how fast one direction has been of late: a mean in which each copy counts
// for an eighth. Placing goes by it: see Bring and Back.
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
