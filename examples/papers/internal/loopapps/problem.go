package loopapps

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Sites hold what Auto learns about the loops of an application.
type Sites [4]loop.Site

// Problem is an application with its data, which can run any number of times.
type Problem interface {
	// Run executes the application once and returns the statistics of its loops. Under Auto the
	// k-th kind of loop has the k-th site.
	Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) ([]loop.Stats, error)
	// Verify returns an error if the last Run computed a wrong result. If first is set it computes
	// the result by other means, otherwise it compares with that.
	Verify(first bool) error
	// Bytes returns the size of the data.
	Bytes() int64
	// Describe says in a few words what the data are.
	Describe() string
}
