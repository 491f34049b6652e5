package versions

import "time"

// Use says what a call does with an operand.
type Use uint8

// The uses; a call may do both.
const (
	Reads  Use = 1
	Writes Use = 2
)

// Launch is a call that an accelerator executes while the worker that has started it does other
// things. It belongs to the accelerator from its start to its end.
type Launch struct {
	Call    Call
	Version *Version
	// Uses says, for each of Call.Args, what the call does with it.
	Uses []Use
	// Job is the job of the operands: see Flush of an accelerator.
	Job uint64
	// Owner is the runtime's own reference, for the end of the call.
	Owner any

	// Set at the end of the call: its error, when the device began with it and how long it
	// computed, and the bytes that were copied in for it.
	Err    error
	Begin  time.Time
	Busy   time.Duration
	Copied int64
}

// Copy is a copy of a value to an accelerator, or back to the host.
type Copy struct {
	Out   bool
	Job   uint64 // its job; 0 if unknown
	Bytes int64
	Begin time.Time
	Took  time.Duration
}
