package cluster

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// Messages have many similar tasks, or ends of tasks. So a message has each op, parameter, type,
// shape, version and node name once, in a list of strings, and its tasks as varints in one byte
// string. The CBOR of a task took 2.4 µs to encode and decode (2 cores, EPYC, 2026-11-24; go test
// ./exec/cluster -run '^$' -bench Empty/process/agents=4 -cpuprofile).
//
//	run      drops ref…, number of tasks, number of operands of all tasks, task…
//	task     has id op params, then by has: priority retries timeout constraints group; operands operand…
//	group    number rank; nodes node…
//	operand  has mode ref, then by has: nodes node…, type shape, ref of the copy
//	ref      job minus the message's job; matrix i j version
//	ended    end…: of tasks that have ended well; others are in Rest
//	end      id version took worker began
//
// Drops, operands and nodes are preceded by their number. Has is a byte of flags for optional
// fields.

// packedRun is the CBOR part of a run.
type packedRun struct {
	_     struct{} `cbor:",toarray"`
	Job   uint64
	Epoch uint64
	Trace bool
	Story bool
	Words []cbor.ByteString
}

// packedEnded is the CBOR part of an ended.
type packedEnded struct {
	_              struct{} `cbor:",toarray"`
	Job, Epoch     uint64
	Peak           int64
	Busy, Starving time.Duration
	Flows          []flow
	Copies         []copied
	Words          []cbor.ByteString
	Rest           []end // ends that are not plain
}

// plain reports whether a task has ended well at the first attempt.
func (e *end) plain() bool {
	return e.Fault == nil && len(e.Missing) == 0 && e.Why == "" && !e.Returned &&
		len(e.Before) == 0 && len(e.Fetched) == 0 && len(e.Released) == 0 && e.Arrived == 0
}

// pack implements packs.
func (m ended) pack() (head any, body []byte) {
	var rest []end
	p := packer{b: make([]byte, 0, 16+16*len(m.Ends))}
	for i := range m.Ends {
		if e := &m.Ends[i]; e.plain() {
			p.uint(e.ID)
			p.word(e.Version)
			p.int(int64(e.Took))
			p.int(int64(e.Worker))
			p.int(e.Began)
		} else {
			rest = append(rest, *e)
		}
	}
	return packedEnded{
		Job: m.Job, Epoch: m.Epoch, Peak: m.Peak, Busy: m.Busy, Starving: m.Starving,
		Flows: m.Flows, Copies: m.Copies, Words: p.words, Rest: rest,
	}, p.b
}

// unpack implements unpacks. It reuses the memory of m.Ends.
func (m *ended) unpack(b []byte) error {
	var x packedEnded
	b, err := decoding.UnmarshalFirst(b, &x)
	if err != nil {
		return err
	}
	*m = ended{
		Job: x.Job, Epoch: x.Epoch, Peak: x.Peak, Busy: x.Busy, Starving: x.Starving,
		Flows: x.Flows, Copies: x.Copies, Ends: m.Ends[:0],
	}
	if len(b) > 0 {
		m.Ends = slices.Grow(m.Ends, min(len(b)/5, 1<<10)+len(x.Rest))
	}
	for p := (unpacker{b: b, words: x.Words}); len(p.b) > 0; {
		e := end{ID: p.uint(), Version: p.word(), Took: time.Duration(p.int()), Worker: int(p.within()), Began: p.int()}
		if p.bad || len(m.Ends) >= 1<<20 {
			return errPacked
		}
		m.Ends = append(m.Ends, e)
	}
	for i := range x.Rest {
		if x.Rest[i].plain() {
			return errPacked
		}
	}
	m.Ends = append(m.Ends, x.Rest...)
	return nil
}

// Flags of a task, and of an operand, in the order of the arguments of flags.
const (
	hasPriority = 1 << iota
	hasRetries
	hasTimeout
	hasConstraints
	hasGroup
)

const (
	isZero = 1 << iota
	hasFrom
	hasType
	hasCopy
	isSoon
)

