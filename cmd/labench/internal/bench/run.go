package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/origin"
	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// Run runs s. The time of a run is that of the user's call of la. Making, resetting and verifying the matrices
// does not count. Memory that la keeps between calls is kept here, too.
//
// The error is an *InvalidError or *MemoryError; one of la's or versions' if the options are refused, such as
// *versions.UnknownNameError; an error of reading the Input, such as *file.FormatError; *InputError,
// *la.NotPositiveDefiniteError or *la.NonFiniteError; or the cause of the end of ctx. A wrong result is no
// error: then Passed is false and Failure says why.
func Run(ctx context.Context, s Spec) (Result, error) {
	if err := s.Validate(); err != nil {
		return Result{}, err
	}
	if s.WithDefaults().Type == "f32" {
		return run[float32](ctx, s.WithDefaults())
	}
	return run[float64](ctx, s.WithDefaults())
}

func run[T la.Element](ctx context.Context, s Spec) (_ Result, failed error) {
	s, err := s.ready()
	if err != nil {
		return Result{}, err
	}
	defer boundMemory()()
	if s.Trace == nil {
		s.Trace = new(trace.Recorder)
	}
	m := newMeter(s)
	m.begin(Stage{Name: "preparation"})
	// Make the engine first: it knows the names of the versions, and making matrices is expensive.
	opt := s.options()
	opt.Progress = m.progress
	closeDevices, names, err := openDevices(s, &opt)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if err := closeDevices(); err != nil && failed == nil {
			failed = err
		}
	}()
	e, err := newEngine[T](opt)
	if err != nil {
		return Result{}, err
	}
	defer e.Close()
	workers := len(e.Workers()) - len(names)

	p, s, err := newProblem[T](ctx, s, workers)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	m.pause(true) // measuring the nodes is no part of the runs
	once, err := p.on(e)
	m.pause(false)
	if err != nil {
		return Result{}, err
	}
	if err := warm[T](ctx, s, p, once, e, m); err != nil {
		return Result{}, err
	}
	r := newResult[T](s, p, e, workers, names)
	r.Sched = s.policy(opt)
	if err := r.measure(ctx, s, p, once, e, m); err != nil {
		return Result{}, err
	}
	if err := r.check(ctx, s, p, m); err != nil {
		return Result{}, err
	}
	return r, nil
}

// newResult returns the result of p before its runs.
func newResult[T la.Element](s Spec, p problem, e *la.Engine, workers int, devices []string) Result {
	r := Result{Origin: origin.Here(), Op: s.Op, Type: s.Type, M: s.M, N: s.N, K: s.K, Workers: workers, Devices: devices, Chosen: s.Chosen(),
		Residual: Number(math.NaN()), NRHS: s.NRHS, Limit: find(s.Op).Limit, Formula: find(s.Op).Formula}
	if !find(s.Op).whole {
		op, n, longest := p.order()
		if p, ok := p.(interface{ dims() (m, n, k int) }); ok {
			m, cols, k := p.dims()
			r.NB, r.Direct = engine.ProductTileSize[T](e, op, n, m, cols, k)
		} else {
			r.NB, r.Direct = engine.TileSize[T](e, op, n, longest)
		}
	}
	return r
}

// measure does the timed runs, between two measurements of the peak, and saves their result.
func (r *Result) measure(ctx context.Context, s Spec, p problem, once func(context.Context) error, e *la.Engine, m *meter) error {
	m.begin(Stage{Name: "measuring the peak"})
	if err := r.peak(ctx, s, r.Workers); err != nil {
		return err
	}
	once, nodes := tallied(once, s.Nodes)
	if err := r.repeat(ctx, s, p, once, m); err != nil {
		return cause(ctx, err)
	}
	m.begin(Stage{Name: "measuring the peak"})
	if len(s.Resources) > 1 {
		r.Kinds = kinds(s.Trace.Recording(), e.Workers()[:r.Workers])
	}
	p.describe(r)
	if err := r.peak(ctx, s, r.Workers); err != nil {
		return err
	}
	r.count(p.flops())
	if err := r.cluster(ctx, s, p, nodes()); err != nil {
		return cause(ctx, err)
	}
	if err := p.save(); err != nil {
		return cause(ctx, err)
	}
	return nil
}

// check verifies the result, if that is asked for, and decides whether it has passed.
func (r *Result) check(ctx context.Context, s Spec, p problem, m *meter) error {
	if !s.Verify {
		r.Passed = true
		return nil
	}
	m.begin(Stage{Name: "check"})
	v, err := judge(ctx, s, p, m)
	if err == nil {
		err = ctx.Err() // the vectors may have been skipped
	}
	if err != nil {
		return cause(ctx, err)
	}
	m.next() // small problems have no tasks, so they report no progress
	r.conclude(v)
	return nil
}

