package mpi

// window is how many messages of a node another one may not have handled yet, and roomBytes
// how many bytes of them, before Send waits. One message more may always go.
const (
	window    = 64
	roomBytes = 4 << 20
)

// outgoing counts messages to another node: those that were sent, and those of which is
// known that they were handled. It has no lock.
type outgoing struct {
	sent, sentBytes uint64
	done, doneBytes uint64
}

// room reports whether a message may be sent. Who may not has so much under way that the
// other side will tell when it has handled some.
func (o *outgoing) room() bool {
	return o.sent-o.done < window && o.sentBytes-o.doneBytes < roomBytes
}

// prompt reports whether there is room for some more.
func (o *outgoing) prompt() bool {
	return o.sent-o.done < window/2 && o.sentBytes-o.doneBytes < roomBytes/2
}

func (o *outgoing) add(n int) {
	o.sent++
	o.sentBytes += uint64(n)
}

// handled notes what the other side says, and reports whether that is news. It may not claim
// to have handled what was not sent, nor take back what it has said.
func (o *outgoing) handled(done, bytes uint64) bool {
	if done <= o.done || done > o.sent || bytes < o.doneBytes || bytes > o.sentBytes {
		return false
	}
	o.done, o.doneBytes = done, bytes
	return true
}

// incoming counts messages from another node that were handled, and of how many of them the
// other side was told. It has no lock.
type incoming struct {
	handled, bytes  uint64
	told, toldBytes uint64
}

// add notes that a message was handled, and reports whether the other side has to be told: it
// may wait.
func (i *incoming) add(n int) bool {
	i.handled++
	i.bytes += uint64(n)
	return i.handled-i.told >= window/4 || i.bytes-i.toldBytes >= roomBytes/4
}

// tell returns what the other side is told now.
func (i *incoming) tell() (handled, bytes uint64) {
	i.told, i.toldBytes = i.handled, i.bytes
	return i.told, i.toldBytes
}
