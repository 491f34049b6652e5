package sim

import (
	"context"
	"math/rand/v2"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/heap"
	"github.com/tessera-la/tessera/versions"
)

// The data structures of runtimes on one node. Functions on them are in the other files, none of
// which this one uses:
//
//	world ──► calendar, recorder      events to come, each with a handler; events that have happened
//	  └──► crew ──► worker ──► run ──► flight ──► task
//	         ├──► host ──► socket ──► class ──► ending
//	         ├──► device ──► memory
//	         └──► meter, Tally
//	job ──► graph ──► tasks; a parent is a task that has a job of its own

// world is the common part of runtimes in virtual time: the clock, the calendar, the workers.
type world struct {
	opt      Options
	m        *Machine
	selector *versions.Selector
	workers  []exec.Worker
	crews    []*crew
	calendar calendar
	now      float64
	since    float64 // when counting began
	began    uint64  // runs started so far
	rng      *rand.Rand
	tasks    graph.Pool
	jobs     uint64
	err      error // why the simulation cannot go on
	closed   bool
	rec      *recorder

	clock   clock
	parents map[*parent]bool // parents whose bodies have not returned
	// children returns the job of a parent's children.
	children func(*parent) exec.Job

	// files is the time at which the shared file system has finished all requests so far.
	files float64
	// full is how long the window was full, without the time since pause; paused says that it is
	// full now.
	full, pause float64
	paused      bool
}

// clock is the time of a driver or submitter, which does one thing at a time.
type clock struct {
	// free is when its present work ends, and worked how long it will have worked by then.
	free, worked float64
}

// crew is the workers of a node, and the ready tasks that they take from a queue of package
// dispatch.
//
//	push ─► queue ─► a worker that is free ─► socket ─► ended ─► freed tasks ─► push …
//
// As in package exec, new work wakes at most one worker, the one that went to sleep last, and that
// one wakes the next if there is more.
type crew struct {
	world    *world
	node     int
	kind     *Kind
	speeds   *speeds
	host     *host
	shares   []*coreShare // the node's shares of the host's sockets
	queue    *dispatch.Queue
	wide     dispatch.Wide // tasks that wait for several workers of a socket
	workers  []worker
	asleep   []int // the last one to sleep at the end
	waking   bool  // a woken worker is on its way to the queue
	freed    []*graph.Task
	one      [1]*graph.Task
	spare    *run
	extra    float64 // seconds for each task beyond Costs.Task
	first    int     // number of the first worker in recordings
	busy     int     // workers that have a task
	tally    Tally
	held     int64           // bytes of values on the node
	fixed    graph.Locations // the locations of its workers, if there are several
	in, out  float64         // when the link is free of what comes from other nodes, and goes to them
	clock    *clock          // of the driver that gives the node tasks
	own      clock           // of submitters on the node itself
	asDriver *clock          // of the node as the driver of children; nil: it is none
	below    []*crew         // the nodes that it drives, itself first
	meter    meter
	devices  []*device // their workers come after those on cores; nil: none
	where    places    // values that are not on the host alone
	slot     int       // the node in predictions
	dead     bool      // the node is lost
}

// worker is a worker of a crew.
type worker struct {
	run    *run // nil if it has no task
	socket int
	since  float64 // since when it has none
}

// flight is a running task.
type flight struct {
	task  *graph.Task
	cost  cost
	start float64
	end   float64 // end of its own run, without children
	took  float64 // seconds that it would take with the socket to itself
}

// run is a running call.
type run struct {
	class int
	done  func(*run)
	next  *run // next unused one

	crew   *crew
	worker int
	team   []int // all workers that share it, if there are several
	flight flight
}

// host is a computer: its sockets and their caches.
type host struct {
	sockets []*socket
	caches  []*Cache[*graph.Datum]
}

// socket is the cores of a socket and the calls that run on them. Their speed depends on how many
// cores are busy.
//
// Several nodes may be processes on one computer. Each has a share of the socket, as many cores as
// it has, for its tasks and its other work.
//
// Calls are in classes: the same factor slows down all calls of a class. So a class has a clock,
// which runs as fast as its calls, and each call ends at a fixed time of that clock. When a call
// begins or ends, only the clocks, of which there are few, are set anew.
type socket struct {
	world *world
	cores int
	busy  int // cores that are busy, or asked for by several nodes
	set   float64
	class []class
	// waitingShares are the shares in which messages wait for a core.
	waitingShares []*coreShare
	due           float64 // time of its next event; +Inf: none
}

// coreShare is the cores of a socket that a node may use at a time.
type coreShare struct {
	*socket
	own  int // cores
	runs int // threads of its running calls
	// few is the cores of a task while all workers have one; slow is [Kind.Waits].
	few, slow float64
	waits     []func() // messages that wait for a core, or for earlier messages
	cost      float64  // seconds to handle them
	handling  bool     // a core handles messages
	wait      uint64   // number of the present wait for a core
}

