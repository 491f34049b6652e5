package versions

import "github.com/tessera-la/tessera/internal/words"

// Why is the reason for the choice of a version.
type Why uint8

const (
	// None: no version can run.
	None Why = iota
	// Sole: no other version can run on the worker.
	Sole
	// Pinned: the configuration names this one version for the op.
	Pinned
	// Remaining: the configuration excludes all others.
	Remaining
	// First: it is the first in the order of preference; nothing is measured.
	First
	// Exploring: the run is one of those that measure the version.
	Exploring
	// Waiting: runs that measure a version have not ended; until then the
	// best one known runs, or the first.
	Waiting
	// Fastest: it has the lowest expected time.
	Fastest
)

var reasons = words.Of[Why]{
	None:      "none can run",
	Sole:      "the only one that can run",
	Pinned:    "fixed by the configuration",
	Remaining: "the others are excluded",
	First:     "the first in order, nothing measured",
	Exploring: "exploring",
	Waiting:   "others are being explored just now",
	Fastest:   "lowest expected time",
}

// String returns the reason in words.
func (w Why) String() string { return reasons.Name(w) }
