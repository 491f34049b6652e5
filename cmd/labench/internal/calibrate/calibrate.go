package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Options says what to measure. The zero value suits most machines.
type Options struct {
	Types   []string // nil: f64
	Sizes   []int    // tile sizes; nil: 32 to 512
	Workers int      // 0: one for each core
	// Each is the minimum time for which each program is repeated; 0 means 150 ms.
	Each time.Duration
	// Progress, if not nil, is called with the number of programs that have run.
	Progress func(done, total int)
}

// tiles is the number of tile rows of a small factorization.
const tiles = 5

// ensureDefaults replaces the zero values whose default is the same on all machines.
func (o Options) ensureDefaults() Options {
	if o.Types == nil {
		o.Types = []string{"f64"}
	}
	if o.Each == 0 {
		o.Each = 150 * time.Millisecond
	}
	if o.Workers == 0 {
		o.Workers = exec.DefaultWorkers()
	}
	return o
}

// Here measures this machine.
func Here(ctx context.Context, o Options) (*sim.Machine, error) {
	o = o.ensureDefaults()
	if o.Sizes == nil {
		o.Sizes = []int{32, 64, 96, 128, 192, 256, 384, 512}
	}
	m := topo.Detect()
	k := sim.Kind{Name: "here", Sockets: 1, Cores: o.Workers, Arch: m.Arch, Processor: m.Brand, Features: m.Features, Cache: cacheOf(m)}
	c := &collector{cache: k.Cache, all: map[key]*samples{}}
	done, total := 0, len(o.Types)*len(o.Sizes)*3
	step := func() {
		done++
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	profile := new(versions.Profile)
	for _, typ := range o.Types {
		for _, nb := range o.Sizes {
			for _, how := range []struct {
				workers int
				far     bool
			}{{1, false}, {o.Workers, false}, {o.Workers, true}} {
				var err error
				if typ == "f32" {
					err = measure[float32](ctx, c, o, profile, nb, how.workers, how.far)
				} else {
					err = measure[float64](ctx, c, o, profile, nb, how.workers, how.far)
				}
				if err != nil {
					return nil, err
				}
				step()
			}
		}
	}
	k.Speeds = c.speeds()
	triad, err := peak.Triad(ctx, peak.Options{Cores: o.Workers, Duration: o.Each * 4 / 3})
	if err != nil {
		return nil, err
	}
	k.Bandwidth = 1e9 * triad.All
	return &sim.Machine{Name: m.Brand, Source: fmt.Sprintf("measured by labench machine, %s", time.Now().Format(time.DateOnly)),
		Kinds: []sim.Kind{k}, Nodes: []sim.Nodes{{Kind: k.Name, Count: 1}}, Costs: c.costs()}, nil
}

// measure runs programs with tiles of nb×nb and collects the times of their tasks.
func measure[T la.Element](ctx context.Context, c *collector, o Options, profile *versions.Profile, nb, workers int, far bool) (err error) {
	selector, err := versions.NewSelector(versions.Config{Mode: versions.Thorough, Profile: profile})
	if err != nil {
		return err
	}
	s, err := newStand(exec.Options{Workers: workers, Selector: selector})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.engine(nb, func(e *la.Engine) error {
		var programs []program
		var err error
		if far {
			programs, err = farPrograms[T](ctx, e, nb, c.cache)
		} else if programs, err = nearPrograms[T](ctx, e, nb, tiles); err == nil {
			programs = append(fillPrograms[T](ctx, e, nb), programs...)
		}
		if err != nil {
			return err
		}
		for _, p := range programs {
			if _, err := s.runs(c, o, p, workers, far); err != nil {
				return err
			}
		}
		return nil
	})
}

// stand is a runtime that records what it executes.
type stand struct {
	*exec.Local
	tape   *sim.Recorder
	events *trace.Recorder
}

func newStand(opt exec.Options) (*stand, error) {
	s := &stand{events: new(trace.Recorder)}
	opt.Recorder = s.events
	var err error
	if s.Local, err = exec.NewLocal(opt); err != nil {
		return nil, err
	}
	s.tape = sim.NewRecorder(s.Local)
	return s, nil
}

// engine calls f with an engine on the stand that has tiles of nb×nb.
func (s *stand) engine(nb int, f func(e *la.Engine) error) error {
	e, err := la.NewEngine(la.Options{Runtime: s.tape, NB: nb, Direct: -1})
	if err != nil {
		return err
	}
	return errors.Join(f(e), e.Close())
}

// runs repeats a program for the time that the options ask for and collects the times of its tasks. It returns
// the seconds of the last run.
func (s *stand) runs(c *collector, o Options, p program, workers int, far bool) (seconds float64, err error) {
	began := time.Now()
	late := false // from the second run on times count, at the latest after this
	for i := 0; i < 4 && !late || time.Since(began) < o.Each; i++ {
		late = i > 0 && time.Since(began) > 20*o.Each
		if err := p.reset(); err != nil {
			return 0, err
		}
		s.events.Reset()
		s.tape.Reset()
		start := time.Now()
		if err := p.run(); err != nil {
			return 0, err
		}
		seconds = time.Since(start).Seconds()
		if i < 3 && !late { // the first runs explore versions and touch memory for the first time
			continue
		}
		c.add(s.tape.Program(s.events.Recording()), workers, far)
	}
	return seconds, nil
}

// program is something that is run repeatedly.
type program struct {
	reset func() error
	run   func() error
}

func nothing() error { return nil }

// fillPrograms are the programs that fill matrices of several nodes and compute their norms.
func fillPrograms[T la.Element](ctx context.Context, e *la.Engine, nb int) []program {
	made := blocked.New[T](blocked.Full, tiles*nb, tiles*nb, nb)
	return []program{
		{nothing, func() error {
			return engine.Run(ctx, e, func(p *blocked.Program[T]) error { return p.Plrnt(made, 1, 0) })
		}},
		{nothing, func() error {
			return engine.Run(ctx, e, func(p *blocked.Program[T]) error {
				_, err := p.Asum(made)
				return err
			})
		}},
	}
}

// nearPrograms are whole factorizations and products of a few tiles.
func nearPrograms[T la.Element](ctx context.Context, e *la.Engine, nb, tiles int) ([]program, error) {
	n := tiles * nb
	full, err := random[T](matgen.Random, n)
	if err != nil {
		return nil, err
	}
	spd, err := random[T](matgen.SPD, n)
	if err != nil {
		return nil, err
	}
	upper := la.Symmetric[T]{Uplo: blas.Upper, N: n, Data: spd.Data, Stride: spd.Stride}
	c := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
	chol, lu, flat := la.NewCholesky[T](e), la.NewLU[T](e), la.NewQR[T](e)
	tree, err := la.NewQRWith[T](e, la.QROptions{Tree: qr.TreeBinary})
	if err != nil {
		return nil, err
	}
	return []program{
		{nothing, func() error { return chol.Factorize(upper, la.WithContext(ctx)) }},
		{nothing, func() error { return lu.Factorize(full, la.WithContext(ctx)) }},
		{nothing, func() error { return flat.Factorize(full, la.WithContext(ctx)) }},
		{nothing, func() error { return tree.Factorize(full, la.WithContext(ctx)) }},
		{nothing, func() error {
			return la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, full, full, 0, c)
		}},
	}, nil
}

