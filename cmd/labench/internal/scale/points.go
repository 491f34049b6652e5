package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// variable is a variable of a sweep.
type variable uint8

const (
	varN variable = iota
	varWorkers
	varNB
	varSched
	varVersions
	varDevices
)

func variables() []variable {
	return []variable{varN, varWorkers, varNB, varSched, varVersions, varDevices}
}

func (v variable) String() string {
	return [...]string{"n", "workers", "nb", "sched", "versions", "devices"}[v]
}

// inWords reports whether the values of v are words instead of numbers.
func (v variable) inWords() bool { return v >= varSched }

// of returns the value of v in a setting, for files.
func (v variable) of(t setting) string {
	switch v {
	case varN:
		return strconv.Itoa(t.n)
	case varWorkers:
		return strconv.Itoa(t.workers)
	case varNB:
		if t.nb == 0 {
			return "auto"
		}
		return strconv.Itoa(t.nb)
	case varSched:
		return t.placement.String()
	case varVersions:
		return t.versions.name
	}
	return t.devices.Name
}

// says returns the value of v in a setting, for people.
func (v variable) says(t setting) string {
	switch value := v.of(t); {
	case v == varNB && t.nb == 0:
		return "nb automatic"
	case v == varWorkers && t.onNodes:
		return "nodes = " + value
	case !v.inWords():
		return v.String() + " = " + value
	case v == varVersions && t.versions.only == nil:
		return "all versions"
	case v == varVersions:
		return "version " + value
	default:
		return value
	}
}

// versionSet is a set of versions that a point may run.
type versionSet struct {
	name string // "all", or names joined by +
	only []string
	// threads is the number of the library's threads in each task; 0: it is the versions' own.
	threads int
}

// parseVersionSets parses a comma-separated list of sets of versions. The error is a *cli.ListError.
func parseVersionSets(list string) ([]versionSet, error) {
	var sets []versionSet
	for element := range strings.SplitSeq(list, ",") {
		element = strings.TrimSpace(element)
		set := versionSet{name: element}
		if element != "all" {
			var err error
			set.only, err = versions.ParseNames(strings.ReplaceAll(element, "+", ","))
			if err != nil || len(set.only) == 0 {
				return nil, &cli.ListError{Flag: "versions", Element: element, Allowed: "the name of a version, several with + between them, or all; labench list shows them"}
			}
			set.name = strings.Join(set.only, "+")
		}
		if !slices.ContainsFunc(sets, func(s versionSet) bool { return s.name == set.name }) {
			sets = append(sets, set)
		}
	}
	return sets, nil
}

// threadSets parses numbers of threads of the C library. It returns a set for each, and a table that has these versions.
// The error is a *cli.ListError or an *op.ThreadsError.
func threadSets(list string) (sets []versionSet, table *kernels.Table, err error) {
	numbers, err := cli.ParseInts("threads", list, nil)
	if err != nil {
		return nil, nil, err
	}
	table = op.NewTable()
	for _, n := range numbers {
		if err := op.AddThreads(table, n); err != nil {
			return nil, nil, err
		}
		name := op.ThreadsVersion(n)
		sets = append(sets, versionSet{name, []string{name}, n})
	}
	return sets, table, nil
}

// scaling is all combinations of the lists in it. Tile size 0 is la's choice.
type scaling struct {
	base       bench.Spec
	sizes      []int
	workers    []int // ascending
	nb         []int
	placements []placement
	versions   []versionSet
	devices    []deviceSet     // empty: none
	peaks      map[int]float64 // GFLOP/s, by workers; empty if not measured
	// peakDisturbed says that all measurements of one of the peaks were disturbed.
	peakDisturbed bool
	// cores, if not 0, says that the workers are virtual units: cores times a factor of oversubscription. The
	// factors are 1 and larger.
	cores int
	// nodes, if not nil, says that the workers are nodes. app is theirs.
	nodes *onNodes
	app   *cli.App
}

// unit returns what the numbers of workers are numbers of.
func (s *scaling) unit() string {
	if s.nodes != nil {
		return "node"
	}
	return "worker"
}

// measurePeaks measures the peak for each number of workers, once, so that table and plot show the same.
func (s *scaling) measurePeaks(ctx context.Context, measure peakFunc) error {
	s.peaks = make(map[int]float64)
	for _, w := range s.workers {
		if s.cores > 0 && len(s.peaks) > 0 {
			s.peaks[w] = s.peaks[s.workers[0]] // the peak of the cores
			continue
		}
		cores := w
		if s.nodes != nil {
			cores *= s.nodes.each
		}
		r, err := measure(ctx, s.base.Type, cores)
		if err != nil {
			return err
		}
		s.peaks[w], s.peakDisturbed = r.All, s.peakDisturbed || r.Disturbed
	}
	return nil
}

