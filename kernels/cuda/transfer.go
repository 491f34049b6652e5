package cuda

import (
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Values are copied through pinned memory that belongs to the accelerator:
//
//	tile on the host ──memcpy──► stage (pinned) ──stream──► tile on the device
//
// Pinning the tiles themselves would save the memcpy. But it costs as much if a tile is
// copied only once. It is impossible for tiles that share pages with others, such as
// those of a view. And it ties their memory to the device until it is undone. Several
// goroutines hide the cost of the memcpy: they copy in parallel, and each fills one of its
// two stages while the other one is copied.

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
// A mover need not wait for a copy in: calls that read the value wait on the device. It
// has to wait for a copy out, since it then moves the bytes from the stage to the tile.

// startIn begins to copy e in. e has a block. The caller holds mu.
func (a *Accelerator) startIn(e *entry) {
	t := &transfer{e: e}
	e.arriving = t
	a.cache.beginIn(e)
	a.moving++
	a.in.waiting = append(a.in.waiting, t)
	a.work.Broadcast()
}

// hurry moves the waiting copy of e, if there is one, to the front of the lane, because a
// goroutine waits for it. The caller holds mu.
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

// tell updates the speed of a lane by a copy that has ended, and notes the copy for OnCopy.
// It attributes the copy to the latest job that began to use the value. The caller holds
// mu.
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

// guess is the speed that time assumes before anything was copied, in seconds per byte. It is
// about that of PCIe 3.0 with sixteen lanes.
const guess = 1 / 12e9

// learn adds a copy to the mean. Copies overlap, so a copy that began before the last one
// ended counts only the time since that end.
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
