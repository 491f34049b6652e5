package versions_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

// TestConfiguredChoice covers the cases that measure nothing.
func TestConfiguredChoice(t *testing.T) {
	op := opOf("gemm", "go", "avx2", "openblas", "cuda")
	op.Versions[1].Constraints.Features = []string{"avx2"}
	op.Versions[3].Constraints.Kind = "cuda"
	old := cpu()
	old.Features = nil
	gpu := &versions.Target{Kind: "cuda"}

	for _, test := range []struct {
		name   string
		config versions.Config
		on     *versions.Target
		want   string
		why    versions.Why
	}{
		{"sole on gpu", versions.Config{}, gpu, "cuda", versions.Sole},
		{"static", versions.Config{Mode: versions.Static}, cpu(), "go", versions.First},
		{"static in the order asked for", versions.Config{Mode: versions.Static, Only: []string{"openblas", "go"}}, cpu(), "openblas", versions.First},
		{"only", versions.Config{Only: []string{"avx2"}}, cpu(), "avx2", versions.Pinned},
		{"only, on a worker that lacks it", versions.Config{Only: []string{"avx2"}}, old, "", 0},
		{"only, one of two fits", versions.Config{Only: []string{"avx2", "go"}}, old, "go", versions.Sole},
		{"only, none that the op has", versions.Config{Mode: versions.Static, Only: []string{"mkl"}}, cpu(), "go", versions.First},
		{"only, of another worker", versions.Config{Only: []string{"openblas"}}, gpu, "", 0},
		{"exclude", versions.Config{Exclude: []string{"go", "avx2", "cuda"}}, cpu(), "openblas", versions.Remaining},
		{"exclude all that fit", versions.Config{Exclude: []string{"cuda"}}, gpu, "", 0},
		{"fixed", versions.Config{Fixed: []versions.Pin{{Op: "gemm", Version: "avx2"}}, Only: []string{"go"}}, cpu(), "avx2", versions.Pinned},
		{"fixed for the type", versions.Config{Fixed: []versions.Pin{{Op: "gemm/f64", Version: "avx2"}, {Op: "gemm", Version: "go"}}}, cpu(), "avx2", versions.Pinned},
		{"fixed for another op", versions.Config{Mode: versions.Static, Fixed: []versions.Pin{{Op: "potrf", Version: "avx2"}, {Op: "gemm/f32", Version: "avx2"}}}, cpu(), "go", versions.First},
	} {
		s := newSelector(t, test.config)
		c, err := s.Select(op, nil, test.on)
		if test.want == "" {
			var none *versions.NoVersionError
			if !errors.As(err, &none) || len(none.Reasons) != len(op.Versions) || none.Op != "gemm/f64" {
				t.Errorf("%s: got %v", test.name, err)
			}
			if s.Check(op, test.on) == nil {
				t.Errorf("%s: Check found a version", test.name)
			}
			continue
		}
		if err != nil || c.Version.Name != test.want || c.Why != test.why || c.Timed || &op.Versions[c.Index] != c.Version {
			t.Errorf("%s: got %+v, %v", test.name, c, err)
		}
		if err := s.Check(op, test.on); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if e := s.Explain(op, callOf(8), test.on); e.Chosen != test.want || e.Why != test.why {
			t.Errorf("%s: explained as %v", test.name, e)
		}
		s.Record(c, 1)
		s.Abandon(c)
		if got := s.Profile().Timings(); len(got) != 0 {
			t.Errorf("%s: an untimed run was recorded: %v", test.name, got)
		}
	}
}

func TestNoVersionErrorText(t *testing.T) {
	op := opOf("gemm", "go", "cuda")
	op.Versions[1].Constraints.Kind = "cuda"
	_, err := newSelector(t, versions.Config{Exclude: []string{"go"}}).Select(op, nil, cpu())
	want := "versions: no version of gemm/f64 can run on cpu amd64, Test Processor (go: excluded; cuda: needs a cuda worker, this one is cpu)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3}).Select(opOf("empty"), nil, cpu())
	if err == nil || err.Error() != "versions: empty/f64 has no versions" {
		t.Errorf("got %v", err)
	}
}