// farPrograms are the first steps of factorizations whose matrices are much larger than the cache, and a
// similar product.
func farPrograms[T la.Element](ctx context.Context, e *la.Engine, nb int, cache int64) ([]program, error) {
	elem := int64(scalar.Size[T]())
	// With small tiles the first step has so many tasks that submission would dominate.
	mt := int(math.Sqrt(float64(3*max(cache, 32<<20))/float64(elem))) / nb
	mt = max(min(mt, 48), tiles)
	n := mt * nb
	g, err := random[T](matgen.SPD, n)
	if err != nil {
		return nil, err
	}
	a, u := blocked.New[T](blocked.Full, n, n, nb), blocked.New[T](blocked.SymUpper, n, n, nb)
	piv, rot := lu.NewPivots(n, n, nb), qr.NewRotations[T](n, n, nb, qr.RotationOptions{})
	fill := func(x *blocked.Matrix[T]) func() error {
		return func() error {
			x.CopyFrom(g, blocked.CopyOptions{})
			return nil
		}
	}
	once := func(f func(p *blocked.Program[T]) error) func() error {
		return func() error { return engine.Run(ctx, e, f) }
	}
	return []program{
		{fill(u), once(func(p *blocked.Program[T]) error { return chol.PotrfSteps(p, u, 0, 1) })},
		{fill(a), once(func(p *blocked.Program[T]) error { return lu.GetrfSteps(p, a, piv, 0, 1) })},
		{fill(a), once(func(p *blocked.Program[T]) error { return qr.GeqrfSteps(p, a, rot, 0, 1) })},
	}, nil
}

func random[T la.Element](kind matgen.Kind, n int) (la.General[T], error) {
	g := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
	gen, err := matgen.New[T](matgen.Spec{Kind: kind, M: n, N: n, Seed: 1})
	if err != nil {
		return g, err
	}
	gen.Block(0, 0, n, n, g.Data, n)
	return g, nil
}

// collector collects the times of tasks.
type collector struct {
	cache  int64
	device bool // count only tasks on a device
	all    map[key]*samples
	submit []float64
	gaps   []float64
}

