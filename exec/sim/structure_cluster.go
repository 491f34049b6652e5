package sim

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// The data structures of runtimes on several nodes. Functions on them are in the other files:
//
//	driver ──► node ──► channel, one each way; execution (a batch to be sent); fetch (queued)
//	  ├──► value ──► the nodes that have it; coming: its fetches
//	  └──► inbox: ended ──► end, flow

// driver is a driver with its nodes, for the job of the program or of the children of a task.
//
//	Submit ─► driver: graph, core ─► Run, in a batch ─► node: values from others ─► gate ─► crew
//	          driver: graph, core ◄─ Ended, in a batch ◄──────────────────────────── ends ◄──┘
//
// The driver does one thing at a time; messages wait meanwhile.
type driver struct {
	*world
	clock         *clock
	program       *core.Core // decides about the program's tasks
	core          *core.Core // decides now: program, or one that computes lost data again
	nodes         []*node
	of            []*node // node of each crew
	values        []value // by number of the datum
	inbox         []ended
	taken         int  // handled messages at the front of the inbox
	readScheduled bool // an event that reads the inbox is in the calendar
	needs         []core.Need
	unsent        []int // nodes with a batch to be sent
	freed         []*graph.Task
	spare         *execution
	spareFetch    *fetch
	lossState
}

// ended is a message of a node to the driver.
type ended struct {
	node  *node
	ends  []end
	flows []flow
	news  func() // not nil: the message is that the node is lost, or has come
}

// end is the end of a task.
type end struct {
	task graph.TaskID
	took float64
	back bool
	// lacks are the values that no node has, so that the task has not started.
	lacks []core.Need
}

// flow is a finished transfer.
type flow struct {
	from  int
	bytes int64
	took  float64
}

// clusterJob is an [exec.Job] on several nodes.
type clusterJob struct {
	job
	driver *driver
	core   *core.Core
}

// node is a node of a cluster that executes tasks: it fetches their operands, and starts as many
// tasks as its gate admits.
//
//	driver: batch ─► to ─► receive ─► accept ─► fetch ─► ready ─► gate ─► crew
//	driver: inbox ◄─ from ◄─ ends ◄──────────────────────────────────────┘
type node struct {
	driver *driver
	id     int
	crew   *crew
	gate   core.Gate[*graph.Task]

	to    channel      // messages from the driver: tasks
	batch []*execution // tasks to be sent
	from  channel      // messages to the driver: ends
	ends  []end
	flows []flow
	old   ended // memory of a handled message, for the next one

	queue    []*fetch // fetches to be started
	fetching int      // started and not ended

	dead bool // it has stopped …
	lost bool // … and the driver knows
}

// channel carries one message at a time. The next one leaves when a core has handled the previous
// one, since nodes do not wait for answers; if messages take no time of cores, when the previous
// one has arrived. What is to be sent meanwhile goes into the next message.
type channel struct {
	free float64
	due  bool // the next message is about to leave
}

// letter is a message that cores handle: tasks for a node, or its ends for the driver.
type letter struct {
	n     *node
	batch []*execution
	ended ended
}

// execution is a task that a node has received and that has not reached its gate.
type execution struct {
	task    *graph.Task
	needs   []core.Need
	missing int
	lacks   []core.Need // values that no node has
	next    *execution  // of those to be used again
}

// value is a datum and the nodes that have its latest version. It takes three cache lines; the
// first has what each task uses.
type value struct {
	of      *graph.Datum
	version int
	nodes   []int32
	coming  []coming // its transfers under way, in no order
	bytes   int64
	askers  []coming // fetches that wait for their source, by that node, to get it first

	// Where nodes may be lost:
	lent   []int32 // nodes that have it as another datum
	before []int32 // nodes that had the previous version when the latest was made …
	maker  int     // … by this one

	_ [40]byte
}

// coming is a transfer to a node, or of a node that a fetch waits for.
type coming struct {
	node int
	by   *fetch
}

// fetch is the transfer of a value from another node.
//
//	queue ─► begin ─► asked ─► given ─► begins ─► ends ─► the value is there
//	           └─► the source has yet to get it: askers ─► asks
type fetch struct {
	n     *node
	need  core.Need
	then  func()
	waits []*execution
	since float64
	still int    // steps that are not over: the transfer, and the cores' work on either node
	next  *fetch // of those to be used again
	begun bool
	cut   bool // cancelled: a node is lost
}

// lossState is a driver's state if nodes may be lost.
type lossState struct {
	lossy      bool
	scripted   bool // the failures are in the calendar
	recovering *clusterJob
	remaking   *core.Recovery // the tasks of the recovery
	latest     string         // the last node to be lost
	losses     Losses
}
