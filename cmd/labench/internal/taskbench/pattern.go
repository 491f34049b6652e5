package taskbench

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/tessera-la/tessera/internal/words"
)

// Pattern is a pattern of dependencies.
type Pattern uint8

// The patterns. Point i at step t > 0 needs these points of step t−1:
const (
	Trivial       Pattern = iota // nothing
	NoComm                       // i
	Stencil1D                    // i−1, i and i+1
	DOM                          // i−1 and i: a sweep of discrete ordinates
	Tree                         // i/2, while the width doubles from 1; then i
	FFT                          // i and i ± 2^(t−1 mod log₂ width)
	AllToAll                     // every point
	Nearest                      // the Radix points around i
	Spread                       // Radix points, evenly spread, which shift with t
	RandomNearest                // a random subset of the Radix points around i, and i
)

var names = words.Of[Pattern]{"trivial", "no_comm", "stencil_1d", "dom", "tree", "fft", "all_to_all", "nearest", "spread", "random_nearest"}

// Patterns returns all patterns.
func Patterns() []Pattern { return names.All() }

func (p Pattern) String() string { return names.Name(p) }

// Graph is a graph of tasks.
type Graph struct {
	Pattern Pattern
	Width   int // points, at least 1
	Steps   int // at least 1
	Radix   int // number of dependencies in Nearest, Spread and RandomNearest
}

// Points returns the number of points that have a task at step t.
func (g *Graph) Points(t int) int {
	if g.Pattern == Tree && t < bits.Len(uint(g.Width)) {
		return min(g.Width, 1<<t)
	}
	return g.Width
}

// Tasks returns the number of tasks.
func (g *Graph) Tasks() int {
	n := 0
	for t := range g.Steps {
		n += g.Points(t)
	}
	return n
}

// Needs returns the points of step t−1 that point i of step t needs, in ascending order, each once. Step 0
// needs none.
func (g *Graph) Needs(t, i int) (points []int) {
	if t == 0 {
		return nil
	}
	last := g.Points(t-1) - 1
	span := func(lo, hi int) []int {
		for p := max(lo, 0); p <= min(hi, last); p++ {
			points = append(points, p)
		}
		return points
	}
	switch g.Pattern {
	case NoComm:
		return span(i, i)
	case Stencil1D:
		return span(i-1, i+1)
	case DOM:
		return span(i-1, i)
	case Tree:
		if g.Points(t) > g.Points(t-1) {
			return span(i/2, i/2)
		}
		return span(i, i)
	case FFT:
		d := 1 << ((t - 1) % max(1, bits.Len(uint(g.Width-1))))
		span(i-d, i-d)
		span(i, i)
		return span(i+d, i+d)
	case AllToAll:
		return span(0, last)
	case Nearest:
		lo, hi := g.around(i)
		return span(lo, hi)
	case Spread:
		n := min(g.Radix, g.Width)
		for k := range n {
			points = append(points, (i+k*g.Width/n+t)%g.Width)
		}
		slices.Sort(points)
	case RandomNearest:
		lo, hi := g.around(i)
		// Independent of the run: each run has the same graph.
		rng := rand.New(rand.NewPCG(uint64(t), uint64(i)))
		for p := lo; p <= hi; p++ {
			if take := rng.Uint64()&1 == 0; (take || p == i) && p >= 0 && p <= last {
				points = append(points, p)
			}
		}
	}
	return points
}

// around returns the first and the last of the Radix points around i.
func (g *Graph) around(i int) (lo, hi int) {
	return i - g.Radix/2, i + (g.Radix-1)/2
}
