package matcalls

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
)

// Config says how to compare. Workers and Repeat must be positive.
type Config struct {
	Workers int           // number of our workers and of the library's threads
	Repeat  int           // number of timed turns of each side
	Warmup  int           // number of turns before, which are not timed
	Turn    time.Duration // a turn repeats short calls until this time has passed
	Settle  time.Duration // pause before each turn: the library's threads spin for a while after a call
	Seed    uint64
}

// Side is the time that one side took.
type Side struct {
	SecondsBest   float64      `json:"seconds_best"`
	SecondsMedian float64      `json:"seconds_median"`
	GFLOPSBest    float64      `json:"gflops_best"`
	GFLOPSMedian  float64      `json:"gflops_median"`
	Residual      bench.Number `json:"residual"` // the largest over all turns
	Calls         int          `json:"calls"`    // number of timed calls
	Seconds       []float64    `json:"seconds"`  // of each of them, in order
}

// contender is one side of a comparison.
type contender struct {
	enter    func() // before a turn
	call     func()
	residual func() float64 // of the last call's result
	times    []time.Duration
	worst    float64
}

// alternate lets the contenders take turns: first the warm-up, then the timed turns.
func alternate(ctx context.Context, cfg Config, sides ...*contender) error {
	for i := range cfg.Warmup + cfg.Repeat {
		for _, c := range sides {
			if i == cfg.Warmup {
				c.times = nil
			}
			if err := c.turn(ctx, cfg); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxCalls bounds the calls of a turn, so that tiny calls do not fill it with too many times.
const maxCalls = 100

// turn makes calls until the time of a turn is over, and checks the result of the last one.
func (c *contender) turn(ctx context.Context, cfg Config) error {
	c.enter()
	select {
	case <-time.After(cfg.Settle):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var spent time.Duration
	for calls := 0; calls == 0 || spent < cfg.Turn && calls < maxCalls; calls++ {
		begin := time.Now()
		c.call()
		took := time.Since(begin)
		spent += took
		c.times = append(c.times, took)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	c.worst = max(c.worst, c.residual())
	return nil
}

// side computes the statistics of the times.
func (c *contender) side(flops float64) Side {
	s := Side{Residual: bench.Number(c.worst), Calls: len(c.times)}
	for _, t := range c.times {
		s.Seconds = append(s.Seconds, t.Seconds())
	}
	s.SecondsBest, s.SecondsMedian, s.GFLOPSBest, s.GFLOPSMedian = bench.Rates(c.times, flops)
	return s
}