// TestExploresThenFastest follows a class from nothing known to settled.
func TestExploresThenFastest(t *testing.T) {
	op, on := opOf("gemm", "go", "avx2", "openblas"), cpu()
	speed := map[string]float64{"go": 3e-9, "avx2": 1e-9, "openblas": 2e-9}
	s := newSelector(t, versions.Config{Mode: versions.Thorough})
	explored := run(t, s, op, on, 100, 3*versions.DefaultExplore, speed)
	for name := range speed {
		if explored[name] != versions.DefaultExplore {
			t.Errorf("%s explored %d times", name, explored[name])
		}
	}
	for range 100 {
		c := choose(t, s, op, 100, on)
		if c.Version.Name != "avx2" || c.Why != versions.Fastest {
			t.Fatalf("got %+v", c)
		}
		s.Record(c, 100e-9)
	}
	if c := choose(t, s, op, 100, on); c.Timed {
		t.Error("still timed after a hundred runs")
	}
	// Another class and another processor are explored anew.
	if c := choose(t, s, op, 1e6, on); c.Why != versions.Exploring {
		t.Errorf("other class: %+v", c)
	}
	other := cpu()
	other.Processor = "Other Processor"
	if c := choose(t, s, op, 100, other); c.Why != versions.Exploring {
		t.Errorf("other processor: %+v", c)
	}
	// A worker like the first one is not.
	if c := choose(t, s, op, 100, cpu()); c.Why != versions.Fastest {
		t.Errorf("like worker: %+v", c)
	}
}

// TestLosesLead checks that a version which turns out slower than it seemed
// makes way for the next.
func TestLosesLead(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	run(t, s, op, on, 1, 6, map[string]float64{"a": 1, "b": 1.5})
	for range 20 {
		c := choose(t, s, op, 1, on)
		s.Record(c, map[string]float64{"a": 2, "b": 1.5}[c.Version.Name])
	}
	if c := choose(t, s, op, 1, on); c.Version.Name != "b" {
		t.Errorf("got %+v", c)
	}
}

// TestRaggedTiles checks that calls of one class compare by time per unit.
func TestRaggedTiles(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	for {
		c := choose(t, s, op, 64, on)
		if c.Why != versions.Exploring {
			break
		}
		c.Work = map[string]float64{"a": 64, "b": 250}[c.Version.Name] // one class
		s.Record(c, map[string]float64{"a": 2, "b": 1}[c.Version.Name]*c.Work)
	}
	if c := choose(t, s, op, 64, on); c.Version.Name != "b" {
		t.Errorf("got %+v", c)
	}
}

// TestWarmUp checks that a slow first run in the process does not count.
func TestWarmUp(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	first := map[string]bool{}
	for range 6 {
		c := choose(t, s, op, 1, on)
		seconds := map[string]float64{"a": 2, "b": 1}[c.Version.Name]
		if !first[c.Version.Name] {
			seconds *= 1000
			first[c.Version.Name] = true
		}
		s.Record(c, seconds)
	}
	for _, got := range s.Profile().Timings() {
		if got.Runs != 3 || got.Count != 2 || got.Mean != map[string]float64{"a": 2, "b": 1}[got.Version] {
			t.Errorf("got %+v", got)
		}
	}
	if c := choose(t, s, op, 1, on); c.Version.Name != "b" {
		t.Errorf("got %+v", c)
	}
}

// TestTooSlow checks that a version which is much slower is left alone after
// the warm-up and one run, and after one run in other classes.
func TestTooSlow(t *testing.T) {
	op, on := opOf("gemm", "slow", "fast"), cpu()
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 10})
	speed := map[string]float64{"slow": 100, "fast": 1}
	if got := run(t, s, op, on, 1, 40, speed); got["slow"] != 2 || got["fast"] != 10 {
		t.Errorf("first class: explored %v", got)
	}
	if got := run(t, s, op, on, 1e6, 40, speed); got["slow"] != 1 || got["fast"] != 10 {
		t.Errorf("second class: explored %v", got)
	}
}