// repeat does the timed runs and observes the load of other programs meanwhile.
func (r *Result) repeat(ctx context.Context, s Spec, p problem, once func(context.Context) error, m *meter) error {
	s.Trace.Reset()
	runtime.GC() // the runs should not pay for earlier garbage
	watch := quiet.Start()
	for i := range s.Repeat {
		if s.Recorded != nil && i > 0 {
			s.Trace.Reset()
		}
		took, err := m.timed(ctx, p, once, "timed", i+1, s.Repeat)
		if err != nil {
			return err
		}
		m.next()
		r.Times = append(r.Times, took)
		if s.Recorded != nil {
			recording, before := s.Trace.Recording(), r.Summary.Usage
			r.Summary = recording.Summary()
			r.Summary.Usage = addUsage(r.Summary.Usage, before)
			s.Recorded(recording, took)
		}
	}
	if l, ok := watch.Stop(); ok {
		r.Load = &l
	}
	if s.Recorded == nil {
		r.Summary = s.Trace.Summary()
	}
	return nil
}

// conclude decides whether the result has passed.
func (r *Result) conclude(v verdict) {
	r.Residual, r.Checks, r.Growth = v.residual, v.checks, max(r.Growth, Number(v.growth))
	for i, c := range r.Checks {
		if i == 0 || !(c.Residual/c.Limit <= r.Residual/r.Limit) { // NaN is the worst
			r.Residual, r.Limit, r.Formula = c.Residual, c.Limit, c.Formula
		}
	}
	switch {
	case v.failure != "":
		r.Failure = v.failure
	case !r.Residual.Finite():
		r.Failure = "the result holds infinities or NaN"
	case r.Residual >= r.Limit:
		r.Failure = fmt.Sprintf("the residual is %.3g and must be below %g", r.Residual, r.Limit)
		if r.Growth*r.Limit > r.Residual {
			r.Failure += fmt.Sprintf("; the elements grew by %.3g, which no pivoting keeps from all matrices", r.Growth)
		}
	}
	r.Passed = r.Failure == ""
}

// options returns la's options for s.
func (s Spec) options() la.Options {
	if s.Runtime != nil {
		return la.Options{Runtime: s.Runtime, NB: s.NB}
	}
	// Of a task for the whole matrix, to explore each version would take longer than all runs.
	opt := la.Options{Workers: s.Workers, Thorough: !find(s.Op).whole, NB: s.NB, Policy: s.Sched, ByPriority: s.ByPriority, Only: s.Only, Exclude: s.Exclude,
		Fixed: slices.Clone(s.Fixed), Profile: s.Profile, Table: s.Table, Target: s.Target, Resources: s.Resources, Trace: s.Trace}
	if s.NB > 0 {
		opt.Direct = -1 // a requested tile size is used
	}
	return opt
}

// policy names the policy that decides where tasks run.
func (s Spec) policy(opt la.Options) string {
	switch {
	case s.Runtime == nil:
		return opt.Scheduling().String()
	case s.Owner:
		return "owner"
	case s.Sched == dispatch.Priority && !s.ByPriority: // the default of cluster.Options
		return dispatch.Locality.String()
	}
	return s.Sched.String()
}

// kinds returns what ran on each kind of worker.
func kinds(r *trace.Recording, workers []exec.Worker) (all []Kind) {
	of := make([]int, len(workers))
	for i, w := range workers {
		k := slices.IndexFunc(all, func(x Kind) bool { return x.Processor == w.Target.Processor })
		if k < 0 {
			k = len(all)
			all = append(all, Kind{Processor: w.Target.Processor, Calls: map[string]int{}})
		}
		all[k].Workers++
		of[i] = k
	}
	for _, e := range r.Events {
		if e.Worker < len(of) {
			all[of[e.Worker]].Calls[e.Op+"/"+e.Version]++
		}
	}
	return all
}

// addUsage returns the sum of two usages.
func addUsage(a, b []trace.Usage) []trace.Usage {
	for _, u := range b {
		i := slices.IndexFunc(a, func(x trace.Usage) bool { return x.Op == u.Op && x.Version == u.Version })
		if i < 0 {
			a = append(a, u)
			continue
		}
		a[i].Calls, a[i].Failed, a[i].Busy = a[i].Calls+u.Calls, a[i].Failed+u.Failed, a[i].Busy+u.Busy
	}
	return a
}