// setting is one combination.
type setting struct {
	n, workers, nb int
	placement      placement
	versions       versionSet
	devices        deviceSet
	onNodes        bool // workers is a number of nodes
}

func (s setting) String() string {
	what := "workers"
	if s.onNodes {
		what = "nodes"
	}
	text := fmt.Sprintf("n=%d %s=%d nb=%s %s versions=%s", s.n, what, s.workers, varNB.of(s), varSched.of(s), s.versions.name)
	if s.devices.Request != "" {
		text += " devices=" + s.devices.Name
	}
	return text
}

// same reports whether s and t agree in all variables except one.
func (s setting) same(t setting, but variable) bool {
	for _, v := range variables() {
		if v != but && v.of(s) != v.of(t) {
			return false
		}
	}
	return true
}

// grid returns all combinations; the workers vary fastest.
func (s *scaling) grid() ([]setting, error) {
	devices := s.devices
	if len(devices) == 0 {
		devices = deviceSets("none")
	}
	return sweep.Grid("run", func(i []int) setting {
		return setting{s.sizes[i[0]], s.workers[i[5]], s.nb[i[4]], s.placements[i[3]], s.versions[i[1]], devices[i[2]], s.nodes != nil}
	}, len(s.sizes), len(s.versions), len(devices), len(s.placements), len(s.nb), len(s.workers))
}

// settings returns the grid, which validate has found small enough, without tasks of more threads than there are workers.
func (s *scaling) settings() []setting {
	all, _ := s.grid()
	return slices.DeleteFunc(all, func(t setting) bool { return t.versions.threads > t.workers })
}

// values returns the number of values of a variable.
func (s *scaling) values(v variable) int {
	return [...]int{len(s.sizes), len(s.workers), len(s.nb), len(s.placements), len(s.versions), max(len(s.devices), 1)}[v]
}

