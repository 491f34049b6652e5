package loopapps

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Cascade is the training of a support vector machine by a cascade: one machine for each block
// of the points, or each partition; then one for the support vectors of each two machines, and
// so on until one is left. Its support vectors are added to the points of every block in the next
// round, until they and their multipliers stay the same: then it is the machine of all points.
//
// Each machine begins with the multipliers of the better one of those it comes from, so that
// the objective never falls, and what satisfies the conditions of optimality stays as it is.
//
// Reference: Graf, Cosatto, Bottou, Dourdanovic, Vapnik, "Parallel support vector machines: the
// cascade SVM" (2004).
type Cascade struct {
	*points
	kernel Kernel
	labels []float64 // ±1, by the numbers of the points
	have   machine
	rounds int
	want   float64 // the objective
}

// machine is a support vector machine: its support vectors, by their numbers, ascending, with
// their multipliers.
type machine struct {
	ids       []int
	x         [][]float64
	alpha     []float64
	objective float64
}

// maxCascades is the most rounds that a Cascade has.
const maxCascades = 100

// clouds is how many groups the points of a Cascade form.
const clouds = 15

// NewCascade makes n points of d coordinates, in so many blocks: 15 clouds, of which each has one
// label and touches others.
func NewCascade(ctx context.Context, rt exec.Runtime, n, d, blocks int, kernel Kernel, seed uint64) (*Cascade, error) {
	c := &Cascade{kernel: kernel, labels: make([]float64, n)}
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
	return fmt.Sprintf("%d points of %d coordinates with labels in %d blocks, kernel %v", c.n, c.d, c.data.Blocks(), c.kernel)
}

