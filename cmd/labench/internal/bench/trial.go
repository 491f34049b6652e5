package bench

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// Trial is one problem that is run with several tile sizes, in any order. Results are not verified. It must be
// used by one goroutine, which must Close it.
type Trial struct {
	// Default is the tile size that la chooses without tuning. Direct says that la uses no tiles, but a single
	// kernel.
	Default int
	Direct  bool
	Op      engine.Operation
	Key     string // of the op and the type in a profile
	N       int    // what la's tile size depends on
	Flops   float64
	Workers int
	Target  *versions.Target

	// Time runs the problem with tiles of nb×nb, several times if it is small, and returns the time of the
	// fastest run. Before the first measurement with an nb, runs explore the versions.
	Time func(ctx context.Context, nb int) (time.Duration, error)
	// Close ends the workers.
	Close func() error
}

// NewTrial makes the matrices of p, for runs on the workers of l. It ignores NB. The errors are those of Run.
func NewTrial(ctx context.Context, p Problem, l Local) (*Trial, error) {
	p.NB = 0
	s := Spec{Problem: p, Local: l, Repeat: 2, Warmup: 1}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s = s.WithDefaults(); s.Type == "f32" {
		return newTrial[float32](ctx, s)
	}
	return newTrial[float64](ctx, s)
}

// tiled is a problem at one tile size, with its engine and the memory that la keeps between calls.
type tiled struct {
	nb   int
	once func(context.Context) error
	e    *la.Engine
}

// trial is the implementation of a Trial.
type trial[T la.Element] struct {
	spec     Spec
	p        problem
	recent   []tiled       // the latest last
	shortest time.Duration // over all runs; 0 before the first
}

const (
	// maxTiled is the number of tile sizes that are kept ready. Each holds a matrix if the operation is a
	// factorization.
	maxTiled = 6
	// enough is the minimum time of the runs of one measurement.
	enough = 30 * time.Millisecond
	// long is the time of a run from which on the first run with a tile size counts, since its preparations take
	// a small part of it.
	long = time.Second
)

func newTrial[T la.Element](ctx context.Context, s Spec) (*Trial, error) {
	s, err := s.ready()
	if err != nil {
		return nil, err
	}
	// la's choice without a profile, and without learning about versions.
	fresh := s
	fresh.Profile = new(versions.Profile)
	e, err := newEngine[T](fresh.options())
	if err != nil {
		return nil, err
	}
	defer e.Close()
	workers := e.Workers()
	p, s, err := newProblem[T](ctx, s, len(workers))
	if err != nil {
		return nil, err
	}
	op, n, longest := p.order()
	t := &trial[T]{spec: s, p: p}
	out := &Trial{Op: op, Key: engine.TuningKey[T](op), N: n, Flops: p.flops(), Workers: len(workers), Target: workers[0].Target,
		Time: t.time, Close: t.close}
	out.Default, out.Direct = engine.TileSize[T](e, op, n, longest)
	return out, nil
}

func (t *trial[T]) time(ctx context.Context, nb int) (time.Duration, error) {
	x, err := t.ready(ctx, nb)
	if err != nil {
		return 0, err
	}
	var best, all time.Duration
	for all < enough {
		took, err := timed(ctx, t.p, x.once)
		if err != nil {
			return 0, cause(ctx, err)
		}
		if best == 0 || took < best {
			best = took
		}
		all += took
	}
	if t.shortest == 0 || best < t.shortest {
		t.shortest = best
	}
	return best, nil
}

// ready returns the problem at a tile size, and makes it if necessary.
func (t *trial[T]) ready(ctx context.Context, nb int) (tiled, error) {
	if i := slices.IndexFunc(t.recent, func(x tiled) bool { return x.nb == nb }); i >= 0 {
		x := t.recent[i]
		t.recent = append(slices.Delete(t.recent, i, i+1), x)
		return x, nil
	}
	if len(t.recent) == maxTiled {
		oldest := t.recent[0]
		t.recent = slices.Delete(t.recent, 0, 1)
		if err := oldest.e.Close(); err != nil {
			return tiled{}, err
		}
	}
	s := t.spec
	s.NB, s.Trace = nb, new(trace.Recorder)
	e, err := la.NewEngine(s.options())
	if err != nil {
		return tiled{}, err
	}
	once, err := t.p.on(e)
	if err != nil {
		return tiled{}, errors.Join(err, e.Close())
	}
	x := tiled{nb, once, e}
	t.recent = append(t.recent, x)
	if t.shortest < long {
		if err := warm[T](ctx, s, t.p, once, e, newMeter(s)); err != nil {
			return tiled{}, err
		}
	}
	s.Trace.Reset()
	runtime.GC() // the runs should not pay for earlier garbage
	return x, nil
}

func (t *trial[T]) close() error {
	var errs []error
	for _, x := range t.recent {
		errs = append(errs, x.e.Close())
	}
	t.recent = nil
	return errors.Join(errs...)
}
