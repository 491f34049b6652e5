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

// A message is a byte with the version of the protocol, a byte with the kind, and the CBOR of one
// of the structs below, as arrays; tasks and their ends are packed (packed.go). Messages have no
// values: a node that needs one fetches it. Every change of the structs raises the protocol's
// version. Nodes of different versions refuse each other's messages.
//
//	driver ── call, run, recall, order, query, forget ──► agent
//	driver ◄── hello, ended, status ────────────── agent

const protocol = 17

// kind is what a message is.
type kind byte

const (
	kindCall   kind = 1 + iota // from the driver: are you an agent? The number never changes
	kindHello                  // from an agent: the answer. The number never changes
	kindRun                    // from the driver: tasks
	kindEnded                  // from an agent: ends of tasks
	kindForget                 // from the driver: a job has ended, or is cancelled, or a set of data is released
	kindRecall                 // from the driver: give back tasks for another node
	kindQuery                  // from the driver: what are you doing?
	kindStatus                 // from an agent: the answer
	kindOrder                  // from the driver: what a rank of a group is to do
)

// call asks a node for its hello. Like all times in messages, At is in nanoseconds since an arbitrary moment,
// here on the clock of the driver.
type call struct {
	_     struct{} `cbor:",toarray"`
	At    int64
	Epoch uint64 // names the node anew each time that it joins; never 0
	// Above has the names of the nodes above a caller that is an agent, the nearest first, and at last "", for
	// drivers. It is nil if the caller is a driver of a program.
	Above []string
}

// hello is the description that an agent gives of itself.
type hello struct {
	_       struct{}   `cbor:",toarray"`
	Memory  int64      // Options.Memory
	Program string     // Options.Program
	Jobs    int        // jobs of all drivers, and sets of data, that it has
	Parent  string     // Options.Parent
	Below   core.Below // sums over the nodes below it
	Offer   offered
	// Called is the time of the call on the driver's clock, or unasked. Heard is when the agent received it, and
	// Said when it answers, on the agent's clock.
	Called, Heard, Said int64
	// Epoch is that of the call, 0 if the agent was not called or has dropped the driver.
	Epoch uint64
}

// check returns what the sender of the hello offers. The error says which field is impossible. bytes is the
// size of the message.
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

// unasked stands for the time of a call in a hello without a call.
const unasked = -1

// run is tasks of a job for a node, and versions to be dropped.
type run struct {
	Job   uint64
	Epoch uint64 // of the node for which the tasks are
	Trace bool   // report when and on which worker tasks run, and fetches
	Story bool   // the same, and for each task the arrival of its operands
	Drops []transport.Ref
	Tasks []task
}

// task is a task for a node.
type task struct {
	ID       uint64
	Op       string // its OpName
	Params   string // encoded by versions.EncodeParams
	Priority int64
	Retries  int
	Timeout  time.Duration
	// Constraints is the CBOR of the task's *versions.Constraints, "" if it has none.
	Constraints string
	Operands    []operand
	// Group, if it is not nil, says that the task is a rank of a group. It begins when an order says so.
	Group *transport.Group

	spec *graph.Spec // the task itself, for the driver's own node
}

// encodeConstraints encodes a task's constraints.
func encodeConstraints(c *versions.Constraints) string {
	b, err := cbor.Marshal(c)
	if err != nil {
		panic(err) // they can be encoded
	}
	return string(b)
}

// decodeConstraints decodes and checks a task's constraints.
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
	Ref    transport.Ref // the version before the task
	Mode   graph.Mode
	givers        // if the task reads it and the node does not have it
	Type   string // of the value, as by %T
	Shape  string // of a versions.Shaped
	// Zero says that no task has written the datum: the node makes a zero value.
	Zero bool
	// Copy, if not nil, is the version that is fetched in place of Ref. The task updates a copy of it under the name
	// Ref.
	Copy *transport.Ref

	home *home // if the task must have it in the program's memory
}

// givers are the nodes from which a version can be fetched, in the order in which they are asked. Soon says
// that the first node is still fetching the version.
type givers struct {
	From []string
	Soon bool
}

// home is a datum in the memory of the program, on the driver. The driver publishes its first contents. If
// retained is set, later versions go into other memory, until the program, or a task that only the driver can
// execute, needs one in place.
type home struct {
	value    any           // the value of the program
	ref      transport.Ref // the version that it holds; zero while it is overwritten
	retained bool          // there are nodes that may be lost
	facts    core.Facts    // of the value at first
	// base is a copy of the first version, if retained is set and another version has taken its place.
	base    versions.Value
	baseRef transport.Ref
}

// operand returns an operand for a version of the datum.
func (h *home) operand(r transport.Ref) *operand {
	return &operand{Ref: r, Type: h.facts.Kind, Shape: h.facts.Shape}
}

