package loopapps

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/examples/papers/internal/svm"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Cascade trains a support vector machine by a cascade. It trains one machine for each block of the points, or
// each partition. Then it trains one machine for the support vectors of each pair of machines, and so on until
// one is left. In the next round the support vectors of that machine are added to the points of every block.
// The cascade ends when the support vectors and their multipliers no longer change; it is then the machine of
// all points.
//
// The training of each machine starts with the multipliers of the better of its two predecessors. So the
// objective never falls, and a machine that satisfies the optimality conditions does not change.
//
// Reference: Graf, Cosatto, Bottou, Dourdanovic, Vapnik, "Parallel support vector machines: the
// cascade SVM" (2004).
type Cascade struct {
	*points
	params svm.Params
	labels []float64 // ±1, indexed by the numbers of the points
	have   svm.Machine
	rounds int
	want   float64 // expected objective
}

// maxCascades is the largest number of rounds of a Cascade.
const maxCascades = 100

// clouds is the number of groups that the points of a Cascade form.
const clouds = 15

// newCascade makes n points of d coordinates, in the given number of blocks. They form 15 clouds. Each cloud
// has one label and touches others.
func newCascade(ctx context.Context, rt exec.Runtime, n, d, blocks int, kernel svm.Kernel, seed uint64) (*Cascade, error) {
	c := &Cascade{params: svm.Params{Kernel: kernel, Gamma: 1 / float64(d), C: 1}, labels: make([]float64, n)}
	p, err := newPoints(ctx, rt, n, d, blocks, func(i int, x []float64) {
		cloud := int(mix(seed+uint64(i)) % clouds)
		c.labels[i] = float64(cloud%2*2 - 1)
		for j := range x {
			x[j] = 3*uniform(seed+1, cloud*d+j) + 2*uniform(seed+2, i*d+j)
		}
	})
	c.points = p
	return c, err
}

// Describe implements [Problem].
func (c *Cascade) Describe() string {
	return fmt.Sprintf("%d points of %d coordinates with labels in %d blocks, kernel %v", c.n, c.d, c.data.Blocks(), c.params.Kernel)
}

// Run implements [Problem]. Each layer of each round is a loop, or a set of tasks.
func (c *Cascade) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) (loops []loop.Stats, err error) {
	f, err := c.prepare(ctx, rt, 0)
	if err != nil {
		return nil, err
	}
	firsts, numbers := firstsOf(f.data), f.numbers()
	c.have = svm.Machine{}
	for c.rounds = 1; c.rounds <= maxCascades; c.rounds++ {
		var s loop.Stats
		opt.Stats, opt.Site = &s, &sites[0]
		layer := make([]svm.Machine, f.units())
		if err := f.each(ctx, rt, opt, func(u int) (err error) {
			points := svm.Machine{}
			for i, x := range f.items(u, firsts, numbers) {
				points.IDs, points.X = append(points.IDs, i), append(points.X, x)
			}
			points.Alpha = make([]float64, len(points.IDs))
			layer[u], err = svm.Train(ctx, c.params, points, c.have, c.labels)
			return err
		}); err != nil {
			return loops, err
		}
		loops = append(loops, s)
		for len(layer) > 1 {
			opt.Stats, opt.Site = new(loop.Stats), &sites[1]
			if layer, err = c.merge(ctx, rt, f, opt, layer); err != nil {
				return loops, err
			}
			loops = append(loops, *opt.Stats)
		}
		same := slices.Equal(layer[0].IDs, c.have.IDs) && slices.Equal(layer[0].Alpha, c.have.Alpha)
		if c.have = layer[0]; same {
			return loops, nil
		}
	}
	return loops, fmt.Errorf("after %d rounds the support vectors still change", maxCascades)
}

// merge returns the next layer, with one machine for each pair.
func (c *Cascade) merge(ctx context.Context, rt exec.Runtime, f formed, opt loop.Options, layer []svm.Machine) ([]svm.Machine, error) {
	next := make([]svm.Machine, (len(layer)+1)/2)
	copy(next[len(layer)/2:], layer[len(layer)/2*2:]) // an odd one is passed on
	return next, f.run(ctx, rt, len(layer)/2, opt, func(i int) (err error) {
		next[i], err = svm.Train(ctx, c.params, layer[2*i], layer[2*i+1], c.labels)
		return err
	})
}

// Verify implements [Problem]. The result must satisfy the conditions of optimality on all points, computed
// from their definition. Its objective must be that of a single machine trained on all points, which is
// computed the first time.
func (c *Cascade) Verify(first bool) error {
	if first {
		all := make([][]float64, 0, c.n)
		for _, x := range c.all() {
			all = append(all, x)
		}
		s := svm.New(c.params, all, c.labels, make([]float64, c.n))
		if err := s.Solve(context.Background()); err != nil {
			return err
		}
		c.want = s.Objective()
	}
	objective, violation, err := c.optimality()
	switch {
	case err != nil:
		return err
	case !(violation <= svm.Tolerance*(1+1e-6)):
		return fmt.Errorf("the conditions of optimality are violated by %v", violation)
	case !(math.Abs(objective-c.want) <= 1e-3*c.want):
		return fmt.Errorf("the objective is %v; one machine for all points has %v", objective, c.want)
	}
	return nil
}

// optimality returns the objective, and by how much the conditions are violated. It returns an error if the
// multipliers are not feasible.
func (c *Cascade) optimality() (objective, violation float64, err error) {
	m, balance := &c.have, 0.0
	multipliers := make([]float64, c.n)
	for k, i := range m.IDs {
		if !(m.Alpha[k] > 0 && m.Alpha[k] <= c.params.C) {
			return 0, 0, fmt.Errorf("the multiplier of point %d is %v", i, m.Alpha[k])
		}
		multipliers[i] = m.Alpha[k]
		balance += m.Alpha[k] * c.labels[i]
	}
	if !(math.Abs(balance) <= 1e-9*float64(len(m.IDs))) {
		return 0, 0, fmt.Errorf("multipliers times labels add up to %v", balance)
	}
	top, bottom := math.Inf(-1), math.Inf(1)
	for i, x := range c.all() {
		y, a := c.labels[i], multipliers[i]
		f := -y
		for k, v := range m.X {
			f += m.Alpha[k] * c.labels[m.IDs[k]] * c.params.At(x, v)
		}
		objective += a * (1 - y*f) / 2
		if y > 0 && a < c.params.C || y < 0 && a > 0 {
			top = max(top, -f)
		}
		if y > 0 && a > 0 || y < 0 && a < c.params.C {
			bottom = min(bottom, -f)
		}
	}
	return objective, top - bottom, nil
}