// newEngine is la.NewEngine, but the error names the op on T if there is no version for it. la considers all types
// and might name another one.
func newEngine[T la.Element](opt la.Options) (*la.Engine, error) {
	e, err := la.NewEngine(opt)
	if none := (*versions.NoVersionError)(nil); !errors.As(err, &none) {
		return e, err
	}
	selector, ours := versions.NewSelector(versions.Config{Only: opt.Only, Exclude: opt.Exclude, Fixed: opt.Fixed})
	if ours != nil {
		return nil, ours
	}
	rt, ours := exec.NewLocal(exec.Options{Workers: 1, Float: true, Target: opt.Target})
	if ours != nil {
		return nil, ours
	}
	defer rt.Close()
	for _, op := range kernels.For[T](op.NewTable()).All() {
		if ours := selector.Check(op, rt.Target()); ours != nil {
			return nil, ours
		}
	}
	return nil, err
}

// warm runs p as often as s asks, and continues until the versions could be explored. A factorization of few
// tiles calls potrf too rarely to try every version in one run.
func warm[T la.Element](ctx context.Context, s Spec, p problem, once func(context.Context) error, e *la.Engine, m *meter) error {
	for i := range max(s.Warmup, 0) {
		if _, err := m.timed(ctx, p, once, "warm-up", i+1, s.Warmup); err != nil {
			return cause(ctx, err)
		}
		m.next()
	}
	if s.Warmup < 0 || find(s.Op).whole {
		return nil
	}
	m.pause(true)
	defer m.pause(false)
	begin := time.Now()
	for i := range 16 {
		if explored[T](e, s.Trace.Summary()) || time.Since(begin) > time.Second {
			break
		}
		if _, err := m.timed(ctx, p, once, "warm-up", s.Warmup+i+1, 0); err != nil {
			return cause(ctx, err)
		}
	}
	return nil
}

// explored reports whether each op was called often enough to explore each of its versions.
func explored[T la.Element](e *la.Engine, sum trace.Summary) bool {
	calls := map[string]int{}
	for _, u := range sum.Usage {
		name, _, _ := strings.Cut(u.Op, "/")
		calls[name] += u.Calls
	}
	for op, n := range calls {
		x, _ := engine.Explain[T](e, op, nil)
		eligible := 0
		for _, v := range x.Versions {
			if v.Reason == "" {
				eligible++
			}
		}
		if eligible > 1 && n < eligible*versions.DefaultExplore {
			return false
		}
	}
	return true
}

// judge verifies the result of p with an engine of its own. All versions of the build may take part, not only
// those of s, and the trace of the timed runs is unaffected.
func judge(ctx context.Context, s Spec, p problem, m *meter) (verdict, error) {
	e, err := la.NewEngine(la.Options{Workers: s.Workers, Profile: s.Profile, Progress: m.progress})
	if err != nil {
		return verdict{}, err
	}
	defer e.Close()
	return p.verify(ctx, e, m.step)
}

// Rates returns the shortest and the median of the times in seconds, and the corresponding rates for the given
// number of operations.
func Rates(times []time.Duration, flops float64) (secondsBest, secondsMedian, gflopsBest, gflopsMedian float64) {
	sorted := slices.Sorted(slices.Values(times))
	mid := len(sorted) / 2
	median := sorted[mid]
	if len(sorted)%2 == 0 {
		median = (sorted[mid-1] + sorted[mid]) / 2
	}
	secondsBest, secondsMedian = sorted[0].Seconds(), median.Seconds()
	return secondsBest, secondsMedian, flops / secondsBest / 1e9, flops / secondsMedian / 1e9
}

// count sets the fields that follow from the times, the flops of one run and the trace.
func (r *Result) count(flops float64) {
	r.SecondsBest, r.SecondsMedian, r.GFLOPSBest, r.GFLOPSMedian = Rates(r.Times, flops)
	for _, t := range r.Times {
		r.Seconds = append(r.Seconds, t.Seconds())
	}
	r.Spread = quiet.Spread(r.Seconds)
	r.Disturbed = r.Spread > quiet.Wide || r.Load != nil && r.Load.Disturbs(r.Workers)
	if r.PeakGFLOPS > 0 {
		r.PeakFraction = r.GFLOPSBest / r.PeakGFLOPS
	}
	r.Versions = map[string]int{}
	for _, u := range r.Summary.Usage {
		op, _, _ := strings.Cut(u.Op, "/")
		r.Versions[op+"/"+u.Version] += u.Calls
	}
}
