package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/versions"
)

// Options of an [Accelerator]. The zero value works.
type Options struct {
	// Name is the accelerator's name in messages. Empty means "cuda" and the device's ordinal.
	Name string
	// Memory is the number of bytes of the device that tiles may take. 0 means 7/8 of the device's
	// memory, as libraries need some. If less is free, the free memory is the limit.
	Memory int64
	// Streams is the number of streams that compute. 0 means 1. With one stream, the time of a call
	// does not include work of other calls.
	Streams int
	// Movers is the number of goroutines that copy in each direction between tiles
	// and pinned memory. 0 means a quarter of the processors, from 1 to 4. They
	// work beside the workers.
	Movers int
	// Stage is the number of bytes that a mover sends at once. Each mover has two stages of
	// that size in pinned memory. 0 means 4 MiB.
	Stage int64
	// Poison fills a block of memory with NaN before a value comes there. Tests use it to detect
	// reads that are too early.
	Poison bool
}

// Validate returns an error that lists all fields that are out of range.
func (o Options) Validate() error {
	var bad []error
	for _, f := range []struct {
		name  string
		value int64
	}{{"Memory", o.Memory}, {"Streams", int64(o.Streams)}, {"Movers", int64(o.Movers)}, {"Stage", o.Stage}} {
		if f.value < 0 {
			bad = append(bad, fmt.Errorf("cuda: Options.%s is %d, want at least 0", f.name, f.value))
		}
	}
	return errors.Join(bad...)
}

// ensureDefaults replaces zero values.
func (o Options) ensureDefaults(info Info) Options {
	if o.Name == "" {
		o.Name = fmt.Sprint("cuda", info.Ordinal)
	}
	if o.Memory == 0 {
		o.Memory = info.Memory - info.Memory/8
	}
	if o.Streams == 0 {
		o.Streams = 1
	}
	if o.Movers == 0 {
		o.Movers = min(max(runtime.NumCPU()/4, 1), 4)
	}
	if o.Stage == 0 {
		o.Stage = 4 << 20
	}
	return o
}

// Stats counts what an [Accelerator] has done.
type Stats struct {
	Values    int   // values that have room on the device now
	Launches  int64 // calls started
	Batches   int64 // times that several calls were started as one
	In, Out   int64 // bytes copied to and from the device
	Ins, Outs int64 // values copied to and from the device
	Hits      int64 // values to be read that were on the device already
	Evictions int64 // clean values that were evicted for others
	Early     int64 // copies out that began before their room was needed
	Repacks   int64 // times that everything was evicted because of fragmentation
}

// Accelerator executes calls on a [Device], in whose memory it caches the tiles that calls use.
// It implements the interface of that name of package exec. Its methods are safe for concurrent
// use, but for Launch, LaunchBatch and Ended, which one goroutine at a time may call: the
// worker's. The package overview says how it works.
type Accelerator struct {
	device Device
	opt    Options
	target *versions.Target

	// mu guards all that follows. It is not held while anything waits.
	mu sync.Mutex
	// work wakes movers: transfers wait, or the accelerator is closed.
	work   sync.Cond
	movers sync.WaitGroup
	crew   []*mover
	closed bool
	taken  bool // by a runtime
	// lost is the error by which the device was lost, or nil. Once it is set, nothing is enqueued,
	// and all calls and copies in flight have ended with it.
	lost error
	// bad holds the errors of releases, for Close.
	bad []error

	cache *cache
	// parts are the allocations of the cache's arena.
	parts []Ptr
	// small lends small scratch memory from an allocation of its own, which begins at under. Small
	// blocks among tiles would fragment the arena.
	small *arena
	under Ptr // 0 before the first use
	pins  pinned
	// events are unused events: making one is a call of the driver.
	events []Event

	in, out lane
	// streams compute. Calls use them in turn.
	streams []Stream
	turn    int

	// arriving are the copies in whose chunks are all on their stream. poll ends them.
	arriving []*transfer
	// moving is the number of unfinished transfers, including waiting ones; outs is the number of
	// those to the host.
	moving, outs int
	// flying are the enqueued calls, in order; over are calls that have ended and are not reported
	// yet.
	flying []*running
	over   []*running

	// woken says that Wake was called since the last wait in Ended. wake, of
	// capacity 1, ends a wait in which no calls are in flight.
	woken bool
	wake  chan struct{}

	// zero is an event to which all times of the device are relative. since is the same moment in
	// the host's time.
	zero  Event
	since time.Time

	stats  Stats
	onCopy func(versions.Copy)
	// told are copies for which onCopy is still to be called, without mu.
	told []versions.Copy
}

// running is a launch, or several that are one on the device, from its start to its report.
type running struct {
	launches []*versions.Launch
	queues   []Queue // one for each launch
	stream   int     // index in Accelerator.streams
	ops      []use
	// blocks are scratch memory of the device, and pins are memory of the host, until the work has
	// ended. The addresses from spare to spareEnd are what is left of the memory that was reserved
	// before the version ran.
	blocks          []lent
	spare, spareEnd Ptr
	owner           *Accelerator
	pins            []pin
	begin           Event
	end             Event
	// copied is the number of bytes that were copied in for the call.
	copied int64
	// failed says that the call could not be enqueued completely. Launch has returned the error, and
	// Ended does not report the call.
	failed bool
	err    error

	began time.Time
	busy  time.Duration
}

// use is a value that a launch uses, as one or several of its operands.
type use struct {
	e   *entry
	how versions.Use // of all these operands
	// in is the copy in that the call waits for; nil if the value was on the device, or is not read.
	in *transfer
}

