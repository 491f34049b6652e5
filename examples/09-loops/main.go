// Command 09-loops iterates over a year of measurements. They lie in blocks, one per day, of different lengths.
// Loops replace one task per block:
//
//	days ─► Split ─► partitions, one for each worker ─► loop.Reduce ─► mean, then variance
//
// Split copies nothing: a partition is a list of block numbers. Workers take chunks of the items of their own
// partitions, and help with others when they are done.
//
//	go run ./examples/09-loops
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/tessera-la/tessera/blocked/parts"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

const level, spread = 20.0, 5.0 // of the measurements

func main() {
	ctx := context.Background()
	rt, err := exec.NewLocal(exec.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	// The program's own slices form a collection. A day has between 1,000 and 9,000 measurements.
	rnd := rand.New(rand.NewPCG(1, 2))
	days := make(parts.Lists[float64], 365)
	for d := range days {
		days[d] = make([]float64, 1000+rnd.IntN(8000))
		for i := range days[d] {
			days[d][i] = level + spread*rnd.NormFloat64()
		}
	}
	parts := parts.Split(rt, days, 0)
	for i, p := range parts.Partitions() {
		blocks := p.Indexes()
		fmt.Printf("partition %d: %d measurements of days %d to %d, near to workers at %d\n", i, p.Len(), blocks[0]+1, blocks[len(blocks)-1]+1, p.Location)
	}

	// sum adds f over all measurements.
	var stats loop.Stats
	sum := func(f func(x float64) float64) float64 {
		s, err := loop.Reduce(ctx, rt, parts.Len(), loop.Options{Parts: parts.Parts(), Stats: &stats}, loop.Reduction[float64]{
			New: func() float64 { return 0 },
			Add: func(sum, part *float64) { *sum += *part },
		}, func(c loop.Chunk, sum *float64) error {
			for s := range parts.Spans(c.Lo, c.Hi) {
				for _, x := range days[s.Block][s.Lo:s.Hi] {
					*sum += f(x)
				}
			}
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		return s
	}
	n := float64(parts.Len())
	mean := sum(func(x float64) float64 { return x }) / n
	variance := sum(func(x float64) float64 { return (x - mean) * (x - mean) }) / n
	fmt.Printf("mean %.3f, standard deviation %.3f\n", mean, math.Sqrt(variance))
	fmt.Printf("%d chunks, of which %d were stolen\n", stats.Chunks(), stats.Steals())

	// The results must lie within six standard errors of the true values.
	if math.Abs(mean-level) > 6*spread/math.Sqrt(n) || math.Abs(math.Sqrt(variance)-spread) > 6*spread/math.Sqrt(2*n) {
		log.Fatal("the mean or the standard deviation is wrong")
	}
}
