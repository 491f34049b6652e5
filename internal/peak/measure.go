package peak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/topo"
)

// Options says how to measure. The zero value measures the best instruction
// set on all cores for 0.6 s a number.
type Options struct {
	// Duration of one repetition; 0 means 200 ms.
	Duration time.Duration
	// Repeat is the number of repetitions, of which the best counts; 0 means
	// 3.
	Repeat int
	// Cores is the number of cores in "all cores"; 0 means
	// [topo.Machine.Workers]. It is cut down to the CPUs that the process may
	// use.
	Cores int
	// ISA is the instruction set of the FMA loop, one of [Available] or Best.
	ISA ISA
	// Bytes of memory that a bandwidth is measured on, over all cores
	// together; 0 means four times the last-level caches, but no less than
	// 192 MiB and no more than 768 MiB or an eighth of the memory.
	Bytes int64
	// Machine to place threads on; nil means [topo.Detect].
	Machine *topo.Machine
}

// Validate reports everything that is wrong with o, or nil.
func (o *Options) Validate() error {
	var errs []error
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"Duration", int64(o.Duration)}, {"Repeat", int64(o.Repeat)}, {"Cores", int64(o.Cores)}, {"Bytes", o.Bytes},
	} {
		if v.value < 0 {
			errs = append(errs, fmt.Errorf("peak: negative %s", v.name))
		}
	}
	if _, err := find(o.ISA); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// withDefaults returns o with every zero replaced.
func (o Options) withDefaults() Options {
	if o.Duration == 0 {
		o.Duration = 200 * time.Millisecond
	}
	if o.Repeat == 0 {
		o.Repeat = 3
	}
	if o.Machine == nil {
		o.Machine = topo.Detect()
	}
	if o.Cores == 0 {
		o.Cores = o.Machine.Workers()
	}
	o.Cores = min(o.Cores, len(o.Machine.Allowed))
	if o.Bytes == 0 {
		var llc int64
		for _, c := range o.Machine.Caches {
			if c.Level >= 3 {
				llc += c.Size * int64(max(1, len(c.Shared)))
			}
		}
		o.Bytes = min(max(4*llc, 192<<20), 768<<20)
		if mem := o.Machine.UsableMemory(); mem > 0 {
			o.Bytes = min(o.Bytes, mem/8)
		}
	}
	return o
}

// find returns the loop for isa.
func find(isa ISA) (loop, error) {
	all := loops()
	if isa == Best {
		return all[len(all)-1], nil
	}
	for _, l := range all {
		if l.isa == isa {
			return l, nil
		}
	}
	return loop{}, fmt.Errorf("peak: %v is not available here; available are %v", isa, Available())
}

// Rate is a rate on one core and on several at once, in 10⁹ floating point
// operations or bytes per second.
type Rate struct {
	One, All float64
	Cores    int // in All
	ISA      ISA // of the loop that was used
	// Pinned reports that every thread was bound to its CPU. If not, the
	// operating system may have moved them.
	Pinned bool
}

// FMA measures the peak of multiply-adds, two operations each, on elements of
// type T. It returns the error of [Options.Validate] or that of ctx. All
// threads it starts have ended when it returns.
func FMA[T float32 | float64](ctx context.Context, o Options) (Rate, error) {
	if err := o.Validate(); err != nil {
		return Rate{}, err
	}
	o = o.withDefaults()
	l, err := find(o.ISA)
	if err != nil {
		return Rate{}, err
	}
	run, flops := scalar.Pick[T](l.run32, l.run64), scalar.Pick[T](l.flops32, l.flops64)
	// Some tens of microseconds: long against the check of the clock, short
	// against the pauses for which the garbage collector has to wait.
	const rounds = 4096
	work := func(int, int) func() float64 {
		return func() float64 {
			run(rounds)
			return float64(rounds * flops)
		}
	}
	return o.measure(ctx, l.isa, work)
}

// Triad measures the bandwidth of main memory by STREAM's triad, x = y + s·z
// in float64. As there, three words count for each element; that most
// processors also read x before they write it is not counted. Options.ISA
// does not matter here: memory is slower than any. It returns the error of
// [Options.Validate] or that of ctx. All threads it starts have ended when it
// returns.
func Triad(ctx context.Context, o Options) (Rate, error) {
	if err := o.Validate(); err != nil {
		return Rate{}, err
	}
	o = o.withDefaults()
	isa, add := triad()
	work := func(_, workers int) func() float64 {
		const block = 16 << 10 // elements between two checks of the clock
		n := max(int(o.Bytes/24)/workers/block, 1) * block
		// Made by the thread that uses them, so that their pages come from
		// its own NUMA node.
		x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i], z[i] = 1, 2, 3
		}
		at := 0
		return func() float64 {
			add(x[at:at+block], y[at:at+block], z[at:at+block], 0.5)
			if at += block; at == n {
				at = 0
			}
			return 24 * block
		}
	}
	return o.measure(ctx, isa, work)
}

// measure returns the best rate of work on one core and on all. For each
// thread, work returns the step that is repeated and that returns how much it
// did.
func (o Options) measure(ctx context.Context, isa ISA, work func(worker, workers int) func() float64) (Rate, error) {
	r := Rate{Cores: o.Cores, ISA: isa}
	var err error
	if r.One, r.Pinned, err = o.run(ctx, 1, work); err != nil {
		return Rate{}, err
	}
	r.All = r.One
	if o.Cores > 1 {
		var pinned bool
		if r.All, pinned, err = o.run(ctx, o.Cores, work); err != nil {
			return Rate{}, err
		}
		r.Pinned = r.Pinned && pinned
	}
	return r, nil
}

// run repeats work on n pinned threads at once and returns the best sum of
// their rates, in 10⁹ per second.
func (o Options) run(ctx context.Context, n int, work func(worker, workers int) func() float64) (best float64, pinned bool, err error) {
	var (
		all    sync.WaitGroup
		stop   = make([]atomic.Bool, o.Repeat)    // one per repetition
		begin  = make([]sync.WaitGroup, o.Repeat) // holds threads until all have come
		rates  = make([][]float64, o.Repeat)
		failed atomic.Bool // to pin some thread
	)
	for r := range rates {
		begin[r].Add(n)
		rates[r] = make([]float64, n)
	}
	// Stops every repetition, those included that have not begun.
	defer context.AfterFunc(ctx, func() {
		for r := range stop {
			stop[r].Store(true)
		}
	})()
	for w, cpus := range o.Machine.Spread(n) {
		all.Go(func() {
			release, err := topo.Lock(cpus...)
			defer release()
			if err != nil {
				failed.Store(true)
			}
			step := work(w, n)
			for r := range rates {
				begin[r].Done()
				begin[r].Wait()
				rates[r][w] = o.rate(step, &stop[r])
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return 0, false, context.Cause(ctx)
	}
	for _, rate := range rates {
		var sum float64
		for _, x := range rate {
			sum += x
		}
		best = max(best, sum/1e9)
	}
	return best, !failed.Load(), nil
}

// rate repeats step until its time is up, and returns the sum of the results per second. The first
// thread to see the time up stops the others, so that no rate is taken while some core rests.
func (o Options) rate(step func() float64, stop *atomic.Bool) float64 {
	start := time.Now()
	var done float64
	for {
		done += step()
		took := time.Since(start)
		if took >= o.Duration {
			stop.Store(true)
		}
		if stop.Load() {
			return done / took.Seconds()
		}
	}
}