// lent is scratch memory: a block, and the arena that it belongs to.
type lent struct {
	of *arena
	b  *block
}

// Queue is the Call.Device of a version of the kind "cuda". It has the addresses of
// the call's operands on the device, and the stream for the work. Such a version
// enqueues and returns; it does not wait. A Queue is for one call, and for the
// goroutine that runs the version:
//
//	at, pitch := q.Operand(0)          on the device when the work starts
//	tmp, err := q.Scratch(n)           until the work has ended
//	info, host, err := q.Ints(1)       zero before, on the host after
//	err = q.Stream().Potrf(…, info)    enqueues
//	q.AtEnd(func() error { … host() … })
//
// Scratch lends from the memory that the version declares (Memory or
// Constraints.Memory of versions.Version), which is reserved before it runs.
type Queue struct {
	device   Device
	stream   Stream
	operands []operand // by number of Call.Args
	call     *running  // lends memory until its end on the device
	// results are copied to the host behind all work.
	results []result
	atEnd   []func() error
}

// operand is where an operand of a call is on the device.
type operand struct {
	at    Ptr
	pitch int64
}

// result is memory of the device that is copied to the host when the call's
// work is done.
type result struct {
	dst unsafe.Pointer
	src Ptr
	n   int64
}

// state says where the valid copy of a value is.
type state uint8

// The states of a value on a device. A value that a call writes becomes modified when the
// call has ended: until then the host still has the value of before.
const (
	invalid  state = iota // the host only
	shared                // the host and the device
	modified              // the device only
)

// entry is the cache's record of a value.
type entry struct {
	key versions.Stored
	mem versions.Memory
	// pitch is the distance of rows on the device, and size is the size of the value's
	// block, both in bytes. A value without elements has size 0 and never a block.
	pitch int64
	size  int64
	// jobs are the jobs that have used the value and were not flushed since.
	jobs  []uint64
	state state
	block *block // nil if it has none
	lost  bool   // it was modified when the device was lost
	tries int    // copies out that have failed
	// retained is how often Retain was called without Discard.
	retained int

	// holds is the number of launches that use the value, from before they have room to
	// the end of their work. in and out say that a copy is under way. Each of the three
	// keeps the block where it is.
	holds   int
	in, out bool

	// last is the launch that used the value last, by the cache's count; 0 if none did. gap
	// is the number of launches between the last two uses; 0 if there were not two.
	last, gap int64
	// wanted is when Prefetch announced a use that has not come yet; 0 if there is none.
	wanted int64

	list       *list // one of the cache's, or nil
	prev, next *entry

	// These belong to the accelerator: the copy in that is under way, the latest launch
	// in flight that writes the value, and those that read it. Launch enters a call in
	// flight, and settle removes it, both with mu held.
	arriving *transfer
	writer   *running
	readers  []*running
}

// cache decides which values are in the memory of a device. It has neither locks nor
// streams: its owner reports events to it, asks it what to evict, and does the copies.
//
//	       place, endIn                     wrote
//	invalid ───────────► shared ───────────────────────────► modified
//	   ▲                    │  ▲                                 │
//	   └────────────────────┘  └─────────────────────────────────┘
//	            drop                endOut (write-back)
//
// A call that only writes takes an entry from invalid to modified: place, wrote.
// drop may also evict a modified value: when the host is about to overwrite it.
//
// An entry with a block is in one of three lists, in the order of last use, or in
// none:
//
//	held, or copied in    none     must stay where it is
//	clean                 clean    can be evicted at once
//	modified              dirty    can be evicted after it was written back
//	being written back    leaving  will be clean soon
//
// Entries without a block stay until the jobs that used them are over, since
// [cache.victim] needs their record of earlier uses. Retained entries stay with or
// without a block.
//
// These always hold:
//
//	shared or modified        it has a block
//	in                        invalid before, and it has a block
//	out                       modified before, and it has a block
//	in a list                 it has a block, and neither holds nor in
//	lost                      modified
//
// So a block that is in no list cannot be taken away from a call that relies on it.
type cache struct {
	arena        *arena
	limit        int64 // the largest size of the arena
	entries      map[versions.Stored]*entry
	clean, dirty list
	leaving      list  // unused ones that are being written back
	now          int64 // in launches
	evictions    int64
}

// list is a list of entries in the order of last use.
type list struct {
	first, last *entry
	bytes       int64
}

// transfer is a copy of a value in or out. The accelerator's lock guards it.
type transfer struct {
	e     *entry
	out   bool
	begin time.Time

	// staged says that all chunks of a copy in are on the stream, with done behind them.
	// The copy then reads only the stages, no longer the host's tile.
	staged bool
	done   Event

	over bool // the copy has ended, with or without an error
	err  error
}

// lane is the stream of one direction and the transfers that wait for it.
type lane struct {
	// mu guards the stream: a Stream is for one goroutine at a time, and several
	// movers use it.
	mu     sync.Mutex
	stream Stream
	// The accelerator's lock guards waiting and speed.
	waiting []*transfer
	speed   speed
}

// speed is the recent speed of one direction, a mean in which each copy has the weight 1/8.
// Bring and Back use it, which the runtime calls to place tasks.
type speed struct {
	perByte float64 // seconds
	last    time.Time
}

// mover is a goroutine that copies in one direction, one value at a time. No other mover uses its
// two stages. Each stage has at most Options.Stage bytes, or the bytes of one row if that is more.
type mover struct {
	a      *Accelerator
	lane   *lane
	stages [2]stage
	next   int
}

// stage is a piece of pinned memory that copies go through. done marks the end of the last copy
// that used it, and is nil before the first.
type stage struct {
	p    unsafe.Pointer
	n    int64
	done Event
}