// TestOneAtATime checks that no two workers are caught in a version of which
// nothing is known.
func TestOneAtATime(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	a, b, c := choose(t, s, op, 1, on), choose(t, s, op, 1, on), choose(t, s, op, 1, on)
	if a.Version.Name != "a" || b.Version.Name != "b" || a.Why != versions.Exploring || b.Why != versions.Exploring {
		t.Fatalf("got %+v, %+v", a, b)
	}
	if c.Why != versions.Waiting || c.Version.Name != "a" || c.Timed {
		t.Errorf("third: got %+v", c)
	}
	s.Record(b, 1)
	b = choose(t, s, op, 1, on)
	if c = choose(t, s, op, 1, on); b.Version.Name != "b" || c.Version.Name != "b" || c.Why != versions.Waiting {
		t.Errorf("the one known does not run while the other is explored: %+v, %+v", b, c)
	}
}

func TestAbandon(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	speed := map[string]float64{"a": 1, "b": 2}
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	for range 4 {
		s.Abandon(choose(t, s, op, 1, on))
	}
	for _, seconds := range []float64{-1, math.NaN(), math.Inf(1)} {
		s.Record(choose(t, s, op, 1, on), seconds)
	}
	if got := run(t, s, op, on, 1, 50, speed); got["a"] != 3 || got["b"] != 3 {
		t.Errorf("explored %v after abandoned runs", got)
	}
}

// TestGivesUp checks that a version which always fails is not tried for ever.
func TestGivesUp(t *testing.T) {
	op, on := opOf("gemm", "broken", "good"), cpu()
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	failed := 0
	for range 50 {
		c := choose(t, s, op, 1, on)
		if c.Version.Name == "broken" {
			failed++
			s.Abandon(c)
			continue
		}
		s.Record(c, 1)
	}
	if failed != 5 {
		t.Errorf("tried %d times", failed)
	}
	// Where nothing works the first one runs, so that its error is seen.
	s = newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	for range 50 {
		s.Abandon(choose(t, s, op, 1, on))
	}
	for range 2 {
		if c := choose(t, s, op, 1, on); c.Why != versions.First || c.Index != 0 || c.Timed {
			t.Errorf("got %+v", c)
		}
	}
}

// TestExploresExactlyConcurrently has many workers explore at once: each
// version is explored exactly k times per class, never twice at a time before
// its speed is known, and what follows is the fastest.
func TestExploresExactlyConcurrently(t *testing.T) {
	const workers, calls, explore = 16, 400, 7
	names := []string{"a", "b", "c", "d"}
	op := opOf("gemm", names...)
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: explore})
	var mu sync.Mutex
	explored := make(map[string]int)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			on := cpu() // each worker has its own, alike
			for i := range calls {
				work := []float64{1, 1e3, 1e6}[(w+i)%3]
				c, err := s.Select(op, callOf(work), on)
				if err != nil {
					t.Error(err)
					return
				}
				if c.Why == versions.Exploring && (w*calls+i)%5 == 0 {
					s.Abandon(c)
					continue
				}
				if c.Why == versions.Exploring {
					mu.Lock()
					explored[fmt.Sprint(c.Version.Name, c.Class)]++
					mu.Unlock()
				}
				s.Record(c, float64(4-c.Index)*work*1e-9)
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		for _, work := range []float64{1, 1e3, 1e6} {
			if got := explored[fmt.Sprint(name, versions.ClassOf(work))]; got != explore {
				t.Errorf("%s at work %g explored %d times", name, work, got)
			}
			if c := choose(t, s, op, work, cpu()); c.Version.Name != "d" || c.Why != versions.Fastest {
				t.Errorf("work %g: got %+v", work, c)
			}
		}
	}
}

