package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// scaleFlags are the flags of labench scale.
type scaleFlags struct {
	op                                     string
	sizes, workers, nb, sched, versions, x string
	typ                                    string
	seed                                   uint64
	repeat, warmup                         int
	verify, json                           bool
	csv, plot, oversubscribe, threads      string
	profile, devices                       string
	nodes                                  *onNodes
	given                                  func(flag string) bool
	choices                                map[string]*string
}

// NewCommand returns the command labench scale.
func NewCommand(a *cli.App) *cobra.Command {
	f := scaleFlags{nodes: new(onNodes)}
	cmd := &cobra.Command{
		Use:   "scale [" + strings.Join(bench.Ops(), "|") + "]",
		Short: "Sweep over sizes, workers, tile sizes, policies and versions",
		Long: `Run an operation (default cholesky) for every combination of the sizes, workers,
tile sizes, policies, versions and devices given, and print a table, and on
request a CSV file and a plot. Lists are separated by commas and may have ranges
first:last:step, or first:last:xfactor for steps that multiply.

The speed-up is over one worker with everything else the same, and the
efficiency is the speed-up per worker: both need 1 among the workers. The FMA
peak of each number of workers is measured once, before the first point.

With --oversubscribe there are more workers than cores, spread evenly, as in the
first figure of the results of Amela et al. (2018): what waits for something
other than a core may gain, arithmetic does not. Tiles are those of factor 1.

With --threads each task runs MKL on so many threads of its own, which are bound
to the cores of as many workers: a task waits until these are idle. With both,
tasks × threads are the cores times the factor, as in that figure.

With --cluster the sweep is over numbers of nodes instead of workers, each with
the same number of workers; speed-up and efficiency are over one node. This
process drives and does not compute. With --machine the plan of each point is
beside it: labench machine writes such a file.`,
		Example: `  labench scale --workers 1:16:x2 --plot scaling.png
  labench scale gemm -n 256:4096:256 --nb 64,128,256,auto --csv tiles.csv
  labench scale cholesky -n 4096 --sched all --versions go,openblas
  labench scale gemm -n 4096 --nb 512,1024 --oversubscribe 1:8 --plot over.svg
  labench scale gemm -n 4096 --nb 512,1024 --threads 1,2,4 --oversubscribe 1:8
  labench scale cholesky --cluster local:1:2 --distributed --sched owner,fifo
  labench scale lu -n 30000 --cluster nodes.toml --distributed --plot nodes.svg
  mpirun -n 5 labench scale gemm --cluster mpi --distributed --nodes 1:4`,
		ValidArgs: bench.Ops(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(fmt.Errorf("scale runs one operation, not %s", strings.Join(args, " and ")))
			}
			if len(args) > 0 && !slices.Contains(bench.Ops(), args[0]) {
				return cli.Usage(&cli.UnknownError{What: "operation", Word: args[0], Known: bench.Ops()})
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.op = "cholesky"
			if len(args) > 0 {
				f.op = args[0]
			}
			f.given = cmd.Flags().Changed
			check := func() error {
				_, err := f.plan()
				return cli.Usage(err)
			}
			f.nodes.Sweeps = true
			return f.nodes.OnRanks(cmd.Context(), a, f.onRank(), check, func() error {
				return runScale(cmd.Context(), a, &f, scaleMachine{bench.Run, bench.Peak})
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.sizes, "n", "n", "1024,2048,4096", "orders of the problem")
	fl.StringVar(&f.workers, "workers", "", "numbers of workers (default 1, 2, 4 … and one per core)")
	fl.StringVar(&f.oversubscribe, "oversubscribe", "", "factors of oversubscription, as in 1:8: so many workers on each core, instead of --workers")
	fl.StringVar(&f.nb, "nb", "auto", "tile sizes; auto is la's choice")
	fl.StringVar(&f.sched, "sched", dispatch.Priority.String(), "scheduling policies: all, "+cli.Words(dispatch.Kinds()))
	fl.StringVar(&f.versions, "versions", "all", "versions that may run, each element a point of its own, as in go,openblas,go+openblas,all")
	fl.StringVar(&f.threads, "threads", "", "threads of a library's call, as in 1,2,4, each a point of its own, instead of --versions (tag mkl)")
	fl.StringVar(&f.devices, "devices", "none", "accelerators, as in cuda0, sim or auto: three points, the workers alone, the devices alone, and both")
	fl.StringVar(&f.typ, "type", "f64", "element type: "+strings.Join(bench.Types(), " or "))
	f.choices = setup.RegisterChoices(cmd, bench.Operations()...)
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the generated matrices")
	fl.IntVar(&f.repeat, "repeat", 3, "timed runs of each point")
	fl.IntVar(&f.warmup, "warmup", 1, "runs of each point before them")
	fl.BoolVar(&f.verify, "verify", true, "check the results")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per point instead of a table")
	fl.StringVar(&f.csv, "csv", "", "write a CSV file, too")
	fl.StringVar(&f.plot, "plot", "", "draw a plot, too: a file .png or .svg")
	fl.StringVarP(&f.x, "x", "x", "", "variable on the plot's horizontal axis: "+cli.Words(variables())+" (default the one with the most values)")
	fl.StringVar(&f.profile, "profile", "", "file of what is known of the versions' speed, or none (default tessera/profile.json in the user's cache)")
	f.nodes.register(fl)
	return cmd
}

// onRank returns what a rank of MPI computes with, at all points.
func (f *scaleFlags) onRank() *setup.LocalFlags {
	x := &setup.LocalFlags{Profile: f.profile}
	if f.versions != "all" {
		x.Versions = strings.ReplaceAll(f.versions, "+", ",")
	}
	return x
}

// scalePlan is the parsed command line.
type scalePlan struct {
	sweep  scaling
	x      variable
	format plotting.Format // of the plot, if there is one
}

// plan parses the command line. The error lists everything that is wrong with it.
func (f *scaleFlags) plan() (*scalePlan, error) {
	p := &scalePlan{sweep: scaling{base: bench.Spec{Problem: bench.Problem{Op: f.op, Type: f.typ, Seed: f.seed}, Repeat: f.repeat, Warmup: f.warmup, Verify: f.verify}}}
	s := &p.sweep
	var errs cli.Problems
	errs.Within("repeat", f.repeat, 1, 1<<20)
	errs.Within("warmup", f.warmup, 0, 1<<20)
	if s.base.Warmup == 0 {
		s.base.Warmup = -1 // none; 0 would mean the default
	}
	given := f.given
	if given == nil {
		given = func(string) bool { return false }
	}
	if f.nodes == nil {
		f.nodes = new(onNodes)
	}
	nodes, err := f.nodes.parse(f.op, f.oversubscribe != "", given)
	errs.Note(err)
	s.sizes, err = cli.ParseInts("n", f.sizes, nil)
	errs.Note(err)
	if f.oversubscribe != "" {
		if f.workers != "" {
			errs.Note(errors.New("--workers and --oversubscribe exclude each other: give one"))
		}
		s.cores = topo.Detect().Workers()
		s.workers, err = parseRanges("oversubscribe", f.oversubscribe)
		errs.Note(err)
		for i := range s.workers {
			s.workers[i] *= s.cores
		}
	} else if f.workers == "" && nodes == nil {
		s.workers = doublings(topo.Detect().Workers())
	} else if f.workers != "" {
		s.workers, err = cli.ParseInts("workers", f.workers, nil)
		errs.Note(err)
	}
	if nodes != nil {
		errs.Note(f.nodes.share(s.workers, slices.Max(nodes)))
		s.workers, s.nodes = nodes, f.nodes
	}
	// The baseline comes first.
	slices.Sort(s.workers)
	s.nb, err = cli.ParseInts("nb", f.nb, map[string]int{"auto": 0})
	errs.Note(err)
	s.policies, err = f.policies(given("sched"))
	errs.Note(err)
	s.base.ByPriority = given("sched")
	if f.threads == "" {
		s.versions, err = parseVersionSets(f.versions)
	} else if given("versions") || nodes != nil {
		err = errors.New("--threads excludes --versions and --cluster")
	} else {
		s.versions, s.base.Table, err = threadSets(f.threads)
	}
	errs.Note(err)
	if f.nodes.OverMPI && len(s.versions) > 1 {
		errs.Note(errors.New("--cluster mpi and several sets of --versions exclude each other: ranks have the same versions at all points"))
	}
	errs.Note(setup.RequestDevices(f.devices))
	s.devices = deviceSets(f.devices)
	errs.Target("csv", f.csv)
	p.format = plotting.Picture(&errs, f.plot)
	errs = append(errs, setup.ApplyChoices(&s.base.Problem, f.choices)...)
	s.base.Distributed = f.nodes.Distributed // which decides what else may be given
	p.x = s.widest()
	if f.x != "" {
		if xs, err := cli.ParseWords("x", f.x, variables()); err != nil || len(xs) != 1 {
			errs.Note(&cli.ListError{Flag: "x", Element: f.x, Allowed: "one of " + cli.Words(variables())})
		} else {
			p.x = xs[0]
		}
	}
	if len(errs) == 0 {
		errs.Note(s.validate())
	}
	return p, cli.JoinLine(errs)
}

// policies parses --sched. With distributed matrices owner is one of the words, and the default.
func (f *scaleFlags) policies(given bool) (all []dispatch.Kind, err error) {
	if !f.nodes.Distributed {
		return cli.ParseWords("sched", f.sched, dispatch.Kinds())
	}
	if !given {
		return []dispatch.Kind{owner}, nil
	}
	var others []string
	for word := range strings.SplitSeq(f.sched, ",") {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case setup.Owner:
			all = append(all, owner)
			continue
		case "all":
			all = append(all, owner)
		}
		others = append(others, word)
	}
	if others == nil {
		return all[:1], nil
	}
	kinds, err := cli.ParseWords("sched", strings.Join(others, ","), dispatch.Kinds())
	return slices.Compact(append(all, kinds...)), err
}

// scaleMachine is the machine of labench scale. Tests replace it.
type scaleMachine struct {
	run  runFunc
	peak peakFunc
}

// runScale runs the sweep and reports it. If a point fails, the others are still run. If ctx ends, the points
// so far are reported.
func runScale(ctx context.Context, a *cli.App, f *scaleFlags, m scaleMachine) error {
	p, err := f.plan()
	if err != nil {
		return cli.Usage(err)
	}
	if setup.WarnNoDevice(a, f.devices) {
		p.sweep.devices = deviceSets("none")
	}
	// Unknown versions would fail in every point.
	for _, v := range p.sweep.versions {
		if v.threads > 0 {
			continue // these have been added to the table
		}
		if err := setup.CheckVersions(v.only, nil); err != nil {
			return err
		}
	}
	profile, err := setup.OpenProfile(a, f.profile)
	if err != nil {
		return err
	}
	p.sweep.base.Profile = profile.Profile
	if p.sweep.nodes != nil {
		p.sweep.app = a
		f.nodes.profiles(f.profile)
	} else if p.sweep.cores == 0 {
		a.WarnCrowded(slices.Max(p.sweep.workers))
	}

	if !a.NoPeak && (p.sweep.nodes == nil || p.sweep.nodes.each > 0) {
		line := report.NewStatus(a.Err)
		line.Set("measuring the FMA peak …")
		err := p.sweep.measurePeaks(ctx, m.peak)
		line.Clear()
		if err != nil {
			return err
		}
		if p.sweep.peakDisturbed {
			a.Warn("other programs, or the hypervisor, had a part of the cores while the peak was measured, three times over: it may be too low")
		}
	}
	table := newScaleTable(&p.sweep)
	if !f.json {
		fmt.Fprint(a.Out, table.head())
	}
	var points []point
	settings := p.sweep.settings()
	err = sweep.Each(a, settings, func(s setting, say func(string, ...any)) (point, error) {
		say("%s …", s)
		return p.sweep.run(ctx, s, points, m.run)
	}, func(q point) error {
		points = append(points, q)
		return sweep.Print(a, f.json, q, func() string { return table.row(q) })
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	if !f.json {
		fmt.Fprint(a.Out, table.disturbed.Note())
	}
	if ctx.Err() == nil {
		profile.Keep(a)
	} else {
		a.Warn(fmt.Sprintf("interrupted after %d of %d points", len(points), len(settings)))
	}
	return cli.JoinLine([]error{f.write(p, points), ctx.Err(), failures(points)})
}

// write writes the requested files. Without points it writes nothing.
func (f *scaleFlags) write(p *scalePlan, points []point) error {
	if len(points) == 0 {
		return nil
	}
	if err := cli.WriteCSV(f.csv, csvColumns(), csvRows(points)); err != nil || f.plot == "" {
		return err
	}
	var picture bytes.Buffer
	err := chartOf(&p.sweep, p.x, points).Render(&picture, p.format)
	if errors.Is(err, plotting.ErrEmpty) {
		return nil // no point has a rate, which is an error of its own
	}
	if err != nil {
		return err
	}
	return os.WriteFile(f.plot, picture.Bytes(), 0o666)
}

// failures returns a *sweep.Error if points failed.
func failures(points []point) error {
	e := &sweep.Error{Total: len(points)}
	for _, p := range points {
		if why := p.failure(); why != "" {
			e.Failed = append(e.Failed, sweep.Failure{Point: p.setting.String(), Why: why})
		}
	}
	return e.Err()
}
