package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

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

// Validate returns an error that lists all that is wrong.
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
	// lost is why the device cannot be used any more. Once it is set nothing is enqueued, and
	// everything in flight has failed with it.
	lost error
	// bad holds the errors of releases, for Close.
	bad []error

	cache *cache
	// parts are the allocations of the cache's arena.
	parts []Ptr
	// small lends small scratch memory from an allocation of its own, under: small blocks among tiles
	// would fragment the arena.
	small *arena
	under Ptr // 0 before the first use
	pins  pinned
	// events are unused events: making one is a call of the driver.
	events []Event

	in, out lane
	// streams compute. Calls use them in turn.
	streams []Stream
	turn    int

	// arriving are copies in whose pieces are all on their stream. poll ends them.
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
	queues   []Queue // of each
	stream   int     // of Accelerator.streams
	ops      []use
	// blocks are scratch memory of the device, and pins of the host, until the work has ended. From
	// spare to spareEnd is the rest of the memory that was reserved before the version ran.
	blocks          []lent
	spare, spareEnd Ptr
	owner           *Accelerator
	pins            []pin
	begin           Event
	end             Event
	// copied is the number of bytes that were copied in for it.
	copied int64
	// failed says that not all of it could be enqueued: Launch has returned the error, and nothing
	// reports it again.
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
