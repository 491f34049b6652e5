package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/versions"
)

// UnknownSpeedError says that a kind of node has no speed for an op.
type UnknownSpeedError struct{ Kind, Op string }

func (e *UnknownSpeedError) Error() string {
	return fmt.Sprintf("sim: kind %q of the machine has neither a speed for %s nor a rate", e.Kind, e.Op)
}

// cost is the cost of a call.
type cost struct {
	version string
	alone   float64 // seconds while no other worker of the socket has a task
	ratio   float64 // as a multiple of that, while all have one
	far     float64 // seconds for a byte of operands that is not in the cache
	work    float64
}

// speeds are the times of calls on a kind of node.
type speeds struct {
	kind   *Kind
	target *versions.Target
	ops    map[*versions.Op]*opSpeeds
	call   versions.Call
}

// opSpeeds are the speeds of an op's versions on the kind. The costs of the last calls are kept,
// since most calls repeat one.
type opSpeeds struct {
	all  []curve
	elem int // bytes of an element
	err  error

	last [4]known
	next int
}

type known struct {
	size int
	work float64
	cost cost
}

func newSpeeds(k *Kind) *speeds {
	return &speeds{kind: k, target: k.target(), ops: map[*versions.Op]*opSpeeds{}}
}

// of returns the speeds of an op.
func (s *speeds) of(op *versions.Op) *opSpeeds {
	o := s.ops[op]
	if o != nil {
		return o
	}
	o = &opSpeeds{elem: 8}
	if op.Type == "f32" {
		o.elem = 4
	}
	for i := range s.kind.Speeds {
		x := &s.kind.Speeds[i]
		if x.Op != op.OpName() {
			continue
		}
		if v := op.Version(x.Version); v != nil && v.Constraints.Unmet(s.target) != "" {
			continue
		}
		o.all = append(o.all, newCurve(x))
	}
	if len(o.all) == 0 && s.kind.Rate == 0 {
		o.err = &UnknownSpeedError{s.kind.Name, op.OpName()}
	}
	s.ops[op] = o
	return o
}

// took is the Params of a recorded task: it costs what it took.
type took struct {
	version  string
	seconds  float64
	expected float64 // for policies: the mean of similar tasks
}

// cost returns the cost of t on a node of the kind, with the version that is fastest there.
func (s *speeds) cost(t *graph.Task) (cost, error) {
	if x, ok := t.Params.(*took); ok {
		return cost{version: x.version, alone: x.seconds, ratio: 1}, nil
	}
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return cost{}, fmt.Errorf("sim: the op of a task must be a *versions.Op")
	}
	o := s.of(op)
	if o.err != nil {
		return cost{}, o.err
	}
	work, size := s.measure(t, op, o.elem)
	for i := range o.last {
		if x := &o.last[i]; x.work == work && x.size == size {
			return x.cost, nil
		}
	}
	best := cost{alone: math.Inf(1), ratio: 1, work: work}
	for i := range o.all {
		if c := o.all[i].at(size, work); c.alone < best.alone {
			best = c
		}
	}
	if len(o.all) == 0 {
		best.alone = work / s.kind.Rate
	}
	best.work = work
	o.last[o.next] = known{size, work, best}
	o.next = (o.next + 1) % len(o.last)
	return best, nil
}

// measure returns the work of a task, and its size: see [Point].
func (s *speeds) measure(t *graph.Task, op *versions.Op, elem int) (work float64, size int) {
	c := &s.call
	c.Params, c.Args = t.Params, c.Args[:0]
	for i := range t.Len() {
		v := t.Operand(i).Datum.Value
		c.Args = append(c.Args, v)
		size = max(size, sizeOf(v, elem))
	}
	work = core.WorkOf(op, c)
	clear(c.Args)
	c.Params = nil
	return work, size
}

// sizeOf returns the smaller of the rows and columns of a tile; 0 if v is none.
func sizeOf(v any, elem int) int {
	if m, ok := v.(versions.Stored); ok {
		at := m.Memory()
		return min(at.Rows, int(at.Width)/elem)
	}
	return 0
}

// curve is a Speed in groups of points of one size, by size.
type curve struct {
	version string
	groups  []group
}

// group is points of one size, by their work.
type group struct {
	size   int
	points []Point
}

func newCurve(s *Speed) curve {
	c := curve{version: s.Version}
	points := slices.Clone(s.Points)
	slices.SortFunc(points, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Work, b.Work))
	})
	for _, p := range points {
		if n := len(c.groups); n == 0 || c.groups[n-1].size != p.Size {
			c.groups = append(c.groups, group{size: p.Size})
		}
		g := &c.groups[len(c.groups)-1]
		g.points = append(g.points, p)
	}
	return c
}

// at returns the cost of a call. Seconds for a unit of work are interpolated between the two
// nearest sizes, and for each of these between amounts of work, on straight lines in logarithms.
// Beyond the points they are constant.
func (c *curve) at(size int, work float64) cost {
	i, found := slices.BinarySearchFunc(c.groups, size,
		func(g group, size int) int { return cmp.Compare(g.size, size) })
	var r cost
	switch {
	case found:
		r = c.groups[i].at(work)
	case i == 0:
		r = c.groups[0].scaled(work, size)
	case i == len(c.groups):
		r = c.groups[i-1].scaled(work, size)
	default:
		a, b := &c.groups[i-1], &c.groups[i]
		part := 0.0
		if a.size > 0 {
			part = math.Log(float64(size)/float64(a.size)) / math.Log(float64(b.size)/float64(a.size))
		}
		// Calls of different sizes correspond if their work is the same multiple of the smallest
		// call's: panels of as many tiles, say.
		least := logBetween(a.points[0].Work, b.points[0].Work, part)
		x, y := a.at(work*a.points[0].Work/least), b.at(work*b.points[0].Work/least)
		r = cost{alone: logBetween(x.alone, y.alone, part), ratio: x.ratio + part*(y.ratio-x.ratio),
			far: x.far + part*(y.far-x.far)}
	}
	r.version = c.version
	r.alone *= work
	return r
}

// scaled is at for a size beyond the known ones.
func (g *group) scaled(work float64, size int) cost {
	if g.size == 0 || size == 0 {
		return g.at(work)
	}
	s := float64(g.size) / float64(size)
	return g.at(work * s * s * s)
}

// at returns the seconds for a unit of work, the ratio and far.
func (g *group) at(work float64) cost {
	of := func(p *Point) cost { return cost{alone: p.Alone / p.Work, ratio: p.All / p.Alone, far: p.Far} }
	i, _ := slices.BinarySearchFunc(g.points, work, func(p Point, w float64) int { return cmp.Compare(p.Work, w) })
	switch {
	case i == 0:
		return of(&g.points[0])
	case i == len(g.points):
		return of(&g.points[i-1])
	}
	x, y := of(&g.points[i-1]), of(&g.points[i])
	part := math.Log(work/g.points[i-1].Work) / math.Log(g.points[i].Work/g.points[i-1].Work)
	return cost{alone: logBetween(x.alone, y.alone, part), ratio: x.ratio + part*(y.ratio-x.ratio),
		far: x.far + part*(y.far-x.far)}
}

// logBetween interpolates between a and b by their logarithms.
func logBetween(a, b, part float64) float64 { return a * math.Pow(b/a, part) }