// flags returns a byte whose bit i is set if argument i is true.
func flags(all ...bool) (b byte) {
	for i, so := range all {
		if so {
			b |= 1 << i
		}
	}
	return b
}

// pack implements packs.
func (m run) pack() (head any, body []byte) {
	operands := 0
	for i := range m.Tasks {
		operands += len(m.Tasks[i].Operands)
	}
	p := packer{job: m.Job, b: make([]byte, 0, 16+16*len(m.Drops)+16*len(m.Tasks)+24*operands)}
	p.uint(uint64(len(m.Drops)))
	for _, r := range m.Drops {
		p.ref(r)
	}
	p.uint(uint64(len(m.Tasks)))
	p.uint(uint64(operands))
	for i := range m.Tasks {
		p.task(&m.Tasks[i])
	}
	return packedRun{Job: m.Job, Epoch: m.Epoch, Trace: m.Trace, Story: m.Story, Words: p.words}, p.b
}

// packer encodes the packed part of a message.
type packer struct {
	b     []byte
	job   uint64            // the message's, to which refs are relative
	words []cbor.ByteString // the list of strings
	index map[string]int    // of words
}

func (p *packer) uint(x uint64) { p.b = binary.AppendUvarint(p.b, x) }
func (p *packer) int(x int64)   { p.b = binary.AppendVarint(p.b, x) }

// word encodes a string as its index in words.
func (p *packer) word(s string) {
	n, ok := p.index[s]
	if !ok {
		if p.index == nil {
			p.index = map[string]int{}
		}
		n = len(p.words)
		p.index[s], p.words = n, append(p.words, cbor.ByteString(s))
	}
	p.uint(uint64(n))
}

func (p *packer) ref(r transport.Ref) {
	p.int(int64(r.Job - p.job))
	p.uint(uint64(r.Matrix))
	p.int(int64(r.I))
	p.int(int64(r.J))
	p.uint(uint64(r.Version))
}

func (p *packer) task(t *task) {
	has := flags(t.Priority != 0, t.Retries != 0, t.Timeout != 0, t.Constraints != "", t.Group != nil)
	p.b = append(p.b, has)
	p.uint(t.ID)
	p.word(t.Op)
	p.word(t.Params)
	if has&hasPriority != 0 {
		p.int(t.Priority)
	}
	if has&hasRetries != 0 {
		p.int(int64(t.Retries))
	}
	if has&hasTimeout != 0 {
		p.int(int64(t.Timeout))
	}
	if has&hasConstraints != 0 {
		p.word(t.Constraints)
	}
	if has&hasGroup != 0 {
		p.uint(t.Group.Number)
		p.uint(uint64(t.Group.Rank))
		p.uint(uint64(len(t.Group.Nodes)))
		for _, node := range t.Group.Nodes {
			p.word(node)
		}
	}
	p.uint(uint64(len(t.Operands)))
	for i := range t.Operands {
		p.operand(&t.Operands[i])
	}
}

func (p *packer) operand(o *operand) {
	has := flags(o.Zero, len(o.From) > 0, o.Type != "" || o.Shape != "", o.Copy != nil, o.Soon)
	p.b = append(p.b, has, byte(o.Mode))
	p.ref(o.Ref)
	if has&hasFrom != 0 {
		p.uint(uint64(len(o.From)))
		for _, node := range o.From {
			p.word(node)
		}
	}
	if has&hasType != 0 {
		p.word(o.Type)
		p.word(o.Shape)
	}
	if has&hasCopy != 0 {
		p.ref(*o.Copy)
	}
}

// unpack implements unpacks.
func (m *run) unpack(b []byte) error {
	var x packedRun
	b, err := decoding.UnmarshalFirst(b, &x)
	if err != nil {
		return err
	}
	p := unpacker{b: b, job: x.Job, words: x.Words}
	*m = run{Job: x.Job, Epoch: x.Epoch, Trace: x.Trace, Story: x.Story}
	if n := p.count(5); n > 0 {
		m.Drops = make([]transport.Ref, n)
		for i := range m.Drops {
			m.Drops[i] = p.ref()
		}
	}
	tasks := p.count(5)
	operands := make([]operand, p.count(7)) // of all tasks
	if tasks > 0 {
		m.Tasks = make([]task, tasks)
		for i := range m.Tasks {
			operands = p.task(&m.Tasks[i], operands)
		}
	}
	if p.bad || len(p.b) > 0 || len(operands) > 0 {
		return errPacked
	}
	return nil
}