// ended reports ends of tasks of a job.
type ended struct {
	Job   uint64
	Epoch uint64 // of the node that got the tasks
	Ends  []end
	// Peak is the most bytes of operands that the node has had for the driver. Busy is the time of its workers in
	// tasks, Starving their time without one while tasks waited for operands.
	Peak           int64
	Busy, Starving time.Duration
	Flows          []flow   // since the last message
	Copies         []copied // the same fetches one by one, for a traced job
}

// flow is values of a matrix that a node has fetched from another one.
type flow struct {
	_ struct{} `cbor:",toarray"`
	origin
	figures
}

// origin is a node that gives values, and the matrix of the values.
type origin struct {
	From   string
	Job    uint64 // the number of the job, or of the set of kept data
	Matrix uint32
}

// figures are those of a flow: the numbers of values and bytes, the time of fetching them, and the
// flow's share of the node's Starving.
type figures struct {
	Values, Bytes int64
	Took, Waited  time.Duration
}

// copied is a value that a node has fetched. Began is on its own clock.
type copied struct {
	_            struct{} `cbor:",toarray"`
	From         string
	Job          uint64
	Bytes, Began int64
	Took         time.Duration
}

// end is the end of a task, or another report about it.
type end struct {
	_     struct{} `cbor:",toarray"`
	ID    uint64
	Fault *fault // nil if it went well
	// Missing is what the node could not fetch, and Why is the reason. The task has not begun.
	Missing  []missing
	Why      string
	Returned bool // the task goes back; it has not begun, and its operands are there
	// Version and Took are those of the last attempt. If the job is traced, so are Worker and Began, on the node's
	// clock, and Before has the earlier attempts.
	Version string
	Took    time.Duration
	Worker  int
	Began   int64
	Before  []attempt
	Fetched []arrival // arrivals of operands, if the run asked for the story
	// Released, if not empty, are operands that the task has finished with. The task goes on.
	Released []int
	// Arrived, if not 0, is the number of a group of which the task is a rank, that can begin and waits for an order.
	Arrived uint64
}

// missing is a version that could not be fetched: Unreachable nodes did not answer or gave damaged
// values, Without are nodes that do not have it.
type missing struct {
	_                    struct{} `cbor:",toarray"`
	Ref                  transport.Ref
	Unreachable, Without []string
}

// arrival is an operand of a task that came from another node. Began is on the clock of the task's
// node.
type arrival struct {
	_            struct{} `cbor:",toarray"`
	Ref          transport.Ref
	From         string // "" if it did not come from another node
	Bytes, Began int64
	Took         time.Duration
}

// attempt is a failed attempt at a task.
type attempt struct {
	_       struct{} `cbor:",toarray"`
	Version string
	Took    time.Duration
	Worker  int
	Began   int64
}

// recall asks a node to give back the first Count of these tasks that have not begun. An end of
// task 0 follows them.
type recall struct {
	_     struct{} `cbor:",toarray"`
	Job   uint64
	Tasks []uint64
	Count int
}

// order tells a rank of a group to begin, or else that the group does not go on: then it goes back if it has not
// begun, and should end if it has.
type order struct {
	_     struct{} `cbor:",toarray"`
	Job   uint64
	Task  uint64
	Begin bool
}

// forget says that a job has ended.
type forget struct {
	_   struct{} `cbor:",toarray"`
	Job uint64
}

// query asks an agent for its status.
type query struct {
	_ struct{} `cbor:",toarray"`
}

// status is what an agent is doing for a driver.
type status struct {
	_             struct{} `cbor:",toarray"`
	Held          int64    // bytes of operands
	Busy, Waiting int      // workers in tasks, and tasks that wait for operands
	// Tasks are those that have been at their stage for the longest, in that order.
	Tasks []taskStatus
}

// taskStatus is a task on a node.
type taskStatus struct {
	_       struct{} `cbor:",toarray"`
	Job, ID uint64
	Stage   stage
	For     time.Duration   // how long it has been at the stage
	Wants   []transport.Ref // versions that are on their way
}

// stage is where a task is on its node.
type stage byte

const (
	stageWaits stage = iota // for operands
	stageReady              // at the gate of the node's runtime
	stageRuns               // in the runtime
)

// maxStatus bounds the tasks of a status, and the versions of a task.
const maxStatus = 16

// check returns what is impossible in a status.
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

// decoding bounds what is decoded, above what any driver sends.
var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 10, MaxNestedLevels: 8}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// packs is a body with a part after its CBOR. unpacks reads both.
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
		panic(err) // not for the types above
	}
	m := make([]byte, 0, 2+len(b)+len(rest))
	return append(append(append(m, protocol, byte(k)), b...), rest...)
}

// split returns the kind and the body of a message. The kind is valid for other protocols, too.
func split(from string, m []byte) (kind, []byte, error) {
	if len(m) < 2 {
		return 0, nil, &MessageError{from, "it is empty"}
	}
	if m[0] != protocol {
		why := fmt.Sprintf("no message of protocol %d but of %d: the nodes are of unlike versions", protocol, m[0])
		return kind(m[1]), nil, &MessageError{from, why}
	}
	return kind(m[1]), m[2:], nil
}

// decode decodes the body of a message into x.
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
