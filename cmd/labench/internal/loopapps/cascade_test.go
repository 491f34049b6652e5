package loopapps

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/exec/loop"
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
		s := newSMO(c.kernel, c.x, c.y, alpha)
		if err := s.solve(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.alpha {
			if math.Abs(s.alpha[i]-want) > 1e-3 || want == 0 && s.alpha[i] != 0 {
				t.Errorf("%s: alpha is %v, want %v", c.name, s.alpha, c.alpha)
				break
			}
		}
		if math.Abs(s.objective()-c.objective) > 1e-3 {
			t.Errorf("%s: objective %v, want %v", c.name, s.objective(), c.objective)
		}
	}
}

// TestSMORows: with room for few rows of the kernel the solution is the same.
func TestSMORows(t *testing.T) {
	c, err := NewCascade(t.Context(), start(t, 1), 300, 4, 1, RBF, 3)
	if err != nil {
		t.Fatal(err)
	}
	var x [][]float64
	for _, p := range c.all() {
		x = append(x, p)
	}
	var objectives [2]float64
	for i, most := range []int{2, 300} {
		s := newSMO(RBF, x, c.labels, make([]float64, 300))
		s.most = most
		if err := s.solve(t.Context()); err != nil || len(s.held) > most {
			t.Fatal(err, len(s.held))
		}
		objectives[i] = s.objective()
	}
	if objectives[0] != objectives[1] || objectives[0] < 1 {
		t.Error(objectives)
	}
}

// TestCascade: in all forms the cascade ends with the machine of all points, and wrong ones do
// not pass.
func TestCascade(t *testing.T) {
	for _, workers := range []int{1, 3} {
		rt := start(t, workers)
		for i, blocks := range []int{1, 6, 21} {
			c, err := NewCascade(t.Context(), rt, 200, 5, blocks, Kernels()[i%2], 9)
			if err != nil {
				t.Fatal(err)
			}
			for k, f := range Forms() {
				c.SetForm(f)
				loops, err := c.Run(t.Context(), rt, loop.Options{}, new(Sites))
				if err != nil || c.rounds < 2 || len(loops) < c.rounds {
					t.Fatalf("%v, %v: %v, %d rounds, %v", c.Describe(), f, err, c.rounds, loops)
				}
				if err := c.Verify(k == 0); err != nil {
					t.Errorf("%v, %v: %v", c.Describe(), f, err)
				}
				if n := len(c.have.ids); n < 10 || n > 195 {
					t.Errorf("%v: %d support vectors", c.Describe(), n)
				}
			}
			a := c.have.alpha
			was := a[0]
			for _, wrong := range []float64{0, 2 * penalty, was / 2} {
				if a[0] = wrong; c.Verify(false) == nil {
					t.Errorf("a multiplier of %v in place of %v passes", wrong, was)
				}
			}
			a[0] = was
			c.have = machine{} // feasible, and far from optimal
			if c.Verify(false) == nil {
				t.Error("no machine passes")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, err := NewCascade(t.Context(), rt, 50, 2, 4, RBF, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Forms() {
			c.SetForm(f)
			if _, err := c.Run(ctx, rt, loop.Options{}, new(Sites)); !errors.Is(err, context.Canceled) {
				t.Errorf("%v: %v", f, err)
			}
		}
	}
}
