package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// A message is a byte with the protocol's version, a byte with the kind, and the CBOR of
// one of the structs below, as arrays; tasks and their ends are packed (packed.go). Values are no part of
// messages: a node that needs one fetches it. Every change of the structs raises the protocol's
// version. Nodes of unlike versions refuse each other's messages.

const protocol = 15

// kind is what a message is.
type kind byte

const (
	kindCall   kind = 1 + iota // the driver's: who is there? Its number never changes
	kindHello                  // an agent's answer; nor does its
	kindRun                    // tasks for an agent
	kindEnded                  // their ends
	kindForget                 // the driver's: a job has ended, or is cancelled, or a set of data has
	kindRecall                 // the driver's: tasks that had better go to another node
	kindQuery                  // the driver's: somebody wants to know what the agent is at
	kindStatus                 // its answer
)

// call asks a node what it is. At is the time of the driver's clock, as all times here in
// nanoseconds since some moment.
type call struct {
	_     struct{} `cbor:",toarray"`
	At    int64
	Epoch uint64 // of the node: it is another one each time that it joins, and never 0
}

// hello is what an agent says of itself.
type hello struct {
	_       struct{}   `cbor:",toarray"`
	Memory  int64      // Options.Memory
	Program string     // Options.Program
	Jobs    int        // of all drivers, and sets of data, that it has
	Parent  string     // Options.Parent
	Below   core.Below // the nodes below it
	Offer   offered
	// Called is when the driver called, by its clock, or unasked; Heard when the agent heard that,
	// and Said when it answers, by its own.
	Called, Heard, Said int64
	// Epoch is that of the call; 0 if the agent was not called, and has nothing of the
	// driver's any more.
	Epoch uint64
}

// check returns what a node offers that has said this in so many bytes, or what makes no sense in it.
func (m *hello) check(bytes int) (*core.Offer, error) {
	if m.Memory < 0 {
		return nil, fmt.Errorf("%d bytes of memory", m.Memory)
	}
	if m.Jobs < 0 || bytes > 1<<20 {
		return nil, fmt.Errorf("%d jobs, and %d bytes of what it says of itself", m.Jobs, bytes)
	}
	offer, err := m.Offer.offer()
	if err != nil {
		return nil, err
	}
	return offer, m.Below.Check()
}

// unasked is in place of the time of a call in what an agent says by itself.
const unasked = -1

// run is tasks of a job for a node, and what it need not keep any more.
type run struct {
	Job   uint64
	Epoch uint64 // of the node: the tasks are not for another one
	Trace bool   // the driver wants to know when and on which worker tasks run, and of copies
	Story bool   // the same, and for each task of what came for it
	Drops []transport.Ref
	Tasks []task
}

// task is a task for a node.
type task struct {
	ID       uint64
	Op       string // as graph.Op.OpName
	Params   string // as versions.EncodeParams
	Priority int64
	Retries  int
	Timeout  time.Duration
	// Constraints is the CBOR of the task's own, a *versions.Constraints; empty if it has none.
	Constraints string
	Operands    []operand

	spec *graph.Spec // the task itself, on the driver
}

// encodeConstraints returns those of a task, as they are sent.
func encodeConstraints(c *versions.Constraints) string {
	b, err := cbor.Marshal(c)
	if err != nil {
		panic(err) // they can be encoded
	}
	return string(b)
}

// decodeConstraints returns the constraints that encodeConstraints was given.
func decodeConstraints(text string) (*versions.Constraints, error) {
	c := &versions.Constraints{}
	if err := decoding.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("constraints: %w", err)
	}
	if c.Units < 0 || c.Memory < 0 {
		return nil, fmt.Errorf("constraints: %d units and %d bytes of memory", c.Units, c.Memory)
	}
	return c, nil
}

// operand is a datum that a task uses.
type operand struct {
	Ref    transport.Ref // the version that is there when the task begins
	Mode   graph.Mode
	givers        // if the task reads it and the node has not got it
	Type   string // of the value, as %T
	Shape  string // versions.Shaped's, if it is one
	// Zero says that nobody has written it yet: a new value will do.
	Zero bool
	// Copy, if there is one, is the version that is fetched in place of Ref: the task
	// updates a copy of it under another name.
	Copy *transport.Ref

	home *home // of an operand that the task must have in the program's memory
}

// givers are the nodes from which a version can be had, the first to be asked first. Soon says
// that it is about to fetch the version itself.
type givers struct {
	From []string
	Soon bool
}

// home is a datum in the program's memory, on the driver. What it holds at first is
// published. So that this stays, other versions are elsewhere, until the program wants
// one, or a task that cannot be executed elsewhere.
type home struct {
	value    any           // of the program
	ref      transport.Ref // the version that it holds
	retained bool          // it stays: there are nodes that may be lost
	facts    core.Facts    // as they were at first
	// base is a copy of the first version that made room for another one, if it stays.
	base    versions.Value
	baseRef transport.Ref
}

// operand returns what says which value has room for a version of the datum.
func (h *home) operand(r transport.Ref) *operand {
	return &operand{Ref: r, Type: h.facts.Kind, Shape: h.facts.Shape}
}

// ended is ends of tasks of a job.
type ended struct {
	Job   uint64
	Epoch uint64 // of the node that was given the tasks
	Ends  []end
	// Peak is the bytes of the most operands that the node has had, of the driver's. Busy
	// is the time of its workers in tasks, Starving that without one while tasks waited
	// for operands.
	Peak           int64
	Busy, Starving time.Duration
	Flows          []flow   // since the last message
	Copies         []copied // the same, one by one, for a job that is traced
}

