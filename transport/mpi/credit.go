package mpi

// Send waits while window messages, or roomBytes of them, are sent and not yet handled. The last one may
// exceed roomBytes. The receiver reports in time for a sender that waits: see outgoing.room.
const (
	window    = 64
	roomBytes = 4 << 20
)

// outgoing counts messages to another node, sent and known to be handled. It has no lock.
type outgoing struct {
	sent, sentBytes uint64
	done, doneBytes uint64
}

// room reports whether a message may be sent. If not, so much is under way that the receiver will
// report progress.
func (o *outgoing) room() bool {
	return o.sent-o.done < window && o.sentBytes-o.doneBytes < roomBytes
}

// prompt reports whether less than half of the room is taken: see transport.Prompt.
func (o *outgoing) prompt() bool {
	return o.sent-o.done < window/2 && o.sentBytes-o.doneBytes < roomBytes/2
}

func (o *outgoing) add(n int) {
	o.sent++
	o.sentBytes += uint64(n)
}

// handled notes the receiver's counts, and reports whether they are new. It ignores counts that
// exceed what was sent or fall behind earlier ones.
func (o *outgoing) handled(done, bytes uint64) bool {
	if done <= o.done || done > o.sent || bytes < o.doneBytes || bytes > o.sentBytes {
		return false
	}
	o.done, o.doneBytes = done, bytes
	return true
}

// incoming counts handled messages from another node, and those reported to it. It has no lock.
type incoming struct {
	handled, bytes  uint64
	told, toldBytes uint64
}

// add notes that a message was handled, and reports whether a report is due: the sender may wait
// for it.
func (i *incoming) add(n int) bool {
	i.handled++
	i.bytes += uint64(n)
	return i.handled-i.told >= window/4 || i.bytes-i.toldBytes >= roomBytes/4
}

// tell returns the counts to report now.
func (i *incoming) tell() (handled, bytes uint64) {
	i.told, i.toldBytes = i.handled, i.bytes
	return i.told, i.toldBytes
}
