package cluster

import (
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// A message is a byte with the protocol's version, a byte with the kind, and the CBOR of
// one of the structs below, as arrays. Values are no part of messages: who needs one
// fetches it. The protocol's version is raised by every change of the structs; nodes of
// unlike versions refuse each other's messages.

const protocol = 3

// kind is what a message is.
type kind byte

const (
	kindCall  kind = 1 + iota // the driver's: who is there?
	kindHello                 // an agent's answer
	kindRun                   // tasks for an agent
	kindEnded                 // their ends
	kindOver                  // the driver's: a job has ended, or is cancelled, or a set of data has
)

// hello is what an agent says of itself.
type hello struct {
	_       struct{} `cbor:",toarray"`
	Workers int
	Memory  int64 // Options.Memory
}

// run is tasks of a job for a node, and what it need not keep any more.
type run struct {
	_     struct{} `cbor:",toarray"`
	Job   uint64
	Drops []transport.Ref
	Tasks []task
}

// task is a task for a node.
type task struct {
	_        struct{} `cbor:",toarray"`
	ID       uint64
	Op       string // as graph.Op.OpName
	Params   []byte // as versions.EncodeParams
	Priority int64
	Retries  int
	Timeout  time.Duration
	Operands []operand

	spec *graph.Spec // the task itself, on the driver
}

// operand is a datum that a task uses.
type operand struct {
	_     struct{}      `cbor:",toarray"`
	Ref   transport.Ref // the version that is there when the task begins
	Mode  graph.Mode
	From  []string // who has it, if the task reads it and the node has not
	Type  string   // of the value, as %T
	Shape []byte   // versions.Shaped's, if it is one
	// Zero says that nobody has written it yet: a new value will do.
	Zero bool
	// Copy, if there is one, is the version that is fetched in place of Ref: the task
	// updates a copy of it under another name.
	Copy *transport.Ref

	home *home // of an operand that the task must have in the program's memory
}

// home is a datum in the program's memory, on the driver. What it holds at first is
// published. So that this stays, other versions are elsewhere, until the program wants
// one, or a task that cannot be executed elsewhere.
type home struct {
	value any           // of the program
	ref   transport.Ref // the version that it holds
	fixed bool          // it stays: there are nodes that may be lost
	// base is a copy of the first version that made room for another one, if it stays.
	base    versions.Value
	baseRef transport.Ref
}

// ended is ends of tasks of a job.
type ended struct {
	_    struct{} `cbor:",toarray"`
	Job  uint64
	Ends []end
	// Peak is the bytes of the most operands that the node has had, of the driver's. Busy
	// is the time of its workers in tasks, Starving that without one while tasks waited
	// for operands.
	Peak           int64
	Busy, Starving time.Duration
}

// end is the end of a task.
type end struct {
	_     struct{} `cbor:",toarray"`
	ID    uint64
	Fault *fault // nil if it went well
	// Missing says what the node could not fetch, and Why: the task was not begun.
	Missing []transport.Ref
	Why     string
}

// over says that a job has ended.
type over struct {
	_   struct{} `cbor:",toarray"`
	Job uint64
}

// limits of what is decoded: more than any driver sends.
var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 10, MaxNestedLevels: 8}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// encode returns a message.
func encode(k kind, body any) []byte {
	b, err := cbor.Marshal(body)
	if err != nil {
		panic(err) // the types above can be encoded
	}
	return append([]byte{protocol, byte(k)}, b...)
}

// split returns the kind and the body of a message.
func split(from string, m []byte) (kind, []byte, error) {
	if len(m) < 2 || m[0] != protocol {
		return 0, nil, &MessageError{from, fmt.Sprintf("no message of protocol %d", protocol)}
	}
	return kind(m[1]), m[2:], nil
}

// decode reads the body of a message into x.
func decode(from string, body []byte, x any) error {
	if err := decoding.Unmarshal(body, x); err != nil {
		return &MessageError{from, err.Error()}
	}
	return nil
}
