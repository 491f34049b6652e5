package gpucheck

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
)

// whole measures whole matrices: first the library, which is quick and with which the others are compared.
func (c *check) whole() {
	rates := map[string]float64{} // flop/s of each kind of point at the previous size
	for _, p := range c.sizes.whole {
		row := Whole{Op: p.op, Type: p.typ, N: p.n}
		timed := func(kind string, runs int, f func() (gflops float64, err error)) {
			name, of := fmt.Sprintf("%s %s, n = %d, %s", p.op, p.typ, p.n, kind), p.op+kind
			c.point(name, c.expected(p, runs, rates[of]), func() error {
				gflops, err := f()
				if err == nil {
					rates[of] = gflops * 1e9
				}
				return err
			})
		}
		c.resident(p, &row, timed)
		timed("GPU", 2*len(p.nb), func() (_ float64, err error) {
			row.GPU, err = c.device(p, &row, true, p.nb)
			return row.GPU.GFLOPS, err
		})
		sizes := p.nb
		if row.GPU.NB > 0 {
			sizes = []int{row.GPU.NB}
		}
		timed("both", 2*len(sizes), func() (_ float64, err error) {
			row.Both, err = c.device(p, &row, false, sizes)
			return row.Both.GFLOPS, err
		})
		timed("CPU", 1, func() (_ float64, err error) {
			row.CPU, err = c.cores(p)
			return row.CPU.GFLOPS, err
		})
		if row.GPU.Seconds+row.Both.Seconds+row.CPU.Seconds+row.Library > 0 {
			c.report.Whole = append(c.report.Whole, row)
		}
	}
}

// expected estimates the time of a point with the given number of runs at the given rate, which is 0 at first.
// It includes 10 ns per element for making matrices, and the opening of devices.
func (c *check) expected(p problem, runs int, rate float64) time.Duration {
	need := 3 * time.Second
	if c.report.Small {
		return need
	}
	need += time.Duration(p.n) * time.Duration(p.n) * 10
	if rate > 0 {
		need += time.Duration(float64(runs) * flops(p) / rate * 1e9)
	}
	return need
}

// resident measures the library on a resident matrix, and our versions on resident tiles.
func (c *check) resident(p problem, row *Whole, timed func(kind string, runs int, f func() (float64, error))) {
	library, tiles := raw[float64], residentGemm[float64]
	if p.typ == "f32" {
		library, tiles = raw[float32], residentGemm[float32]
	}
	on := func(kind string, to *float64, f func(*cuda.Accelerator, problem, int) (float64, error)) {
		timed(kind, c.sizes.rounds, func() (_ float64, err error) {
			a, err := c.accelerator(0)
			if err != nil {
				return 0, err
			}
			defer func() { err = firstError(err, a.Close()) }()
			*to, err = f(a, p, c.sizes.rounds)
			return *to, err
		})
	}
	on("library", &row.Library, library)
	if p.resident > 0 {
		on("resident tiles", &row.Resident, tiles)
	}
}

// device measures la with the device, alone or together with the workers. It returns the best result over the
// tile sizes.
func (c *check) device(p problem, row *Whole, only bool, sizes []int) (fastest Speed, err error) {
	for i, nb := range sizes {
		s := c.spec(p)
		s.NB, s.Devices, s.DevicesOnly = nb, c.request, only
		// One check is enough to see whether results are right.
		s.Verify = p.verify && i == 0
		if p.n > 8192 && !c.report.Small {
			s.Repeat = 2
		}
		r, err := c.run(s)
		if err != nil {
			return fastest, err
		}
		if s.Verify {
			row.Verified, row.Residual = true, math.Max(row.Residual, float64(r.Residual))
		}
		if r.GFLOPSBest > fastest.GFLOPS {
			fastest = Speed{r.NB, r.SecondsBest, r.GFLOPSBest}
		}
	}
	return fastest, nil
}

// cores measures la without the device.
func (c *check) cores(p problem) (Speed, error) {
	s := c.spec(p)
	if p.n > 8192 {
		s.Repeat = 1
	}
	r, err := c.run(s)
	return Speed{r.NB, r.SecondsBest, r.GFLOPSBest}, err
}

// spec returns the Spec that is common to all runs of p. On cores it allows only the preferred versions, since
// there is no time to explore.
func (c *check) spec(p problem) bench.Spec {
	s := bench.Spec{Problem: bench.Problem{Op: p.op, Type: p.typ, N: p.n, Seed: 1},
		Repeat: 3,
		Warmup: -1,
		NoPeak: true,
		Local:  bench.Local{Workers: c.opt.Workers, Profile: c.profile, Exclude: slower()}}
	if p.verify {
		s.Warmup = 1 // more follow until the versions are known
	}
	if c.report.Small {
		s.NB, s.Repeat = p.nb[0], 2
	}
	return s
}

// run runs s. A wrong result is returned as an error.
func (c *check) run(s bench.Spec) (bench.Result, error) {
	r, err := bench.Run(c.ctx, s)
	if err == nil && !r.Passed {
		err = fmt.Errorf("wrong: %s", r.Failure)
	}
	return r, err
}

// slower returns the names of the versions that no op prefers on this machine's cores.
func slower() []string {
	on := exec.Here()
	var preferred, others []string
	all := op.NewTable().All()
	for _, op := range all {
		if v := OnCores(op, on); v != nil {
			preferred = append(preferred, v.Name)
		}
	}
	for _, op := range all {
		for _, v := range op.Versions {
			if v.Constraints.Unmet(on) == "" && !slices.Contains(preferred, v.Name) && !slices.Contains(others, v.Name) {
				others = append(others, v.Name)
			}
		}
	}
	return others
}
