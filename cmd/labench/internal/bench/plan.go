package bench

import (
	"context"

	"github.com/tessera-la/tessera/cmd/labench/internal/plan"
	"github.com/tessera-la/tessera/la"
)

// planned counts what one run of s, a distributed operation, needs on nodes with the given speeds. It executes
// nothing. opt.Nodes is the number of nodes.
func planned[T la.Element](ctx context.Context, s Spec, speeds []float64, opt plan.Options) (x plan.Counts, err error) {
	s.Input, s.Output, s.Checkpoint = "", "", la.Checkpoint{}
	opt.Nodes = len(speeds)
	if t := float64(s.N) / float64(max(s.NB, 1)); s.NB > 0 && opt.Most > 0 && t*t > float64(opt.Most) {
		return x, &plan.TooManyError{Most: opt.Most}
	}
	r := plan.New(opt)
	s.Runtime = r
	e, err := la.NewEngine(s.options())
	if err != nil {
		return x, err
	}
	defer e.Close()
	p, d := rehearsed(distributed[T]{ctx: ctx, s: s, speeds: speeds})
	defer p.close()
	once, err := p.on(e)
	if err != nil {
		return x, err
	}
	if d.reset(); d.err != nil {
		return x, d.err
	}
	r.Reset()
	err = once(ctx)
	return r.Counts(), err
}

// count counts what one run of p needs with the layout of its matrices.
func (p *distributed[T]) count(ctx context.Context, opt plan.Options) (c plan.Counts, known bool, err error) {
	s := p.s
	s.NB = p.a.NB()
	c, err = planned[T](ctx, s, p.speeds, opt)
	return c, true, err
}
