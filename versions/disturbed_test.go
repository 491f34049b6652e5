package versions_test

import (
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

// TestDisturbedRuns times a version that is fast but was preempted in some of
// its exploring runs, whichever they are; it must be chosen all the same.
func TestDisturbedRuns(t *testing.T) {
	for mask := range 16 { // which of four exploring runs were disturbed
		if mask == 15 {
			continue // nothing can be known then
		}
		s, err := versions.NewSelector(versions.Config{Mode: versions.Thorough})
		if err != nil {
			t.Fatal(err)
		}
		on := new(versions.Target)
		op := &versions.Op{Name: "op", Versions: []versions.Version{{Name: "slow"}, {Name: "fast"}}}
		call := new(versions.Call)
		runs := 0
		for range 100 {
			c, err := s.Select(op, call, on)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Timed {
				continue
			}
			seconds := 2e-3
			if c.Version.Name == "fast" {
				seconds = 1e-3
				if runs > 0 && runs < 5 && mask>>(runs-1)&1 == 1 { // run 0 is the warm-up
					seconds = 11e-3
				}
				runs++
			}
			s.Record(c, seconds)
		}
		if c, _ := s.Select(op, call, on); c.Version.Name != "fast" {
			t.Errorf("mask %04b: %s was chosen\n%v", mask, c.Version.Name, s.Explain(op, call, on))
		}
	}
}

// TestSlowerMachine lets a version become slower for good: that is learned in
// the end, and replaces what the file holds.
func TestSlowerMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	for round, seconds := range []float64{1, 10} {
		p, w, err := versions.Load(path)
		if err != nil || w != nil {
			t.Fatal(err, w)
		}
		s, err := versions.NewSelector(versions.Config{Profile: p, Explore: 12})
		if err != nil {
			t.Fatal(err)
		}
		on := new(versions.Target)
		op := &versions.Op{Name: "op", Versions: []versions.Version{{Name: "a"}, {Name: "b"}}}
		for range 60 {
			if c, _ := s.Select(op, nil, on); c.Timed {
				s.Record(c, seconds)
			}
		}
		if _, err := p.Save(path); err != nil {
			t.Fatal(err)
		}
		held, _, err := versions.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, tm := range held.Timings() {
			if tm.Version == "a" && (tm.Mean < 0.99*seconds || tm.Mean > 1.01*seconds) {
				t.Errorf("round %d: mean %g, want %g", round, tm.Mean, seconds)
			}
		}
	}
}

// TestSlowDay has a file that was learned while the core was slower than usual when some versions
// were explored, and no longer when the others were: the next process chooses by what is so then.
func TestSlowDay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	usual := map[string]float64{"fast": 1e-9, "slow": 2e-9}
	op, on := opOf("op", "fast", "slow"), cpu()
	for process, speed := range []map[string]float64{{"fast": 3.7e-9, "slow": 2.4e-9}, usual, usual} {
		p, w, err := versions.Load(path)
		if err != nil || w != nil {
			t.Fatal(err, w)
		}
		s := newSelector(t, versions.Config{Mode: versions.Thorough, Profile: p})
		explored := run(t, s, op, on, 1e6, 200, speed)
		chosen, want := choose(t, s, op, 1e6, on).Version.Name, "fast"
		if process == 0 {
			want = "slow"
		}
		if chosen != want {
			t.Errorf("process %d: %s was chosen, %v were explored\n%v", process, chosen, explored, s.Explain(op, callOf(1e6), on))
		}
		if _, err := p.Save(path); err != nil {
			t.Fatal(err)
		}
	}
}