// Run implements [Problem], with a loop or tasks for each layer of each round.
func (c *Cascade) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) (loops []loop.Stats, err error) {
	f, err := c.prepare(ctx, rt, 0)
	if err != nil {
		return nil, err
	}
	firsts, numbers := firstsOf(f.data), f.numbers()
	c.have = machine{}
	for c.rounds = 1; c.rounds <= maxCascades; c.rounds++ {
		var s loop.Stats
		opt.Stats, opt.Site = &s, &sites[0]
		layer := make([]machine, f.units())
		if err := f.each(ctx, rt, opt, func(u int) (err error) {
			points := machine{}
			for i, x := range f.items(u, firsts, numbers) {
				points.ids, points.x = append(points.ids, i), append(points.x, x)
			}
			points.alpha = make([]float64, len(points.ids))
			layer[u], err = c.train(ctx, points, c.have)
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
		same := slices.Equal(layer[0].ids, c.have.ids) && slices.Equal(layer[0].alpha, c.have.alpha)
		if c.have = layer[0]; same {
			return loops, nil
		}
	}
	return loops, fmt.Errorf("after %d rounds the support vectors still change", maxCascades)
}

// merge returns the next layer: a machine for each two.
func (c *Cascade) merge(ctx context.Context, rt exec.Runtime, f formed, opt loop.Options, layer []machine) ([]machine, error) {
	next := make([]machine, (len(layer)+1)/2)
	copy(next[len(layer)/2:], layer[len(layer)/2*2:]) // an odd one goes on as it is
	pair := func(i int) (err error) {
		next[i], err = c.train(ctx, layer[2*i], layer[2*i+1])
		return err
	}
	if f.parts == nil {
		return next, tasks(ctx, rt, len(layer)/2, opt.Stats, pair)
	}
	return next, loop.For(ctx, rt, len(layer)/2, opt, func(c loop.Chunk) error {
		for i := c.Lo; i < c.Hi; i++ {
			if err := pair(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// train returns the machine of the points of two others.
func (c *Cascade) train(ctx context.Context, a, b machine) (machine, error) {
	var m machine
	better := b
	if a.objective > b.objective {
		better = a
	}
	var labels []float64
	for i, j, k := 0, 0, 0; i < len(a.ids) || j < len(b.ids); {
		if j == len(b.ids) || i < len(a.ids) && a.ids[i] <= b.ids[j] {
			if j < len(b.ids) && b.ids[j] == a.ids[i] {
				j++
			}
			m.ids, m.x = append(m.ids, a.ids[i]), append(m.x, a.x[i])
			i++
		} else {
			m.ids, m.x = append(m.ids, b.ids[j]), append(m.x, b.x[j])
			j++
		}
		id, alpha := m.ids[len(m.ids)-1], 0.0
		if k < len(better.ids) && better.ids[k] == id {
			alpha = better.alpha[k]
			k++
		}
		m.alpha, labels = append(m.alpha, alpha), append(labels, c.labels[id])
	}
	s := newSMO(c.kernel, m.x, labels, m.alpha)
	if err := s.solve(ctx); err != nil {
		return machine{}, err
	}
	return m.support(s.objective()), nil
}

// support returns the machine without what are no support vectors.
func (m machine) support(objective float64) machine {
	s := machine{objective: objective}
	for i, a := range m.alpha {
		if a > 0 {
			s.ids, s.x, s.alpha = append(s.ids, m.ids[i]), append(s.x, m.x[i]), append(s.alpha, a)
		}
	}
	return s
}

// Verify implements [Problem]: the result satisfies the conditions of optimality on all points,
// computed from their definition, and its objective is that of one machine that has all points at
// once, and found so the first time.
func (c *Cascade) Verify(first bool) error {
	if first {
		all := make([][]float64, 0, c.n)
		for _, x := range c.all() {
			all = append(all, x)
		}
		s := newSMO(c.kernel, all, c.labels, make([]float64, c.n))
		if err := s.solve(context.Background()); err != nil {
			return err
		}
		c.want = s.objective()
	}
	objective, violation, err := c.optimality()
	switch {
	case err != nil:
		return err
	case !(violation <= smoTolerance*(1+1e-6)):
		return fmt.Errorf("the conditions of optimality are violated by %v", violation)
	case !(math.Abs(objective-c.want) <= 1e-3*c.want):
		return fmt.Errorf("the objective is %v; one machine for all points has %v", objective, c.want)
	}
	return nil
}

// optimality returns the objective and by how much the conditions are violated. The error says
// that the multipliers are not feasible.
func (c *Cascade) optimality() (objective, violation float64, err error) {
	m, balance := &c.have, 0.0
	multipliers := make([]float64, c.n)
	for k, i := range m.ids {
		if !(m.alpha[k] > 0 && m.alpha[k] <= penalty) {
			return 0, 0, fmt.Errorf("the multiplier of point %d is %v", i, m.alpha[k])
		}
		multipliers[i] = m.alpha[k]
		balance += m.alpha[k] * c.labels[i]
	}
	if !(math.Abs(balance) <= 1e-9*float64(len(m.ids))) {
		return 0, 0, fmt.Errorf("multipliers times labels add up to %v", balance)
	}
	top, bottom := math.Inf(-1), math.Inf(1)
	for i, x := range c.all() {
		y, a := c.labels[i], multipliers[i]
		f := -y
		for k, v := range m.x {
			f += m.alpha[k] * c.labels[m.ids[k]] * c.kernel.by(x, v)
		}
		objective += a * (1 - y*f) / 2
		if y > 0 && a < penalty || y < 0 && a > 0 {
			top = max(top, -f)
		}
		if y > 0 && a > 0 || y < 0 && a < penalty {
			bottom = min(bottom, -f)
		}
	}
	return objective, top - bottom, nil
}

// by returns K(x, y) by its definition.
func (k Kernel) by(x, y []float64) (s float64) {
	for j, v := range x {
		if k == Linear {
			s += v * y[j]
		} else {
			s += (v - y[j]) * (v - y[j])
		}
	}
	if k == RBF {
		s = math.Exp(-s / float64(len(x)))
	}
	return s
}
