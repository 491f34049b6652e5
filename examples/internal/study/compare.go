package study

import (
	"context"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec"
)

// Way is one of several ways to do the same.
type Way struct {
	Name   string
	Nodes  Nodes
	Submit func(exec.Job) error // with data of its own each time
	Check  func() error         // of what the last Submit has led to
}

// Compare goes so many times through all ways, one after the other, checks each result, and prints
// the best time of each, and its part of the first way's.
func Compare(ctx context.Context, turns int, ways ...Way) (best []Run, err error) {
	best = make([]Run, len(ways))
	for turn := range max(turns, 1) {
		for i := range ways {
			w := &ways[i]
			r, err := w.Nodes.Run(ctx, w.Submit)
			if err == nil {
				err = w.Check()
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.Name, err)
			}
			if turn == 0 || r.Took < best[i].Took {
				best[i] = r
			}
		}
	}
	for i, r := range best {
		fmt.Printf("  %-22s %7.1f ms %6.2f of the first, the driver had %6d tasks\n", ways[i].Name,
			float64(r.Took)/float64(time.Millisecond), float64(r.Took)/float64(best[0].Took), r.Tasks)
	}
	return best, nil
}