// errPacked says that no packer has made a message.
var errPacked = errors.New("what is packed makes no sense")

// unpacker decodes what a packer has encoded. Anything else sets bad.
type unpacker struct {
	b     []byte
	job   uint64
	words []cbor.ByteString
	bad   bool
}

// fail makes all that follows 0.
func (p *unpacker) fail() { p.bad, p.b = true, nil }

func (p *unpacker) uint() uint64 {
	x, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return x
}

func (p *unpacker) int() int64 {
	x, n := binary.Varint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return x
}

// below decodes a uint below a limit.
func (p *unpacker) below(limit uint64) uint64 {
	x := p.uint()
	if x >= limit {
		p.fail()
		return 0
	}
	return x
}

// within decodes an int of 32 bits.
func (p *unpacker) within() int32 {
	x := p.int()
	if x != int64(int32(x)) {
		p.fail()
		return 0
	}
	return int32(x)
}

func (p *unpacker) byte() byte {
	if len(p.b) == 0 {
		p.fail()
		return 0
	}
	x := p.b[0]
	p.b = p.b[1:]
	return x
}

// count decodes a number of items that have at least size bytes each, all of which must be there.
func (p *unpacker) count(size int) int {
	return int(p.below(uint64(min(len(p.b)/size, 1<<20)) + 1))
}

func (p *unpacker) word() string {
	n := p.below(uint64(len(p.words)))
	if p.bad {
		return ""
	}
	return string(p.words[n])
}

func (p *unpacker) ref() (r transport.Ref) {
	r.Job = p.job + uint64(p.int())
	r.Matrix = uint32(p.below(1 << 32))
	r.I, r.J = p.within(), p.within()
	r.Version = uint32(p.below(1 << 32))
	return r
}

// task decodes a task. It takes the task's operands from the front of the given ones, and returns
// the others.
func (p *unpacker) task(t *task, operands []operand) []operand {
	has := p.byte()
	if has >= hasGroup<<1 {
		p.fail()
	}
	t.ID, t.Op, t.Params = p.uint(), p.word(), p.word()
	if has&hasPriority != 0 {
		t.Priority = p.int()
	}
	if has&hasRetries != 0 {
		t.Retries = int(p.within())
	}
	if has&hasTimeout != 0 {
		t.Timeout = time.Duration(p.int())
	}
	if has&hasConstraints != 0 {
		t.Constraints = p.word()
	}
	if has&hasGroup != 0 {
		number, rank := p.uint(), p.uint()
		nodes := make([]string, p.count(1))
		for i := range nodes {
			nodes[i] = p.word()
		}
		if rank >= uint64(len(nodes)) {
			p.fail()
			return operands
		}
		t.Group = &transport.Group{Number: number, Nodes: nodes, Rank: int(rank)}
	}
	n := int(p.below(uint64(len(operands)) + 1))
	if n == 0 {
		return operands
	}
	t.Operands = operands[:n:n]
	for i := range t.Operands {
		p.operand(&t.Operands[i])
	}
	return operands[n:]
}

func (p *unpacker) operand(o *operand) {
	has := p.byte()
	if has >= isSoon<<1 {
		p.fail()
	}
	o.Zero, o.Soon, o.Mode, o.Ref = has&isZero != 0, has&isSoon != 0, graph.Mode(p.byte()), p.ref()
	if has&hasFrom != 0 {
		if n := p.count(1); n > 0 {
			o.From = slices.Grow(o.From, n)[:n]
			for i := range o.From {
				o.From[i] = p.word()
			}
		}
	}
	if has&hasType != 0 {
		o.Type, o.Shape = p.word(), p.word()
	}
	if has&hasCopy != 0 {
		r := p.ref()
		o.Copy = &r
	}
}
