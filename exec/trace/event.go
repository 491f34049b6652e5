package trace

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Event is one attempt at a task. Times count from the recorder's start, in the order Submitted,
// Ready, Start, End. As several goroutines read the clock, Submitted or Ready may come out a little
// too late.
type Event struct {
	Job     uint64 // number of the job in its runtime
	Task    uint64 // number of the task in its job
	Op      string // as in "gemm/f64"
	Version string // version that ran
	Worker  int    // worker that ran it

	// Datum, I and J name the first datum that the task writes: "A", 3, 2.
	// Empty if it writes none.
	Datum string
	I, J  int32

	Submitted time.Duration // 0 if unknown, like Ready
	Ready     time.Duration // when nothing was missing
	Start     time.Duration
	End       time.Duration
	Failed    bool
}

// Edge is a dependence of a task on an earlier one of its job.
type Edge struct {
	Job      uint64
	From, To uint64 // tasks
	Kind     graph.Dependence
	Bytes    int64 // size of its datum
}

// Pause is a time in which a full window stopped the submission of a job.
type Pause struct {
	Job        uint64
	Start, End time.Duration
}

// Copy is a copy of a value from the host to an accelerator, or back. Start and End are times of
// the host: when a mover took it, and when it was seen to be complete.
type Copy struct {
	Worker     int // the accelerator's worker
	Out        bool
	Job        uint64 // 0 if unknown
	Bytes      int64
	Start, End time.Duration
	// Node, if not empty, is the node that the copy came from. Its first worker is From, and Worker
	// is the first of the receiving node.
	Node string
	From int
}

// Wait is a time in which a worker on cores could not begin a task because an operand had to come
// back from an accelerator. It ends when the attempt starts.
type Wait struct {
	Worker     int
	Job, Task  uint64
	Start, End time.Duration
}

// NodeRows are the workers of a node of a cluster.
type NodeRows struct {
	Name           string
	First, Workers int // number of its first worker, and number of its workers
}

// Graph is the tasks of a job as they were submitted, from which the edges follow.
type Graph struct {
	Job   uint64
	Data  []graph.ProgramDatum
	Tasks []graph.ProgramTask
}
