package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// Way is one of several ways to compute the same result.
type Way struct {
	Name   string
	Nodes  Nodes
	Submit func(exec.Job) error // with new data each time
	Check  func() error         // checks the result of the last Submit
}

// Compare runs all ways one after the other, turns times, and checks each result. It prints the best and the
// median time of each way, and its speed relative to the first.
func Compare(ctx context.Context, turns int, ways ...Way) (best []Run, err error) {
	best = make([]Run, len(ways))
	times := make([][]time.Duration, len(ways))
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
			times[i] = append(times[i], r.Took)
			if turn == 0 || r.Took < best[i].Took {
				best[i] = r
			}
		}
	}
	median := func(i int) time.Duration { return times[i][len(times[i])/2] }
	for i, r := range best {
		slices.Sort(times[i])
		fmt.Printf("  %-18s best %8.1f ms, %5.2f times as fast, median %8.1f ms, %5.2f times, tasks of the driver: %d\n", ways[i].Name,
			ms(r.Took), ms(best[0].Took)/ms(r.Took), ms(median(i)), ms(median(0))/ms(median(i)), r.Tasks)
	}
	return best, nil
}

// ms returns d in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Same returns a check that the elements of got, when it is called, are those of want. Its error is what.
func Same(what string, got *[]float64, want []float64) func() error {
	return func() error {
		if !slices.Equal(*got, want) {
			return errors.New(what)
		}
		return nil
	}
}

// Submit submits tasks, in that order.
func Submit(job exec.Job, tasks ...*graph.Spec) error {
	for _, t := range tasks {
		if _, err := job.Submit(t); err != nil {
			return err
		}
	}
	return nil
}
