package monitor

import (
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// TestHistory: the latest samples are kept, in order, and those after a time are found.
func TestHistory(t *testing.T) {
	var h history
	for i := range 2*sampleCount + 7 {
		h.add(time.Duration(i)*time.Millisecond, trace.Counts{Ended: int64(i), Work: 2 * float64(i), Submitted: 3 * int64(i)})
		first := max(0, i-sampleCount+1)
		all := h.after(-time.Microsecond)
		if len(all) != i-first+1 {
			t.Fatalf("%d samples after %d", len(all), i+1)
		}
		for k, s := range all {
			if want := int64(first + k); s != (Sample{1000 * want, want, 2 * float64(want), 3 * want}) {
				t.Fatalf("sample %d of %d is %+v, want %d", k, i+1, s, want)
			}
		}
	}
	last := 2*sampleCount + 6
	if got := h.after(time.Duration(last-2) * time.Millisecond); len(got) != 2 || got[1].Ended != int64(last) {
		t.Errorf("%+v", got)
	}
	if got := h.after(time.Hour); got == nil || len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestLeft: how long it takes is told once it is known, and no longer.
func TestLeft(t *testing.T) {
	const second = 1_000_000
	for _, c := range []struct{ done, total, took, quiet, want int64 }{
		{0, 0, 2 * second, 0, 0},
		{0, 100, 2 * second, 0, 0},
		{4, 100, 2 * second, 0, 0},
		{5, 100, 2 * second, 0, 38 * second},
		{50, 100, second - 1, 0, 0},
		{50, 100, 10 * second, 5 * second, 10 * second},
		{50, 100, 10 * second, 5*second + 1, 0},
		{100, 100, 10 * second, 0, 0},
	} {
		if got := left(c.done, c.total, c.took, c.quiet); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestParts: what is left is that of the part under way, and unknown without Progress.
func TestParts(t *testing.T) {
	var a activities
	a.begin(Activity{}, 0, trace.Counts{Ended: 10, Submitted: 10})
	if s, _ := a.present(10*time.Second, trace.Counts{Ended: 15, Submitted: 20}); s != (Progress{Done: 5, Total: 10}) {
		t.Errorf("%+v", s)
	}
	a.progress(5, 10, 10*time.Second)
	if s, _ := a.present(10*time.Second, trace.Counts{}); s != (Progress{Done: 5, Total: 10, Known: true, Left: 10e6}) {
		t.Errorf("%+v", s)
	}
	a.progress(0, 10, 20*time.Second)
	a.progress(5, 10, 22*time.Second)
	if s, _ := a.present(22*time.Second, trace.Counts{}); s.Left != 2e6 {
		t.Errorf("a second part: %+v", s)
	}
}

// TestLeftAll: runs to come take as long as those before.
func TestLeftAll(t *testing.T) {
	const second = 1_000_000
	run := Activity{Title: "lu", Run: 3, Runs: 5}
	first := Past{Activity{Title: "lu", Run: 1, Runs: 5}, 0, 10 * second}
	other := Past{Activity{Title: "lu", Phase: "warm-up", Run: 1, Runs: 1}, 0, 90 * second}
	for _, c := range []struct {
		now        Progress
		past       []Past
		took, want int64
	}{
		{Progress{Activity: run}, nil, 4 * second, 0},
		{Progress{Activity: run, Left: 6 * second}, nil, 4 * second, 26 * second},
		{Progress{Activity: run, Left: 6 * second}, []Past{other}, 4 * second, 26 * second},
		{Progress{Activity: run, Left: 8 * second}, []Past{other, first}, 4 * second, 28 * second},
		{Progress{Activity: run}, []Past{first}, 4 * second, 26 * second},
		{Progress{Activity: run}, []Past{first}, 14 * second, 20 * second},
		{Progress{Activity: Activity{Title: "lu", Run: 5, Runs: 5}, Left: second}, []Past{first}, second, 0},
		{Progress{Activity: Activity{Title: "lu"}, Left: second}, []Past{first}, second, 0},
	} {
		if got := leftAll(c.now, c.past, c.took); got != c.want {
			t.Errorf("%+v after %d, %+v: %d, want %d", c.now, c.took, c.past, got, c.want)
		}
	}
}
