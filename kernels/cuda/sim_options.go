package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// SimOptions configures a [Simulated]. The zero value is a device of 1 GiB that takes no
// longer than the host to compute and copy. No delay has a default, since no measurement
// would justify one.
type SimOptions struct {
	Name    string // Info.Name; "simulated" if empty
	Ordinal int    // Info.Ordinal
	Memory  int64  // bytes; 0 means 1 GiB

	// A routine takes Launch plus its floating point operations over Rate (twice
	// that in float32), or what the host takes if that is longer. All streams
	// share the device, which works on one routine at a time.
	Launch time.Duration
	Rate   float64 // floating point operations a second; 0 means no limit

	// A copy between host and device takes Latency plus its bytes over Bandwidth.
	// Copies of one direction queue for the bandwidth.
	Latency   time.Duration
	Bandwidth float64 // bytes a second; 0 means no limit

	// Each piece of work on a stream takes up to Jitter longer, at random from Seed.
	Jitter time.Duration
	Seed   uint64

	// Faults are the errors that the device simulates.
	Faults []Fault
}

// Validate returns an error that lists all that is wrong.
func (o SimOptions) Validate() error {
	var bad []error
	negative := func(name string, is bool) {
		if is {
			bad = append(bad, fmt.Errorf("cuda: SimOptions.%s is negative", name))
		}
	}
	negative("Ordinal", o.Ordinal < 0)
	negative("Memory", o.Memory < 0)
	negative("Launch", o.Launch < 0)
	negative("Rate", !(o.Rate >= 0))
	negative("Latency", o.Latency < 0)
	negative("Bandwidth", !(o.Bandwidth >= 0))
	negative("Jitter", o.Jitter < 0)
	for i, f := range o.Faults {
		if f.N < 1 {
			bad = append(bad, fmt.Errorf("cuda: SimOptions.Faults[%d].N is %d, want at least 1", i, f.N))
		}
		if f.Op != "" && !slices.Contains(simOps(), f.Op) {
			bad = append(bad, fmt.Errorf("cuda: SimOptions.Faults[%d].Op is %q, want one of %v", i, f.Op, simOps()))
		}
	}
	return errors.Join(bad...)
}

// SimStats is what a [Simulated] has done so far.
type SimStats struct {
	Calls             map[string]int // of the methods of Device and Stream, by their names
	BytesIn, BytesOut int64          // copied between host and device
	Used, Peak        int64          // bytes that are, and at most were, allocated on the device
	Pinned            int64          // bytes of the host that are from AllocHost
}

// Fault is an error that a [Simulated] simulates:
//
//	           the call returns    the device      what was queued
//	neither    the error           goes on         is done
//	Lost       the error           is lost         is left out from then on
//	Late       nil                 is lost when the queue comes to the call
type Fault struct {
	// Op is the name of a method of Device or Stream, as "Alloc", "CopyIn" or
	// "Gemm"; any if empty. N says which call of it fails, from 1.
	Op string
	N  int
	// Lost makes the device lost by the error.
	Lost bool
	// Late makes a method that enqueues work return nil. The device is lost when the
	// queue comes to the work, as by most errors of devices.
	Late bool
}

// simOps returns the names of the methods that can fail.
func simOps() []string {
	return []string{"Alloc", "Free", "AllocHost", "FreeHost", "NewStream", "NewEvent",
		"CopyIn", "CopyOut", "Copy", "Fill", "Record", "Wait", "Synchronize",
		"Gemm", "Syrk", "Trsm", "Trmm", "Geam", "Potrf", "PotrfWork", "CopyVectors", "GemmBatched", "TrsmBatched",
		"Geqrf", "GeqrfWork", "Getrf", "GetrfWork", "Laswp", "Larft", "CopyUpper", "SetUpper"}
}
