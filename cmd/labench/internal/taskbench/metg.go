package taskbench

import (
	"context"
	"math"
	"time"

	"github.com/tessera-la/tessera/exec"
)

// Point is a run with tasks of one size.
type Point struct {
	Iterations int
	Kernel     time.Duration // time of a task's computation alone on a core
	// Granularity is the time per task in the best run: time·workers/tasks.
	Granularity time.Duration
	// Efficiency is Kernel/Granularity: the part of the machine's time spent in computations.
	Efficiency float64
}

// Result is a measurement of METG.
type Result struct {
	Workers int
	Tasks   int
	Points  []Point // from the largest tasks to the smallest
	// METG is the granularity at which the efficiency is one half, interpolated between two points. It is 0 if
	// the efficiency never fell below one half, or never reached it.
	METG time.Duration
}

// Calibrate returns the time of one iteration of the tasks' computation on this core: the minimum of several
// long runs.
func Calibrate() time.Duration {
	const iterations = 1 << 16
	best := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		spin(iterations)
		best = min(best, time.Since(start))
	}
	return max(best/iterations, 1)
}

// longEnough is how long the runs of a size last per requested run: short runs are repeated more often. If
// other programs use the machine, possibly none of a few runs of a few milliseconds has all cores to itself.
// Tasks that wait for each other at every step suffer most from that.
const longEnough = 20 * time.Millisecond

// Measure runs g with smaller and smaller tasks, each size several times, until the efficiency is well below
// one half.
func Measure(ctx context.Context, rt *exec.Local, g Graph, repeat int) (Result, error) {
	p := NewProgram(g)
	r := Result{Workers: len(rt.Workers()), Tasks: len(p.tasks)}
	if _, err := p.Run(ctx, rt, 1); err != nil { // warm-up
		return r, err
	}
	const largest = 400 * time.Microsecond
	for want := float64(largest); want > 50; want /= math.Sqrt2 {
		// The speed of the machine drifts, so calibrate for each size.
		each := Calibrate()
		iterations := max(1, int(want/float64(each)+0.5))
		if n := len(r.Points); n > 0 && iterations >= r.Points[n-1].Iterations {
			break
		}
		best, sum := time.Duration(math.MaxInt64), time.Duration(0)
		for n := 0; n < repeat || sum < time.Duration(repeat)*longEnough; n++ {
			wall, err := p.Run(ctx, rt, iterations)
			if err != nil {
				return r, err
			}
			best, sum = min(best, wall), sum+wall
		}
		pt := Point{Iterations: iterations, Kernel: each * time.Duration(iterations)}
		pt.Granularity = best * time.Duration(r.Workers) / time.Duration(r.Tasks)
		pt.Efficiency = float64(pt.Kernel) / float64(pt.Granularity)
		r.Points = append(r.Points, pt)
		if pt.Efficiency < 0.25 {
			break
		}
	}
	r.METG = metg(r.Points)
	return r, nil
}

// metg returns the granularity at which the efficiency last falls through one half. It interpolates between two
// points, in the logarithms.
func metg(points []Point) time.Duration {
	for i := len(points) - 1; i > 0; i-- {
		hi, lo := points[i-1], points[i]
		if hi.Efficiency >= 0.5 && lo.Efficiency < 0.5 {
			x := (0.5 - lo.Efficiency) / (hi.Efficiency - lo.Efficiency)
			a, b := math.Log(float64(lo.Granularity)), math.Log(float64(hi.Granularity))
			return time.Duration(math.Exp(a + x*(b-a)))
		}
	}
	return 0
}
