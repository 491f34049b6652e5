//go:build !linux

package topo

import "time"

// Delays tells what has held up an operating system thread: how long it has been ready to run
// while others had its processor, and page faults. A nil Delays knows of none.
type Delays struct{}

// ThreadDelays returns nil: the system does not tell.
func ThreadDelays() *Delays { return nil }

// Now returns 0.
func (*Delays) Now() time.Duration { return 0 }

// Faults returns 0.
func (*Delays) Faults() int64 { return 0 }

// Close does nothing.
func (*Delays) Close() {}