// names returns the values of a variable in order.
func (s *scaling) names(v variable) (all []string) {
	for _, t := range s.settings() {
		if name := v.of(t); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// swept reports whether v has more than one value.
func (s *scaling) swept(v variable) bool { return s.values(v) > 1 }

// compares reports whether the sweep shows speed-ups.
func (s *scaling) compares() bool { return s.cores == 0 && s.swept(varWorkers) && s.workers[0] == 1 }

// baseWorkers returns the number of workers of the baseline: one, or one for each core.
func (s *scaling) baseWorkers() int { return max(s.cores, 1) }

// factor returns the oversubscription factor of a setting. It returns 0 if there is none.
func (s *scaling) factor(t setting) int {
	if s.cores == 0 {
		return 0
	}
	return t.workers / s.cores
}

// widest returns the variable with the most values, and a numeric one before one in words. If nothing varies it
// returns n.
func (s *scaling) widest() variable {
	return slices.MaxFunc(variables(), func(a, b variable) int {
		if c := cmp.Compare(s.values(a), s.values(b)); c != 0 {
			return c
		}
		return cmp.Compare(b, a) // the first in order
	})
}

// spec returns what bench runs for a setting.
func (s *scaling) spec(t setting) bench.Spec {
	spec := s.base
	spec.NoPeak = true // see measurePeaks
	spec.N, spec.Workers, spec.NB, spec.Sched, spec.Only = t.n, t.workers, t.nb, t.placement.policy, t.versions.only
	spec.Devices, spec.DevicesOnly = t.devices.Request, t.devices.Only
	spec.ByPriority = spec.ByPriority && t.placement == (placement{policy: dispatch.Priority})
	return spec
}

// validate returns the errors that bench would return, one of each kind.
func (s *scaling) validate() error {
	if _, err := s.grid(); err != nil {
		return err
	}
	all := s.settings()
	if len(all) == 0 {
		return errors.New("--threads: each task has more threads than there are workers")
	}
	for _, t := range all {
		if err := s.spec(t).Validate(); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// point is the result of a setting.
type point struct {
	setting
	result bench.Result
	err    error
	// speedup is relative to one worker, or to one worker per core in a sweep over oversubscription. It is NaN
	// if that point was not run, or failed.
	speedup float64
	factor  int     // of oversubscription; 0: none
	nodes   int     // of a cluster; 0: none
	planned float64 // GFLOP/s; NaN: not planned
}

// run runs one setting. before are the earlier points. The error is that of ctx; other errors are stored in the
// point.
func (s *scaling) run(ctx context.Context, t setting, before []point, run runFunc) (point, error) {
	p := point{setting: t, speedup: math.NaN(), planned: math.NaN(), factor: s.factor(t)}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	spec := s.spec(t)
	one := s.baseline(before, t)
	if s.cores > 0 && t.nb == 0 && one != nil && !one.result.Direct {
		// With more workers la would take smaller tiles: the curve would show two effects.
		spec.NB = one.result.NB
	}
	if s.nodes == nil {
		p.result, p.err = run(ctx, spec)
	} else {
		p.nodes = t.workers
		p.result, p.err = s.runOnNodes(ctx, t, spec, run)
	}
	if p.err == nil && s.nodes != nil && s.nodes.planned != nil {
		p.planned, p.err = s.nodes.plan(ctx, spec, t.workers, varSched.of(t), p.result.NB)
	}
	if p.err != nil {
		// These fields are shown even if the point has no result.
		p.result = bench.Result{Op: s.base.Op, Type: s.base.Type, N: t.n, NB: t.nb, Workers: t.workers, Sched: varSched.of(t),
			Residual: bench.Number(math.NaN())}
		return p, ctx.Err()
	}
	if peak := s.peaks[t.workers]; peak > 0 {
		p.result.PeakGFLOPS, p.result.PeakFraction, p.result.PeakDisturbed = peak, p.result.GFLOPSBest/peak, s.peakDisturbed
	}
	if p.failure() != "" {
		return p, nil
	}
	if t.workers == s.baseWorkers() {
		p.speedup = 1
	} else if one != nil {
		p.speedup = p.result.GFLOPSBest / one.result.GFLOPSBest
	}
	return p, nil
}

// runOnNodes runs one setting on nodes that it joins and leaves.
func (s *scaling) runOnNodes(ctx context.Context, t setting, spec bench.Spec, run runFunc) (r bench.Result, err error) {
	leave, err := s.nodes.join(ctx, s.app, t.workers, t.placement.byOwner, t.versions.only, &spec)
	if err != nil {
		return r, err
	}
	r, err = run(ctx, spec)
	return r, errors.Join(err, leave())
}

// baseline returns the point with which a setting is compared, or nil.
func (s *scaling) baseline(points []point, t setting) *point {
	for i := range points {
		q := &points[i]
		if q.workers == s.baseWorkers() && q.same(t, varWorkers) && q.failure() == "" && q.result.GFLOPSBest > 0 {
			return q
		}
	}
	return nil
}

// efficiency returns the speed-up per worker. It is undefined for virtual units.
func (p *point) efficiency() float64 {
	if p.factor > 0 {
		return math.NaN()
	}
	return p.speedup / float64(p.workers)
}

// failure returns why a point failed, or "".
func (p *point) failure() string {
	switch {
	case p.err != nil:
		return strings.Join(strings.Fields(p.err.Error()), " ")
	case !p.result.Passed && p.result.Failure != "":
		return "wrong result: " + p.result.Failure
	case !p.result.Passed:
		return fmt.Sprintf("wrong result: the residual is %.3g", p.result.Residual)
	}
	return ""
}

// MarshalJSON writes the object of the result with more fields at the end: nb_auto, versions_allowed, speedup
// and efficiency (null if unknown), oversubscribe (the factor, if there is one), nodes_computing (on a cluster),
// gflops_planned (null if not planned) and error (if the point failed).
func (p point) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		bench.Result
		Auto       bool         `json:"nb_auto"`
		Allowed    string       `json:"versions_allowed"`
		Speedup    bench.Number `json:"speedup"`
		Efficiency bench.Number `json:"efficiency"`
		Factor     int          `json:"oversubscribe,omitempty"`
		Nodes      int          `json:"nodes_computing,omitempty"`
		Planned    bench.Number `json:"gflops_planned"`
		Error      string       `json:"error,omitempty"`
	}{p.result, p.nb == 0, p.versions.name, bench.Number(p.speedup), bench.Number(p.efficiency()), p.factor, p.nodes, bench.Number(p.planned), p.failure()})
}

// runFunc is bench.Run. Tests replace it.
type runFunc func(context.Context, bench.Spec) (bench.Result, error)

// peakFunc measures the FMA peak of a type with the given number of workers.
type peakFunc func(ctx context.Context, typ string, workers int) (bench.PeakRate, error)
