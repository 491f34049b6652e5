package mpi

import (
	"fmt"
	"time"
)

// Options configures a node. Its zero value has the defaults.
type Options struct {
	// Timeout is how long nothing may be heard of a node before it has left; 0 means 5 s.
	// Nodes that have nothing to say let each other hear four times in that time.
	Timeout time.Duration
	// Broken is told, once, that MPI cannot go on: it has returned an error that is no
	// single node's, or a node was lost in the middle of sending a value, so that nobody can
	// say when the memory for it is free again. The process has to end, best by
	// [World.Abort]. If Broken is nil, those who wait for that value do so for ever.
	Broken func(error)
}

// OptionsError says what is wrong with an Options.
type OptionsError struct{ Problem string }

func (e *OptionsError) Error() string { return "mpi: " + e.Problem }

// check sets defaults. The error is an *OptionsError.
func (o *Options) check() error {
	if o.Timeout < 0 {
		return &OptionsError{fmt.Sprintf("Timeout is %v, want at least 0", o.Timeout)}
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Broken == nil {
		o.Broken = func(error) {}
	}
	return nil
}
