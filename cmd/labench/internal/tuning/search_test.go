package tuning

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is a machine on which the rate falls to both sides of one tile size,
// with a clock of its own.
type machine struct {
	best  int     // the fastest tile size …
	steep float64 // … and how fast the rate falls from it
	noise float64 // a run is slower by up to this part …
	burst float64 // … and with this probability by half of its rate
	flops float64
	rnd   *rand.Rand

	now   time.Duration // what all measurements took
	order []int         // what was measured
}

// rate returns the rate without noise.
func (m *machine) rate(nb int) float64 {
	x := math.Log2(float64(nb) / float64(m.best))
	return 1e11 / (1 + m.steep*x*x)
}

func (m *machine) measure(_ context.Context, nb int) (float64, time.Duration, error) {
	r := m.rate(nb) * (1 - m.noise*m.rnd.Float64())
	if m.rnd.Float64() < m.burst {
		r /= 2
	}
	took := time.Duration(m.flops / r * 1e9)
	m.now += took
	m.order = append(m.order, nb)
	return r, took, nil
}

// The winner of a noisy curve with one top is near the top, wherever that is,
// and never a size that was not measured.
func TestSearchFindsTheTop(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	candidates := Candidates(4096)
	far, all := 0, 0
	for range 2000 {
		m := &machine{best: candidates[rnd.IntN(len(candidates))], steep: 0.1 + rnd.Float64(), noise: 0.04, burst: 0.1, flops: 1e9, rnd: rnd}
		s := NewSearch(candidates, []int{64, 128, 192, 250, 256}[rnd.IntN(5)])
		complete, err := s.Run(t.Context(), time.Hour, m.measure)
		if !complete || err != nil || !s.Usable() {
			t.Fatalf("complete %v, usable %v, %v", complete, s.Usable(), err)
		}
		w, ok := s.Winner()
		if !ok || !slices.Contains(m.order, w.NB) {
			t.Fatalf("%d has won, of %v", w.NB, m.order)
		}
		if all++; m.rate(w.NB) < 0.95*m.rate(m.best) {
			far++
		}
		if n := len(m.order); n > 2*len(candidates)+rounds*(most+1) {
			t.Errorf("%d measurements: %v", n, m.order)
		}
	}
	// A burst may meet all measurements of what is best.
	if far*50 > all {
		t.Errorf("%d of %d winners are 5 %% slower than the best, or more", far, all)
	}
}

// Without noise the winner is the best, or within a percent of it.
func TestSearchWithoutNoise(t *testing.T) {
	for _, n := range []int{100, 500, 1000, 4096, 20000} {
		candidates := Candidates(n)
		for _, best := range candidates {
			for _, byDefault := range candidates {
				m := &machine{best: best, steep: 0.5, flops: 1e9, rnd: rand.New(rand.NewPCG(1, 2))}
				s := NewSearch(candidates, byDefault)
				if complete, err := s.Run(t.Context(), time.Hour, m.measure); !complete || err != nil {
					t.Fatal(complete, err)
				}
				w, _ := s.Winner()
				if m.rate(w.NB)*gain < m.rate(best) {
					t.Errorf("n = %d: from %d on: %d, want %d: %v", n, byDefault, w.NB, best, m.order)
				}
				if m.rate(byDefault)*gain >= m.rate(best) && w.NB != byDefault {
					t.Errorf("n = %d: %d has won over the default %d without need", n, w.NB, byDefault)
				}
			}
		}
	}
}

