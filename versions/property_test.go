package versions_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tessera-la/tessera/versions"
)

// TestSelectorProperties runs random schedules of selecting, recording and
// abandoning, with several runs under way at a time, and checks that
//
//   - exactly k runs of each version are explored in each class, fewer only
//     of one that then is more than eight times slower than the best;
//   - once nothing is left to explore the lowest mean is chosen;
//   - Explain says what Select then does.
func TestSelectorProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(2, 4).Draw(t, "versions")]
		k := rapid.IntRange(1, 6).Draw(t, "k")
		works := []float64{3, 300, 30000}[:rapid.IntRange(1, 3).Draw(t, "classes")]
		speed := rapid.SliceOfN(rapid.Float64Range(1e-9, 30e-9), len(names), len(names)).Draw(t, "speed")
		op, on := opOf("op", names...), cpu()
		s, err := versions.NewSelector(versions.Config{Mode: versions.Thorough, Explore: k})
		if err != nil {
			t.Fatal(err)
		}

		explored := make(map[string]int)
		var running []versions.Choice
		end := func(i int, abandon bool) {
			c := running[i]
			running = append(running[:i], running[i+1:]...)
			if abandon {
				s.Abandon(c)
				return
			}
			if c.Why == versions.Exploring {
				explored[fmt.Sprint(c.Index, c.Class)]++
			}
			noise := rapid.Float64Range(0.8, 1.2).Draw(t, "noise")
			s.Record(c, speed[c.Index]*c.Work*noise)
		}
		failures := 0
		step := func() {
			work := rapid.SampledFrom(works).Draw(t, "work")
			e := s.Explain(op, callOf(work), on)
			c, err := s.Select(op, callOf(work), on)
			if err != nil {
				t.Fatal(err)
			}
			if e.Chosen != c.Version.Name || e.Why != c.Why {
				t.Fatalf("explained %v, chose %+v", e, c)
			}
			running = append(running, c)
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			step()
			for len(running) > 0 && (len(running) > 5 || rapid.Bool().Draw(t, "end")) {
				abandon := failures < 4 && rapid.IntRange(0, 9).Draw(t, "fails") == 0
				if abandon {
					failures++
				}
				end(rapid.IntRange(0, len(running)-1).Draw(t, "which"), abandon)
			}
		}
		for len(running) > 0 {
			end(0, false)
		}
		for _, work := range works { // finish exploring
			for s.Explain(op, callOf(work), on).Why != versions.Fastest {
				c, _ := s.Select(op, callOf(work), on)
				running = append(running, c)
				end(0, false)
			}
		}

		for _, work := range works {
			class := versions.ClassOf(work)
			e := s.Explain(op, callOf(work), on)
			best := e.Versions[0]
			for _, v := range e.Versions {
				if v.Mean < best.Mean {
					best = v
				}
			}
			if c, _ := s.Select(op, callOf(work), on); c.Why != versions.Fastest || c.Version.Name != best.Name {
				t.Fatalf("chose %+v\n%v", c, e)
			}
			for i, v := range e.Versions {
				n := explored[fmt.Sprint(i, class)]
				if n > k || n < 1 || n < k && v.Mean <= 8*best.Mean {
					t.Fatalf("%s explored %d times, k = %d\n%v", v.Name, n, k, e)
				}
			}
		}
	})
}
