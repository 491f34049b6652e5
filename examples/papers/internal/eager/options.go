package eager

import "time"

// options are the values of the flags.
type options struct {
	app                          string
	unit                         time.Duration
	turns, workers               int
	local                        bool
	generators, subdomains, side int // of domain
	parts                        int // of records
	file                         int // of stream
}