// flow is values of a matrix that a node has fetched from another one.
type flow struct {
	_ struct{} `cbor:",toarray"`
	origin
	figures
}

// origin is from where values come, and of which matrix.
type origin struct {
	From   string
	Job    uint64 // or the set of data that stay
	Matrix uint32
}

// figures are those of a flow: how many values and bytes, the time that fetching them took,
// and that of workers without a task while some were awaited.
type figures struct {
	Values, Bytes int64
	Took, Waited  time.Duration
}

// copied is a value that a node has fetched, by its own clock.
type copied struct {
	_            struct{} `cbor:",toarray"`
	From         string
	Job          uint64
	Bytes, Began int64
	Took         time.Duration
}

// end is the end of a task.
type end struct {
	_     struct{} `cbor:",toarray"`
	ID    uint64
	Fault *fault // nil if it went well
	// Missing says what the node could not fetch, and Why: the task was not begun.
	Missing  []missing
	Why      string
	Returned bool // the driver has asked for the task: it was not begun, and its operands are there
	// Version and Took are those of the last attempt, and Worker and Began, by the
	// node's clock, if the job is traced. Before are earlier attempts of such a job.
	Version string
	Took    time.Duration
	Worker  int
	Began   int64
	Before  []attempt
	Fetched []arrival // what came for the task, if the driver wants to be told
	// Given, if there are any, are operands with which the task has finished, and will not
	// say so again. It goes on.
	Released []int
}

// missing is a version that did not come: from these nodes, as they could not be reached or nothing right
// came from there, and from those, as they do not have it.
type missing struct {
	_                    struct{} `cbor:",toarray"`
	Ref                  transport.Ref
	Unreachable, Without []string
}

// arrival is an operand of a task that came from another node, by the clock of the task's node.
type arrival struct {
	_            struct{} `cbor:",toarray"`
	Ref          transport.Ref
	From         string // empty: it did not come
	Bytes, Began int64
	Took         time.Duration
}

// attempt is an attempt that has failed.
type attempt struct {
	_       struct{} `cbor:",toarray"`
	Version string
	Took    time.Duration
	Worker  int
	Began   int64
}

// recall asks for tasks that have not begun: for the first few of these that can be had. When they
// are on their way, an end of task 0 follows.
type recall struct {
	_     struct{} `cbor:",toarray"`
	Job   uint64
	Tasks []uint64
	Count int
}

// forget says that a job has ended.
type forget struct {
	_   struct{} `cbor:",toarray"`
	Job uint64
}

// query asks an agent what it is at.
type query struct {
	_ struct{} `cbor:",toarray"`
}

// status is what an agent is at, of a driver's jobs.
type status struct {
	_             struct{} `cbor:",toarray"`
	Held          int64    // bytes of operands
	Busy, Waiting int      // workers in tasks, and tasks that wait for operands
	// Tasks are those that have been where they are for the longest, in that order.
	Tasks []taskStatus
}

// taskStatus is a task that a node has.
type taskStatus struct {
	_       struct{} `cbor:",toarray"`
	Job, ID uint64
	Stage   stage
	For     time.Duration   // that it has been there
	Wants   []transport.Ref // versions on their way
}

// stage is where on a node a task is.
type stage byte

const (
	stageWaits stage = iota // for operands
	stageReady              // for the node's runtime
	stageRuns               // the runtime has it
)

// maxStatus is how many tasks of a node a state has at most, and versions of a task.
const maxStatus = 16

// check returns what makes no sense in it.
func (s *status) check() error {
	bad := s.Held < 0 || min(s.Busy, s.Waiting) < 0 || len(s.Tasks) > maxStatus
	for _, t := range s.Tasks {
		bad = bad || t.For < 0 || t.Stage > stageRuns || len(t.Wants) > maxStatus
	}
	if bad {
		return errors.New("what it is at makes no sense")
	}
	return nil
}

// limits of what is decoded: more than any driver sends.
var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 10, MaxNestedLevels: 8}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// packs is a body that has a part after its CBOR, and unpacks reads both.
type (
	packs interface {
		pack() (head any, rest []byte)
	}
	unpacks interface{ unpack([]byte) error }
)

// encode returns a message.
func encode(k kind, body any) []byte {
	var rest []byte
	if p, ok := body.(packs); ok {
		body, rest = p.pack()
	}
	b, err := cbor.Marshal(body)
	if err != nil {
		panic(err) // the types above can be encoded
	}
	m := make([]byte, 0, 2+len(b)+len(rest))
	return append(append(append(m, protocol, byte(k)), b...), rest...)
}

// split returns the kind and the body of a message: the kind of one of another protocol, too.
func split(from string, m []byte) (kind, []byte, error) {
	if len(m) < 2 {
		return 0, nil, &MessageError{from, "it is empty"}
	}
	if m[0] != protocol {
		return kind(m[1]), nil, &MessageError{from, fmt.Sprintf("no message of protocol %d but of %d: the nodes are of unlike versions", protocol, m[0])}
	}
	return kind(m[1]), m[2:], nil
}

// decode reads the body of a message into x.
func decode(from string, body []byte, x any) error {
	read := func(b []byte) error { return decoding.Unmarshal(b, x) }
	if x, ok := x.(unpacks); ok {
		read = x.unpack
	}
	if err := read(body); err != nil {
		return &MessageError{from, err.Error()}
	}
	return nil
}