// key identifies tasks that are assumed to take equally long.
type key struct {
	op, version string
	size        int
	work        float64
}

// samples are times in seconds: of tasks that ran alone, of tasks that ran beside one on each other worker, and
// of tasks whose operands came from memory, with the number of bytes.
type samples struct {
	alone, all []float64
	far        [][2]float64 // seconds, bytes
}

// beside is the part of a task during which all other workers must be in tasks, for it to count as run beside
// them.
const beside = 0.9

// add collects the times of a program's tasks.
func (c *collector) add(p *sim.Program, workers int, far bool) {
	type ran struct {
		*sim.ProgramTask
		far int64
	}
	var tasks []ran
	for _, j := range p.Jobs {
		for i := range j {
			if j[i].Took > 0 && (!c.device || j[i].Version == "cuda") {
				tasks = append(tasks, ran{ProgramTask: &j[i]})
			}
		}
	}
	slices.SortFunc(tasks, func(a, b ran) int { return cmp.Compare(a.Began, b.Began) })
	if far {
		var l sim.Cache[int]
		l.Init(c.cache)
		for i := range tasks {
			for _, d := range tasks[i].Data {
				tasks[i].far += l.Use(d, p.Data[d].Bytes)
			}
		}
	}
	last := map[int]*sim.ProgramTask{}
	for i := range tasks {
		t := tasks[i]
		k := key{p.Ops[t.Op], t.Version, t.Size, t.Work}
		s := c.all[k]
		if s == nil {
			s = &samples{}
			c.all[k] = s
		}
		overlap := 0.0
		for d, step := i-1, -1; step <= 1; d, step = i+1, step+2 {
			for ; d >= 0 && d < len(tasks) && d-i < 64 && i-d < 64; d += step {
				o := tasks[d]
				overlap += max(0, min(t.Began+t.Took, o.Began+o.Took)-max(t.Began, o.Began))
			}
		}
		switch part := overlap / t.Took / float64(max(workers-1, 1)); {
		case far && part >= beside:
			s.far = append(s.far, [2]float64{t.Took, float64(t.far)})
		case far:
		case workers == 1:
			s.alone = append(s.alone, t.Took)
		case part >= beside:
			s.all = append(s.all, t.Took)
		}
		if l := last[t.Worker]; l != nil && !far {
			if gap := t.Began - l.Began - l.Took; gap > 0 && t.Submitted < l.Began {
				c.gaps = append(c.gaps, gap)
			}
		}
		last[t.Worker] = t.ProgramTask
	}
	for _, j := range p.Jobs {
		for i := 1; i < len(j); i++ {
			if d := j[i].Submitted - j[i-1].Submitted; d > 0 {
				c.submit = append(c.submit, d)
			}
		}
	}
}

// speeds returns the measurements, ordered by op and version.
func (c *collector) speeds() (all []sim.Speed) {
	of := map[[2]string]*sim.Speed{}
	for k, s := range c.all {
		if len(s.alone) == 0 {
			continue
		}
		p := sim.Point{Size: k.size, Work: k.work, Alone: mean(s.alone)}
		p.All = p.Alone
		if len(s.all) > 0 {
			p.All = max(mean(s.all), p.Alone)
		}
		var rates []float64
		for _, x := range s.far {
			if x[1] > 0 {
				rates = append(rates, max(x[0]-p.All, 0)/x[1])
			}
		}
		if rates != nil {
			p.Far = middle(rates)
		}
		name := [2]string{k.op, k.version}
		if of[name] == nil {
			of[name] = &sim.Speed{Op: k.op, Version: k.version}
		}
		of[name].Points = append(of[name].Points, p)
	}
	for _, s := range of {
		slices.SortFunc(s.Points, func(a, b sim.Point) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Work, b.Work)) })
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b sim.Speed) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Version, b.Version)) })
	return all
}

// costs returns the overhead of tasks.
func (c *collector) costs() sim.Costs {
	return sim.Costs{Submit: middle(c.submit), Task: middle(c.gaps), Wake: 20e-6}
}

// middle returns the median. It returns 0 for an empty x.
func middle(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// mean returns the mean, since the time of a run is the sum over its tasks. Values above twice the median count
// as twice the median: another program had the core.
func mean(x []float64) (sum float64) {
	most := 2 * middle(x)
	for _, v := range x {
		sum += min(v, most)
	}
	return sum / float64(len(x))
}

// cacheOf returns the size of the last-level cache in bytes, or a common size if it is unknown.
func cacheOf(m *topo.Machine) int64 {
	if n := m.CacheSize(3); n > 0 {
		return n
	}
	return 32 << 20
}
