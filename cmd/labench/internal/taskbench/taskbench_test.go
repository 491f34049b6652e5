package taskbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		p    Pattern
		step int
		want string // of points 0 to 7
	}{
		{Trivial, 1, "[[] [] [] [] [] [] [] []]"},
		{NoComm, 3, "[[0] [1] [2] [3] [4] [5] [6] [7]]"},
		{Stencil1D, 1, "[[0 1] [0 1 2] [1 2 3] [2 3 4] [3 4 5] [4 5 6] [5 6 7] [6 7]]"},
		{DOM, 2, "[[0] [0 1] [1 2] [2 3] [3 4] [4 5] [5 6] [6 7]]"},
		{Tree, 2, "[[0] [0] [1] [1]]"},
		{Tree, 5, "[[0] [1] [2] [3] [4] [5] [6] [7]]"},
		{FFT, 2, "[[0 2] [1 3] [0 2 4] [1 3 5] [2 4 6] [3 5 7] [4 6] [5 7]]"},
		{FFT, 4, "[[0 1] [0 1 2] [1 2 3] [2 3 4] [3 4 5] [4 5 6] [5 6 7] [6 7]]"},
		{Nearest, 1, "[[0] [0 1] [1 2] [2 3] [3 4] [4 5] [5 6] [6 7]]"},
		{Spread, 1, "[[1 5] [2 6] [3 7] [0 4] [1 5] [2 6] [3 7] [0 4]]"},
	} {
		g := Graph{Pattern: c.p, Width: 8, Steps: 9, Radix: 2}
		got := make([][]int, g.Points(c.step))
		for i := range got {
			got[i] = g.Needs(c.step, i)
		}
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("%v, step %d: %s, want %s", c.p, c.step, s, c.want)
		}
	}
}

// TestNeedsExist: what a task needs is there, in order and once.
func TestNeedsExist(t *testing.T) {
	for _, p := range Patterns() {
		for _, width := range []int{1, 2, 3, 7, 16} {
			for _, radix := range []int{0, 1, 3, 5, 20} {
				g := Graph{Pattern: p, Width: width, Steps: 12, Radix: radix}
				for step := range g.Steps {
					for i := range g.Points(step) {
						needs := g.Needs(step, i)
						if step == 0 && len(needs) > 0 {
							t.Fatalf("%+v: the first step needs %v", g, needs)
						}
						for k, n := range needs {
							if n < 0 || n >= g.Points(step-1) || k > 0 && n <= needs[k-1] {
								t.Fatalf("%+v, step %d, point %d: %v", g, step, i, needs)
							}
						}
					}
				}
			}
		}
	}
}

func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, kind := range dispatch.Kinds() {
		rt, err := exec.NewLocal(exec.Options{Workers: 3, Policy: kind, Window: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range Patterns() {
			prog := NewProgram(Graph{Pattern: p, Width: 9, Steps: 40, Radix: 3})
			for range 3 {
				if _, err := prog.Run(context.Background(), rt, 2); err != nil {
					t.Errorf("%v, %v: %v", kind, p, err)
				}
			}
		}
		rt.Close()
	}
}

// TestWrongInputIsCaught: the tasks notice a result of the wrong step, of the
// wrong point, and one that is missing.
func TestWrongInputIsCaught(t *testing.T) {
	k := &task{step: 5, point: 2, needs: []int{1, 2}}
	call := func(in ...any) error {
		return run(&versions.Call{Params: k, Args: append(in, &result{-1, -1})})
	}
	if err := call(&result{4, 1}, &result{4, 2}); err != nil {
		t.Error(err)
	}
	for _, in := range [][]any{{&result{4, 1}, &result{3, 2}}, {&result{4, 2}, &result{4, 2}}, {&result{4, 1}}} {
		if err := call(in...); !errors.Is(err, errWrongInput) {
			t.Errorf("%v: %v", in, err)
		} else {
			t.Log(err)
		}
	}
}

func TestMETG(t *testing.T) {
	at := func(us float64, eff float64) Point {
		return Point{Granularity: time.Duration(us * 1000), Efficiency: eff}
	}
	if got := metg([]Point{at(100, 1), at(10, 0.6), at(5, 0.4), at(4, 0.1)}); got < 7*time.Microsecond || got > 7100*time.Nanosecond {
		t.Errorf("%v, want 7.07 µs", got)
	}
	if got := metg([]Point{at(100, 1), at(10, 0.6)}); got != 0 {
		t.Errorf("%v although the efficiency stays above one half", got)
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	// A machine that is busy with other things ends it early, but not each time.
	var r Result
	early := func() bool { return len(r.Points) < 3 && r.Points[len(r.Points)-1].Efficiency >= 0.25 }
	for try := 0; try == 0 || early() && try < 20; try++ {
		r, err = Measure(context.Background(), rt, Graph{Pattern: Stencil1D, Width: 4, Steps: 20}, 1)
		if err != nil || len(r.Points) == 0 || r.Tasks != 80 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if early() {
		t.Errorf("%+v", r)
	}
	if !slices.IsSortedFunc(r.Points, func(a, b Point) int { return b.Iterations - a.Iterations }) {
		t.Error("points are not in the order of size")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, rt, Graph{Pattern: NoComm, Width: 4, Steps: 20}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
