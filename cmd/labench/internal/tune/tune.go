package tune

import (
	"cmp"
	"context"
	"fmt"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// tuneFlags are the flags of labench tune.
type tuneFlags struct {
	ops                       []string
	types, sizes, nb, workers string
	versions, profile         string
	budget                    time.Duration
	seed                      uint64
	json                      bool
}

// NewCommand returns the command labench tune.
func NewCommand(a *cli.App) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [" + strings.Join(bench.Tunable(), "|") + "] …",
		Short: "Find the fastest tile sizes, and keep them in the profile",
		Long: `Look for the tile size at which each of the operations (default cholesky and
gemm) runs fastest, for every type and order, and save it in the profile, where
la finds it for orders up to a factor of two away. Lists are separated by commas
and may have ranges first:last:step, or first:last:xfactor for steps that
multiply.

A coarse set of tile sizes is measured first, then what lies around the best,
then in turns those that are close to it. The default takes part, and stays
unless another is more than a percent faster. Results are not checked. A curve
over tile sizes is drawn by labench scale with --nb and --plot.`,
		Example: `  labench tune                          cholesky and gemm, in a minute
  labench tune trsm syrk -n 512:8192:x2 --budget 5m
  labench tune gemm --type f32 -n 3000 --nb 64:1024:64 --budget 20s`,
		ValidArgs: bench.Tunable(),
		Args:      cobra.ArbitraryArgs, // plan reports wrong arguments better
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ops = args
			return runTune(cmd.Context(), a, &f, bench.NewTrial)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.sizes, "n", "n", "512,1024,2048,4096", "orders of the problem")
	fl.StringVar(&f.types, "type", strings.Join(bench.Types(), ","), "element types")
	fl.StringVar(&f.nb, "nb", "", "tile sizes to try (default some up to half of n)")
	fl.StringVar(&f.workers, "workers", "", "numbers of workers, each tuned for itself (default one per core)")
	fl.DurationVar(&f.budget, "budget", time.Minute, "time for all of it")
	fl.StringVar(&f.versions, "versions", "", "versions that may run, as in openblas,go, and op=version to fix that of one op")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the generated matrices")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per problem instead of tables")
	fl.StringVar(&f.profile, "profile", "", "file to save to, or none (default tessera/profile.json in the user's cache)")
	return cmd
}

// plan parses the command line. The error lists everything that is wrong with it.
func (f *tuneFlags) plan() (*tunePlan, error) {
	p := &tunePlan{budget: f.budget}
	var errs cli.Problems
	ops := f.ops
	if len(ops) == 0 {
		ops = []string{"cholesky", "gemm"}
	}
	for _, op := range ops {
		if !slices.Contains(bench.Tunable(), op) {
			errs.Note(&cli.UnknownError{What: "operation", Word: op, Known: bench.Tunable()})
		}
	}
	types := strings.Split(f.types, ",")
	for i, t := range types {
		if types[i] = strings.TrimSpace(t); !slices.Contains(bench.Types(), types[i]) {
			errs.Note(&cli.ListError{Flag: "type", Element: types[i], Allowed: strings.Join(bench.Types(), ", ")})
		}
	}
	sizes, err := cli.ParseInts("n", f.sizes, nil)
	errs.Note(err)
	if f.nb != "" {
		p.candidates, err = cli.ParseInts("nb", f.nb, nil)
		errs.Note(err)
	}
	workers := []int{0}
	if f.workers != "" {
		workers, err = cli.ParseInts("workers", f.workers, nil)
		errs.Note(err)
	}
	if f.budget <= 0 {
		errs.Note(fmt.Errorf("--budget is %v, want some time, as in 90s or 5m", f.budget))
	}
	base := problem{Problem: bench.Problem{Seed: f.seed}}
	base.Only, base.Fixed, err = setup.ParseVersions(f.versions)
	errs.Note(err)
	if f.profile != "none" {
		errs.Target("profile", f.profile)
	}
	if len(errs) > 0 {
		return nil, cli.JoinLine(errs)
	}
	// Time that small problems leave unused goes to the larger ones.
	slices.Sort(sizes)
	ops, types = distinct(ops), distinct(types)
	p.problems, err = sweep.Grid("tuned", func(i []int) problem {
		s := base
		s.N, s.Op, s.Type, s.Workers = sizes[i[0]], ops[i[1]], types[i[2]], workers[i[3]]
		return s
	}, len(sizes), len(ops), len(types), len(workers))
	if err == nil {
		err = p.validate()
	}
	return p, cli.Usage(err)
}

// distinct returns words without repetitions.
func distinct(words []string) (all []string) {
	for _, w := range words {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// validate returns the errors that bench would return.
func (p *tunePlan) validate() error {
	for _, s := range p.problems {
		for _, nb := range append([]int{0}, p.candidates...) {
			s.NB = nb
			if err := (bench.Spec{Problem: s.Problem, Local: s.Local}).Validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// runTune tunes one problem after the other, and reports. If a problem fails, the others are still tuned. If
// ctx ends, the results so far are saved.
func runTune(ctx context.Context, a *cli.App, f *tuneFlags, open trialFunc) error {
	p, err := f.plan()
	if err != nil {
		return cli.Usage(err)
	}
	// Unknown versions would fail with every problem.
	if err := setup.CheckVersions(p.problems[0].Only, p.problems[0].Fixed); err != nil {
		return err
	}
	most := slices.MaxFunc(p.problems, func(a, b problem) int { return cmp.Compare(a.Workers, b.Workers) })
	a.WarnCrowded(most.Workers)
	kept, err := setup.OpenProfile(a, f.profile)
	if err != nil {
		return err
	}
	if !f.json {
		report.FprintWrapped(a.Out, "", topo.Detect().String())
		report.FprintWrapped(a.Out, "", fmt.Sprintf("%s, in %s at most; GFLOP/s, best of up to 4 measurements of each nb", report.Count(len(p.problems), "problem"), span(p.budget)))
	}
	var all []tuned
	end := time.Now().Add(p.budget)
	left := len(p.problems)
	err = sweep.Each(a, p.problems, func(s problem, say func(string, ...any)) (tuned, error) {
		s.Profile = kept.Profile
		share := time.Until(end) / time.Duration(left)
		left--
		t := p.tune(ctx, s, end, share, open, func(nb int) { say("%s, nb = %d …", problemName(s), nb) })
		return t, ctx.Err()
	}, func(t tuned) error {
		t.keep(kept)
		all = append(all, t)
		return sweep.Print(a, f.json, t, func() string { return t.report(report.NewPaint(a.Out)) })
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	saved := kept.Keep(a)
	if ctx.Err() != nil {
		a.Warn(fmt.Sprintf("interrupted after %d of %s", len(all), report.Count(len(p.problems), "problem")))
	}
	if !f.json {
		report.FprintWrapped(a.Out, "", tuneEnd(all, kept, saved, p.budget))
	}
	return cli.JoinLine([]error{ctx.Err(), tuneFailures(all)})
}
