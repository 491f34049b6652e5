package svm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSMO: problems whose solutions are known.
func TestSMO(t *testing.T) {
	for _, c := range []struct {
		name        string
		kernel      Kernel
		x           [][]float64
		y           []float64
		alpha       []float64
		objective   float64
		startsThere bool
	}{
		{"none", RBF, nil, nil, nil, 0, false},
		{"one label", RBF, [][]float64{{1}, {2}}, []float64{1, 1}, []float64{0, 0}, 0, false},
		// The plane x = 1 with margin 1: w = 1, so alpha is ½ for both, and the objective ½‖w‖².
		{"margin", Linear, [][]float64{{0, 7}, {2, 7}}, []float64{-1, 1}, []float64{0.5, 0.5}, 0.5, false},
		{"far ones do not count", Linear, [][]float64{{-9}, {0}, {2}, {9}}, []float64{-1, -1, 1, 1}, []float64{0, 0.5, 0.5, 0}, 0.5, false},
		{"from the solution on", Linear, [][]float64{{-9}, {0}, {2}, {9}}, []float64{-1, -1, 1, 1}, []float64{0, 0.5, 0.5, 0}, 0.5, true},
		// Points that coincide and differ in their labels are at the bound.
		{"bound", RBF, [][]float64{{3}, {3}}, []float64{1, -1}, []float64{1, 1}, 2, false},
	} {
		alpha := make([]float64, len(c.x))
		if c.startsThere {
			copy(alpha, c.alpha)
		}
		s := New(Params{c.kernel, 1, 1}, c.x, c.y, alpha)
		if err := s.Solve(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.alpha {
			if math.Abs(s.Alpha[i]-want) > 1e-3 || want == 0 && s.Alpha[i] != 0 {
				t.Errorf("%s: alpha is %v, want %v", c.name, s.Alpha, c.alpha)
				break
			}
		}
		if math.Abs(s.Objective()-c.objective) > 1e-3 {
			t.Errorf("%s: objective %v, want %v", c.name, s.Objective(), c.objective)
		}
	}
}

// TestSMORows: with room for few rows of the kernel the solution is the same.
func TestSMORows(t *testing.T) {
	x, y := points(300)
	var objectives [2]float64
	for i, most := range []int{2, 300} {
		s := New(Params{RBF, 0.25, 1}, x, y, make([]float64, len(x)))
		s.most = most
		if err := s.Solve(t.Context()); err != nil || len(s.held) > most {
			t.Fatal(err, len(s.held))
		}
		objectives[i] = s.Objective()
	}
	if objectives[0] != objectives[1] || objectives[0] < 1 {
		t.Error(objectives)
	}
}

// TestParams: a cascade of two machines ends with multipliers up to C, and the machine of all
// points is better than none of its parts.
func TestParams(t *testing.T) {
	x, y := points(120)
	ids := make([]int, len(x))
	for i := range ids {
		ids[i] = i
	}
	part := func(lo, hi int) Machine { return Machine{IDs: ids[lo:hi], X: x[lo:hi], Alpha: make([]float64, hi-lo)} }
	for _, p := range []Params{{RBF, 0.1, 0.5}, {RBF, 2, 4}, {Linear, 0, 0.25}} {
		var half [2]Machine
		for i := range half {
			var err error
			if half[i], err = Train(t.Context(), p, part(60*i, 60*i+60), Machine{}, y); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Train(t.Context(), p, half[0], half[1], y)
		if err != nil {
			t.Fatal(err)
		}
		if m.Objective < max(half[0].Objective, half[1].Objective) || len(m.IDs) == 0 {
			t.Errorf("%v: objective %v of machines with %v and %v", p, m.Objective, half[0].Objective, half[1].Objective)
		}
		for i, a := range m.Alpha {
			if !(a > 0 && a <= p.C) {
				t.Errorf("%v: multiplier %d is %v", p, i, a)
			}
		}
	}
}

// points are random points with labels that their first coordinate says, mostly.
func points(n int) (x [][]float64, y []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		p := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		label := 1.0
		if p[0]+0.5*rng.NormFloat64() < 0 {
			label = -1
		}
		x, y = append(x, p), append(y, label)
	}
	return x, y
}
