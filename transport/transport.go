package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Ref names one immutable value: the version of a datum in a job. A write makes the
// next version. It is comparable. In messages it is an array.
type Ref struct {
	_       struct{} `cbor:",toarray"`
	Job     uint64
	Matrix  uint32
	I, J    int32
	Version uint32
}

// MessageLimit is the largest message that the transports of Tessera take, in bytes.
const MessageLimit = 64 << 20

// Handler gets messages. It is called for one message of a sender at a time, in the
// order in which that sent them, and for several senders at once. The slice is the
// handler's. While it runs, no further message of that sender comes, and in the end
// that one's Send waits: this is the back-pressure.
type Handler func(from string, message []byte)

// Event says that a node has come or gone. One of the node itself says that its transport cannot go
// on: others do not reach it any more, and it should end. Err is a *DeafError then.
type Event struct {
	Node   string
	Joined bool  // or else it has left, or cannot be reached any more
	Err    error // why it has left; nil if it was closed, and has said so
}

// Transport connects a node with the others of its cluster. Nodes have names, which are
// not used again by others; a node that begins anew under its name is seen to leave and to
// join. Its methods are safe for concurrent use.
//
// What is promised of messages from one node to another, from the time when both see each
// other join to the time when one of them leaves, or is seen to leave:
//   - Whole: what comes is what was sent, as far as a checksum of 32 bits can tell. What is
//     damaged on the way is dropped, and sent again.
//   - Order: messages come in the order of their calls of Send.
//   - Duplicates: none comes twice.
//   - Loss: one whose Send has returned nil comes. It is lost only if a node leaves before
//     it is handled; then a beginning of what was sent has come, and nothing after that.
//     One whose Send has failed comes or does not.
//
// So the sender cannot know what the other side has handled: who has to know asks for an
// answer. [Network] and the packages web and mpi keep these promises.
type Transport interface {
	// Self returns the name of this node, and Nodes those of the others that are there.
	Self() string
	Nodes() []string
	// Start has messages go to h and events to e, one at a time, until Close. It is
	// called once, before the other methods but Self. Nodes that are there already
	// come as events, too.
	Start(h Handler, e func(Event)) error

	// Send sends a message to the handler of another node, or of this one. It waits as
	// long as the other side is behind. The message is the caller's again when Send
	// returns. The error is an *UnreachableError, a *TooLargeError, ErrClosed, or the
	// end of ctx.
	Send(ctx context.Context, to string, message []byte) error

	// Publish lets others fetch a value, which must not be written before Drop.
	// Publishing a Ref that is published replaces its value as Drop would.
	Publish(r Ref, v versions.Value)
	// Drop ends that. It returns when nobody reads the value any more: fetches on the
	// way end well, or at their own time-out. Of what is not published it says that it
	// will not be: fetches that wait for it end.
	Drop(r Ref)
	// Fetch brings a value that another node has published into a value of its type,
	// which has its shape or no memory yet. If that node has not published it, Fetch
	// waits for so long there that it does; 0 is not at all. The error is a *NotHereError
	// if it has not, a *ChecksumError, an *UnreachableError, of which a *StalledError is the
	// cause if no byte moves, that of Value.Decode, or the end of ctx; what is in the value
	// then is undefined.
	Fetch(ctx context.Context, from string, r Ref, wait time.Duration, into versions.Value) error

	// Close ends the connections, and returns when no handler runs and no goroutine
	// is left. Other nodes see this one leave.
	Close() error
}

// Prompt is a Transport that says when Send does not wait.
type Prompt interface {
	Transport
	// Prompt reports whether some messages of usual size to another node would leave at once, as it
	// looks now: nobody else is sending to it, and it is not behind.
	Prompt(to string) bool
}

// UnreachableError says that a node is not there, or does not answer.
type UnreachableError struct {
	Node string
	Err  error // why, if that is known
}

func (e *UnreachableError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("transport: node %s cannot be reached", e.Node)
	}
	return fmt.Sprintf("transport: node %s cannot be reached: %v", e.Node, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// DeafError says that a node cannot be reached any more, as its listener has failed for good.
type DeafError struct {
	Node string
	Err  error
}

func (e *DeafError) Error() string {
	return fmt.Sprintf("transport: node %s takes no connections any more: %v", e.Node, e.Err)
}

// Unwrap returns the cause.
func (e *DeafError) Unwrap() error { return e.Err }

// StalledError is why a node cannot be reached from which, or to which, no byte moves, though it may
// answer what is short: as where what is between drops large packets.
type StalledError struct {
	Node string
	For  time.Duration // that none has moved; 0 if that was seen by another one
}

func (e *StalledError) Error() string {
	if e.For == 0 {
		return fmt.Sprintf("transport: no byte of a value or a message has moved between this node and %s", e.Node)
	}
	return fmt.Sprintf("transport: no byte of a value or a message has moved between this node and %s for %v", e.Node, e.For)
}

// TooLargeError says that a message is larger than the transport sends.
type TooLargeError struct {
	Size, Limit int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("transport: a message of %d bytes, the limit is %d", e.Size, e.Limit)
}

// NotHereError says that a node has not published a value.
type NotHereError struct {
	Node string
	Ref  Ref
}

func (e *NotHereError) Error() string {
	return fmt.Sprintf("transport: node %s does not have %v", e.Node, e.Ref)
}

// ChecksumError says that the bytes of a value that came are not those that were sent.
type ChecksumError struct {
	Node string
	Ref  Ref
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("transport: node %s sent %v with a wrong checksum", e.Node, e.Ref)
}
