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

// Handler handles messages. It is called for one message of a sender at a time, in the order in
// which they were sent, and for several senders at once. The slice is the handler's. While it runs,
// no further message of that sender is handled, and in the end that sender's Send waits: this is
// the back-pressure.
type Handler func(from string, message []byte)

// Event says that a node has joined or left. An event about the node itself says that its transport
// cannot go on: other nodes cannot reach it any more, and it should end. Err is a *DeafError then.
type Event struct {
	Node   string
	Joined bool  // else it has left, or cannot be reached any more
	Err    error // why it has left; nil if it was closed in order
}

// Transport connects a node with the others of its cluster. Nodes have names, which other nodes do
// not use again; a node that starts anew under its name is seen to leave and to join. Its methods
// are safe for concurrent use.
//
// These promises hold for messages from one node to another, from the time when both see each other
// join to the time when one of them leaves or is seen to leave:
//   - Content: a message arrives as it was sent, as far as a checksum of 32 bits can tell. A damaged
//     one is dropped and sent again.
//   - Order: messages arrive in the order of their calls of Send.
//   - Duplicates: none arrives twice.
//   - Loss: a message whose Send has returned nil arrives. It is lost only if a node leaves before
//     it is handled; then a prefix of the sent messages has arrived, and nothing after it. A message
//     whose Send has failed arrives or does not.
//
// So the sender does not know which messages were handled: if it has to know, it asks for an
// answer. [Network] and the packages web and mpi keep these promises.
type Transport interface {
	// Self returns the name of this node, and Nodes the names of the other nodes that are there.
	Self() string
	Nodes() []string
	// Start delivers messages to h and events to e, one at a time, until Close. It is called once,
	// before the other methods except Self. Nodes that are there already are reported as events,
	// too.
	Start(h Handler, e func(Event)) error

	// Send sends a message to the handler of another node, or of this one. It waits while the
	// receiver is behind. The message belongs to the caller again when Send returns. The error is
	// an *UnreachableError, a *TooLargeError, ErrClosed, or the end of ctx.
	Send(ctx context.Context, to string, message []byte) error

	// Publish lets others fetch a value, which must not be written before Drop.
	// Publishing a Ref that is published replaces its value as Drop would.
	Publish(r Ref, v versions.Value)
	// Drop ends the publication. It returns when no fetch reads the value any more: fetches under
	// way end well, or at their own time-out. For a value that is not published it says that it
	// will not be: fetches that wait for it end.
	Drop(r Ref)
	// Fetch copies a value that another node has published into a value of its type, which has its
	// shape or no memory yet. If that node has not published it, Fetch waits there for at most
	// wait. The error is a *NotHereError if the value was not published, a *ChecksumError, an
	// *UnreachableError (caused by a *StalledError if no byte moves), the error of Value.Decode, or
	// the end of ctx; the content of into is undefined then.
	Fetch(ctx context.Context, from string, r Ref, wait time.Duration, into versions.Value) error

	// Close ends the connections, and returns when no handler runs and no goroutine is left. Other
	// nodes see this one leave.
	Close() error
}

// Prompt is a Transport that says when Send does not wait.
type Prompt interface {
	Transport
	// Prompt reports whether a few messages of usual size to another node would leave at once now:
	// no other goroutine sends to it, and it is not behind.
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

// StalledError says that no byte of a value or message moves between this node and another one,
// although short answers may: for example because a device between them drops large packets.
type StalledError struct {
	Node string
	For  time.Duration // how long none has moved; 0 if another node has seen it
}

func (e *StalledError) Error() string {
	if e.For == 0 {
		return fmt.Sprintf("transport: no byte of a value or a message has moved between this node and %s", e.Node)
	}
	return fmt.Sprintf("transport: no byte of a value or a message has moved between this node and %s for %v", e.Node,
		e.For)
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

// ChecksumError says that a value's bytes arrived damaged.
type ChecksumError struct {
	Node string
	Ref  Ref
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("transport: node %s sent %v with a wrong checksum", e.Node, e.Ref)
}