func TestSelectorsShareProfile(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	p := new(versions.Profile)
	s1, s2 := newSelector(t, versions.Config{Mode: versions.Thorough, Profile: p}), newSelector(t, versions.Config{Mode: versions.Thorough, Profile: p})
	run(t, s1, op, on, 1, 2*versions.DefaultExplore, map[string]float64{"a": 1, "b": 2})
	if c := choose(t, s2, op, 1, on); c.Why != versions.Fastest || c.Version.Name != "a" {
		t.Fatalf("got %+v", c)
	}
	// What one learns, the other goes by at once.
	for range 8 {
		c := choose(t, s2, op, 1, on)
		s2.Record(c, map[string]float64{"a": 9, "b": 2}[c.Version.Name])
	}
	if c := choose(t, s1, op, 1, on); c.Version.Name != "b" {
		t.Errorf("got %+v", c)
	}
}

func TestSelectDoesNotAllocate(t *testing.T) {
	op, on, call := opOf("gemm", "a", "b"), cpu(), callOf(1)
	for _, mode := range []versions.Mode{versions.Profiled, versions.Static} {
		s := newSelector(t, versions.Config{Mode: mode, Explore: 1000})
		choose(t, s, op, 1, on)
		if n := testing.AllocsPerRun(100, func() {
			c, _ := s.Select(op, call, on)
			s.Record(c, 1)
		}); n != 0 {
			t.Errorf("%v: %g allocations", mode, n)
		}
	}
}

func TestOpWithoutWork(t *testing.T) {
	op, on := opOf("gemm", "a", "b"), cpu()
	op.Work = nil
	c, err := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3}).Select(op, &versions.Call{}, on)
	if err != nil || c.Class != 0 || c.Work != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestExplain(t *testing.T) {
	op, on := opOf("gemm", "go", "avx2", "avx512", "cuda"), cpu()
	op.Versions[2].Constraints.Features = []string{"avx512f"}
	op.Versions[3].Constraints.Kind = "cuda"
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	explain := func() string { return s.Explain(op, callOf(1e6), on).String() }

	want := `gemm/f64 on cpu amd64, Test Processor
work 1e+06, size class 9 (from 2.62e+05 to below 1.05e+06)
  version            runs  seconds per unit, mean ± sd    expected
> go                    0  not measured
  avx2                  0  not measured
  avx512           needs avx512f, which this processor lacks
  cuda             needs a cuda worker, this one is cpu
chosen: go, exploring run 1 of 3
`
	if got := explain(); got != want {
		t.Errorf("got:\n%s", got)
	}
	for i := range 6 {
		c := choose(t, s, op, 1e6, on)
		s.Record(c, []float64{3e-3, 1e-3}[c.Index]*(1+0.1*float64(i/2)))
	}
	want = `gemm/f64 on cpu amd64, Test Processor
work 1e+06, size class 9 (from 2.62e+05 to below 1.05e+06)
  version            runs  seconds per unit, mean ± sd    expected
  go                    2  3.45e-09 ± 2.1e-10             3.45 ms
> avx2                  2  1.15e-09 ± 7.1e-11             1.15 ms
  avx512           needs avx512f, which this processor lacks
  cuda             needs a cuda worker, this one is cpu
chosen: avx2, lowest expected time
`
	if got := explain(); got != want {
		t.Errorf("got:\n%s", got)
	}
	if c := choose(t, s, op, 1e6, on); c.Version.Name != "avx2" {
		t.Errorf("explained avx2, chose %s", c.Version.Name)
	}
}

func TestExplainFitsLine(t *testing.T) {
	long := strings.Repeat("Very Long Processor Name ", 12) + strings.Repeat("x", 120)
	op := opOf("gemm", strings.Repeat("version", 9), "b")
	op.Versions[1].Constraints.Processor = long + " II"
	on := &versions.Target{Processor: long}
	s := newSelector(t, versions.Config{Mode: versions.Thorough, Explore: 3})
	text := s.Explain(op, nil, on).String()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	s = newSelector(t, versions.Config{Exclude: []string{op.Versions[0].Name}})
	if text := s.Explain(op, nil, on).String(); !strings.Contains(text, "chosen: none") {
		t.Errorf("got:\n%s", text)
	}
}