// class is the calls of a node with the same number of threads and the same ratio of the times with
// and without neighbours.
type class struct {
	of      *coreShare
	threads int
	ratio   float64
	clock   float64                  // seconds of progress, as measured on an otherwise idle socket
	rate    float64                  // speed of the clock, in seconds a second
	runs    heap.Heap[float64, *run] // their endings
}

// ending is the end of a call by the clock of its class; of equal ends the lowest number of a run is first. It
// is apart from run, so that a heap of endings takes few cache lines.
type ending = heap.Item[float64, *run]

// device is an accelerator of a node with its worker, which works as those of package offload:
//
//	queue ─► candidates ─► operands come over the link ─► one after the other ─► end ─► crew
//
// It takes more tasks than it executes, prefetches their operands, and begins first the task with
// the fewest missing bytes. Tasks that cannot run there go to workers on cores.
type device struct {
	crew      *crew
	worker    int // its number in the crew
	kind      *Device
	speeds    *speeds
	able      map[*versions.Op]bool
	waiting   offload.Candidates
	now       *flight // the running task, or the one that begins when its operands are there
	scheduled bool    // an event that looks for tasks is in the calendar
	in, out   float64 // when the link is free to the device, and from it
	memory    memory
}

// memory is the values on a device, by last use.
type memory struct {
	room, have int64 // bytes; room -1: no cap
	of         map[*graph.Datum]*copied
	first      copied         // head of a ring, the last used first
	tasks      int            // tasks that have begun
	pinned     []*graph.Datum // data of the task that begins or runs: they are not evicted
}

// copied is a value on a device.
type copied struct {
	of         *graph.Datum
	there      float64 // since when
	used, gap  int     // number of the task that used it last, and distance from the use before; 0: none
	next, prev *copied
}

// places has the values of a node that are not on the host alone.
type places struct {
	at   map[*graph.Datum]*device // data that only that device has
	back map[*graph.Datum]float64 // since when the host has a datum of a device
}

// Tally counts the work of a node's workers and the reasons of their idle time: their seconds are
// Busy, Starving, Throttled, Driver and Idle.
type Tally struct {
	Tasks int     `json:"tasks"`
	Work  float64 `json:"work"` // in units of the ops, for linear algebra flops
	Busy  float64 `json:"seconds_busy"`
	// Idle seconds by reason: Starving while tasks of the node waited for operands, Throttled while
	// the window was full, Driver while the driver or submitter was busy, and Idle for want of
	// ready tasks.
	Starving  float64 `json:"seconds_starving"`
	Throttled float64 `json:"seconds_throttled"`
	Driver    float64 `json:"seconds_driver"`
	Idle      float64 `json:"seconds_idle"`
	Far       int64   `json:"bytes_far"` // of operands that were not in the cache

	In  int64 `json:"bytes_in"` // of values from other nodes, and to others
	Out int64 `json:"bytes_out"`
	// OnDevices counts the Tasks on accelerators; DevicesIn and DevicesOut are the bytes of values
	// copied to and from them.
	OnDevices  int   `json:"tasks_devices,omitempty"`
	DevicesIn  int64 `json:"bytes_devices_in,omitempty"`
	DevicesOut int64 `json:"bytes_devices_out,omitempty"`
	Peak       int64 `json:"bytes_peak"` // largest bytes of values on the node
}

// meter measures the idle times of a node's workers.
type meter struct {
	at      float64
	waiting int     // tasks that wait for operands
	driver  float64 // seconds that the driver had worked by then
	full    float64 // seconds for which the window had been full by then
}

// job is the common part of jobs in virtual time.
type job struct {
	w     *world
	ctx   context.Context
	id    uint64
	by    *parent // the parent of its tasks; nil: they are the program's
	clock *clock  // of the submitter
	graph graph.Graph
	count int
	done  int
	one   [1]*graph.Task
	ready func([]*graph.Task) // takes ready tasks that no worker has freed
	// stepAside notes that a task waits for its children from now on, and appends the tasks that may
	// start in its place to freed; nil: there is nothing to note.
	stepAside func(c *crew, t *graph.Task, freed []*graph.Task) []*graph.Task
	// ends ends a task on a worker of a crew, and appends the tasks that become ready to freed.
	ends func(c *crew, f flight, w int, freed []*graph.Task) []*graph.Task
}

// parent is a task with children that has run its own cost. Its body is a coroutine: events go on
// while it waits.
type parent struct {
	crew   *crew
	of     *job
	flight flight
	worker int
	err    error

	next      func() (struct{}, bool) // resumes the body until it waits or returns
	stop      func()                  // ends the body: if it waits, yield returns false
	yield     func(struct{}) bool     // suspends the body, for which the first call of next sets it
	condition func() bool             // that it waits for; nil: it does not wait
	scheduled bool                    // an event that resumes it is in the calendar
	ended     bool                    // body and children have ended
}

// recorder keeps events in the form of real recordings.
type recorder struct {
	events []trace.Event
	pauses []trace.Pause
	copies []trace.Copy
	logs   []jobLog
}

// jobLog is a job's log of accesses, from which its edges follow.
type jobLog struct {
	job uint64
	log *graph.Log
}
