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
	// Name is what people call it. Empty means "cuda" and the device's ordinal.
	Name string
	// Memory is the bytes of the device that tiles may take. 0 means 7/8 of its
	// memory: libraries need some for themselves. If the device has less to give,
	// it is what it has.
	Memory int64
	// Streams is the number of streams that compute. 0 means 1: then the times of
	// calls do not contain those of others.
	Streams int
	// Movers is the number of goroutines that copy in each direction between tiles
	// and pinned memory. 0 means a quarter of the processors, from 1 to 4. They
	// work beside the workers.
	Movers int
	// Stage is the bytes that a mover sends at once; it has two such pieces of
	// pinned memory. 0 means 4 MiB.
	Stage int64
	// Poison has a block of memory be filled with NaN before a value comes there.
	// It is for tests: what is read too early shows.
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

// Stats is what an [Accelerator] has done so far.
type Stats struct {
	Launches  int64 // calls that were started
	Batches   int64 // times that several of them were started as one
	In, Out   int64 // bytes that were copied
	Ins, Outs int64 // values that were copied
	Hits      int64 // operands that calls read and that were there already
	Evictions int64 // clean values that were given up for others
	Early     int64 // of Outs, those begun before their room was needed
	Repacks   int64 // times that everything was given up because of fragmentation
}

// Accelerator executes calls on a [Device], in whose memory it keeps tiles that
// calls use. It implements the interface of that name of package exec. Its methods
// are safe for concurrent use, but for Launch, LaunchBatch and Ended, which are
// for one goroutine at a time: the worker's. The package's overview says how it
// works.
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
	// lost is why the device is of no use any more. Once it is set, nothing is
	// enqueued, and what is in flight has been settled with it.
	lost error
	// bad is what went wrong when things were given back: Close returns it.
	bad []error

	cache *cache
	// parts are the allocations that the cache's arena consists of.
	parts []Ptr
	// small lends small scratch memory, out of an allocation of its own, under: small
	// blocks among tiles would break up the room for them.
	small *arena
	under Ptr // 0 before the first use
	pins  pinned
	// events are unused ones: to make one is a call of the driver.
	events []Event

	in, out lane
	// streams compute. Calls go to them in turn.
	streams []Stream
	turn    int

	// arriving are copies in that are on their stream as a whole. poll ends them.
	arriving []*transfer
	// moving is the number of transfers that are not over, waiting ones included,
	// and outs of those of them that go to the host.
	moving, outs int
	// flying are calls that are enqueued, in the order in which they were, and over
	// those that have been settled and not reported.
	flying []*running
	over   []*running

	// woken says that Wake was called since the last wait in Ended. wake, of
	// capacity 1, ends a wait that nothing in flight would.
	woken bool
	wake  chan struct{}

	// zero is a point in time on the device that was since on the host: the device's
	// times are told relative to it.
	zero  Event
	since time.Time

	stats  Stats
	onCopy func(versions.Copy)
	// told are copies that onCopy was not called for yet, as it runs without mu.
	told []versions.Copy
}

// running is a launch, or several that are one on the device, from its start to
// its report.
type running struct {
	launches []*versions.Launch
	queues   []Queue // of each
	stream   int     // of Accelerator.streams
	ops      []use
	// blocks are scratch memory of the device, and pins of the host, until the
	// work has ended. From spare to spareEnd is what is left of what was reserved
	// before the version was called.
	blocks          []lent
	spare, spareEnd Ptr
	owner           *Accelerator
	pins            []pin
	begin           Event
	end             Event
	// copied is the bytes that were brought in for it.
	copied int64
	// failed says that it could not be enqueued as a whole: Launch has returned the
	// error, and it is not reported.
	failed bool
	err    error

	began time.Time
	busy  time.Duration
}

// use is an operand of a launch: each value once, however many operands it is.
type use struct {
	e   *entry
	how versions.Use // of all these operands
	// in is the copy in that the call waits for; nil if the value was there, or is
	// not read.
	in *transfer
}

// lent is scratch memory: a block and whose.
type lent struct {
	of *arena
	b  *block
}
