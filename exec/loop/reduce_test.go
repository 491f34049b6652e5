package loop_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// TestReduce: sums are right under all plans, and the same bits for all workers and plans if
// they are to be.
func TestReduce(t *testing.T) {
	x := make([]float64, 5000)
	rnd := rand.New(rand.NewPCG(5, 6))
	exact := 0
	for i := range x {
		k := rnd.IntN(1000)
		exact += k
		x[i] = float64(k) / 7
	}
	add := loop.Reduction[float64]{New: func() float64 { return 0 }, Add: func(sum, part *float64) { *sum += *part }}
	var bits []float64
	for _, workers := range []int{1, 2, 5} {
		rt := start(t, exec.Options{Workers: workers})
		for _, p := range plans() {
			for _, deterministic := range []bool{false, true} {
				var s loop.Stats
				got, err := loop.Reduce(t.Context(), rt, len(x), loop.Options{Plan: p, Deterministic: deterministic, Stats: &s, Spans: true}, add, func(c loop.Chunk, sum *float64) error {
					for i := c.Lo; i < c.Hi; i++ {
						*sum += x[i]
					}
					return nil
				})
				if want := float64(exact) / 7; err != nil || got < want*(1-1e-12) || got > want*(1+1e-12) {
					t.Errorf("%v: %v, %v, want %v", p, got, err, want)
				}
				checkStats(t, &s, len(x), workers)
				if deterministic {
					bits = append(bits, got)
				}
			}
		}
	}
	if slices.Min(bits) != slices.Max(bits) {
		t.Errorf("from %v to %v", slices.Min(bits), slices.Max(bits))
	}
}

// TestReduceFails: the zero value and the smallest failure.
func TestReduceFails(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	add := loop.Reduction[int]{New: func() int { return 5 }, Add: func(sum, part *int) { *sum += *part }}
	for _, deterministic := range []bool{false, true} {
		got, err := loop.Reduce(t.Context(), rt, 10000, loop.Options{Deterministic: deterministic}, add, func(c loop.Chunk, sum *int) error {
			if c.Hi > 7000 {
				return fmt.Errorf("to %d", c.Hi)
			}
			return nil
		})
		var ce *loop.ChunkError
		if got != 0 || !errors.As(err, &ce) || ce.Hi <= 7000 || ce.Lo > 7000 {
			t.Error(got, err)
		}
		if got, err := loop.Reduce(t.Context(), rt, 0, loop.Options{Deterministic: deterministic}, add, func(loop.Chunk, *int) error { return nil }); got != 5 || err != nil {
			t.Error(got, err)
		}
	}
}
