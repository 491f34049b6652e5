package mpi

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/internal/problems"
)

// Options configures a node. Its zero value has the defaults.
type Options struct {
	// Timeout is how long a node may be silent before it has left; 0 means 5 s. Idle nodes send
	// four beats in that time.
	Timeout time.Duration
	// Broken is called once when MPI cannot go on: it has returned an error that is no single node's, it has not
	// returned from a call for 30 s, or a node was lost while it sent a value, so that its memory may never be free
	// again. The process must end, best by [World.Abort]: Close of a node may not return. If Broken is nil, fetches of
	// that value wait for ever.
	Broken func(error)
}

// OptionsError lists everything that is wrong with an Options.
type OptionsError struct{ Problems []string }

func (e *OptionsError) Error() string { return problems.InvalidOptions("mpi", e.Problems) }

// withDefaults validates o and returns it with defaults in its zero fields. The error is an *OptionsError.
func (o Options) withDefaults() (Options, error) {
	if o.Timeout < 0 {
		return o, &OptionsError{[]string{fmt.Sprintf("Timeout is %v, want at least 0", o.Timeout)}}
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Broken == nil {
		o.Broken = func(error) {}
	}
	return o, nil
}
