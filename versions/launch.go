package versions

import "time"

// Use says what a call does with an operand.
type Use uint8

// The uses; a call may do both.
const (
	Reads  Use = 1
	Writes Use = 2
)

// Launch is a call that an accelerator executes on its own while the worker
// that has started it does other things. It belongs to the accelerator from
// its start until the accelerator says that it has ended.
type Launch struct {
	Call    Call
	Version *Version
	// Uses says for each of Call.Args what the call does with it.
	Uses []Use
	// Job is the job whose data the operands are: see Flush of an accelerator.
	Job uint64
	// Owner is whatever the runtime wants to find again at the end.
	Owner any

	// Err is how the call ended, Busy how long the device computed for it,
	// Begin when it began to, and Copied how many bytes were brought in for
	// it. They are set at the end.
	Err    error
	Begin  time.Time
	Busy   time.Duration
	Copied int64
}

// Copy is a copy of a value to an accelerator, or back to the host.
type Copy struct {
	Out   bool
	Job   uint64 // for which it was made; 0 if unknown
	Bytes int64
	Begin time.Time
	Took  time.Duration
}
