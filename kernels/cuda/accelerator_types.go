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
	// WriteThrough has every output copied back at once, so that little is lost
	// with the device. A call that writes a value again waits for that.
	WriteThrough bool
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
	// Unwatched keeps the race detector from seeing what copies read and write of
	// the host's memory: see [SimOptions].
	Unwatched bool
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
// calls use. It implements the interface of that name of package exec.
type Accelerator struct {
	device Device
	opt    Options
	target *versions.Target

	mu     sync.Mutex // guards all that follows; not held while anything waits
	work   sync.Cond  // transfers wait, or the accelerator is closed
	movers sync.WaitGroup
	crew   []*mover
	closed bool
	taken  bool // by a runtime
	lost   error
	bad    []error // what went wrong when things were given back

	cache  *cache
	parts  []Ptr  // the allocations of its arena
	small  *arena // for small scratch memory, so that it does not break up the other
	under  Ptr    // its allocation; 0 before the first use
	pins   pinned
	events []Event // unused

	in, out  lane
	streams  []Stream // that compute; for the goroutine that launches
	turn     int
	arriving []*transfer
	moving   int // transfers that are not over
	outs     int // of these, to the host
	flying   []*running
	away     int        // operands that launches wait for on their way to the host
	over     []*running // ended, not reported

	woken bool
	wake  chan struct{} // capacity 1

	zero  Event // a point in time on the device that is known on the host
	since time.Time

	stats  Stats
	onCopy func(versions.Copy)
	told   []versions.Copy
}

// running is a launch, or several that are one on the device, from its start to
// its report.
type running struct {
	launches        []*versions.Launch
	queues          []Queue // of each
	stream          int
	ops             []use
	blocks          []lent // scratch memory, and what is left of what was reserved
	spare, spareEnd Ptr
	owner           *Accelerator
	pins            []pin // on the host
	begin           Event
	end             Event
	copied          int64
	away            int  // operands that are on their way to the host: see versions.Version.Home
	failed          bool // it could not be enqueued as a whole: it is not reported
	err             error

	began time.Time
	busy  time.Duration
}

// use is an operand of a launch: each value once.
type use struct {
	e   *entry
	how versions.Use
	in  *transfer // what it waits for
}

// lent is scratch memory: a block and whose.
type lent struct {
	of *arena
	b  *block
}