func TestSearchKeepsToTheBudget(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	candidates := Candidates(2048)
	for range 500 {
		m := &machine{best: 192, steep: 1, noise: 0.05, flops: 1e10, rnd: rnd}
		budget := time.Duration(rnd.Float64() * float64(5*time.Second))
		s := NewSearch(candidates, 256)
		complete, err := s.Run(t.Context(), budget, m.measure)
		if err != nil {
			t.Fatal(err)
		}
		// A measurement may take longer than the one of the neighbour did.
		longest := time.Duration(m.flops / m.rate(32) * 1e9 * 1.1)
		if m.now > budget+longest {
			t.Errorf("%v of %v", m.now, budget)
		}
		if w, ok := s.Winner(); ok != (len(m.order) > 0) || ok && !slices.Contains(m.order, w.NB) {
			t.Errorf("%d has won, %v, of %v", w.NB, ok, m.order)
		}
		if complete && !s.Usable() {
			t.Error("complete, and not usable")
		}
	}
	s := NewSearch(candidates, 256)
	m := &machine{best: 192, flops: 1e10, rnd: rnd}
	if complete, err := s.Run(t.Context(), 0, m.measure); complete || err != nil || len(m.order) != 0 {
		t.Errorf("without a budget: %v, %v, %v", complete, err, m.order)
	}
	if _, ok := s.Winner(); ok || s.Usable() {
		t.Error("a winner that was not measured")
	}
}

// What is hopeless is measured twice at most and ends its direction; what is
// close takes turns.
func TestSearchOrder(t *testing.T) {
	m := &machine{best: 256, steep: 1, flops: 1e9, rnd: rand.New(rand.NewPCG(1, 2))}
	s := NewSearch([]int{32, 64, 128, 192, 240, 256, 288, 512, 1024, 2048}, 256)
	if _, err := s.Run(t.Context(), time.Hour, m.measure); err != nil {
		t.Fatal(err)
	}
	// From the default down until it is hopeless, up, the neighbours, in turns.
	want := []int{256, 128, 128, 512, 512, 256, 240, 288, 240, 288, 240, 256, 288, 240, 256, 288}
	if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(m.order)), want) {
		t.Errorf("%v", m.order)
	}
	last := m.order[len(m.order)-6:]
	if slices.Equal(last[:1], last[1:2]) || !slices.Equal(last[:3], last[3:]) {
		t.Errorf("no turns at the end of %v", m.order)
	}
}

func TestSearchEnds(t *testing.T) {
	boom := errors.New("boom")
	s := NewSearch([]int{64}, 128)
	if _, err := s.Run(t.Context(), time.Hour, func(context.Context, int) (float64, time.Duration, error) { return 0, 0, boom }); err != boom {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &machine{best: 64, flops: 1, rnd: rand.New(rand.NewPCG(1, 2))}
	_, err := s.Run(ctx, time.Hour, func(ctx context.Context, nb int) (float64, time.Duration, error) {
		cancel(boom)
		return m.measure(ctx, nb)
	})
	if err != boom || len(m.order) != 1 {
		t.Errorf("error is %v after %v", err, m.order)
	}
	s.Add(100, 1, 1) // not in the search: nothing happens
	if n := len(s.Points()); n != 1 {
		t.Errorf("%d points", n)
	}
}

func TestCandidates(t *testing.T) {
	for n, want := range map[int][]int{
		1: {32}, 64: {32}, 65: {32, 40}, 200: {32, 40, 56, 72, 104}, 512: {32, 48, 56, 64, 88, 104, 128, 176, 256},
		4096: {32, 48, 56, 64, 88, 104, 128, 176, 208, 256, 344, 416, 512, 688, 824, 1024, 1368},
	} {
		if got := Candidates(n); !slices.Equal(got, want) {
			t.Errorf("n = %d: %v, want %v", n, got, want)
		}
	}
	for n := range 5000 {
		got := Candidates(n)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) || got[len(got)-1] > max(32, n/2+8) {
			t.Errorf("n = %d: %v", n, got)
		}
	}
}

// What a measurement will take is judged by the nearest tile size measured.
func TestCost(t *testing.T) {
	s := NewSearch([]int{64, 128, 256, 512}, 128)
	if c := s.Cost(100); c != 0 {
		t.Errorf("nothing was measured, and 100 takes %v", c)
	}
	s.Add(64, 1, time.Second)
	s.Add(512, 1, time.Hour)
	for nb, want := range map[int]time.Duration{64: time.Second, 128: time.Second, 400: time.Hour, 600: time.Hour} {
		if c := s.Cost(nb); c != want {
			t.Errorf("%d takes %v, want %v", nb, c, want)
		}
	}
}
