package scale

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
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

// register defines the flags on cmd.
func (f *scaleFlags) register(cmd *cobra.Command) {
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
	errs.Note(f.parseWorkers(s, nodes))
	// The baseline comes first.
	slices.Sort(s.workers)
	s.nb, err = cli.ParseInts("nb", f.nb, map[string]int{"auto": 0})
	errs.Note(err)
	s.placements, err = f.placements(given("sched"))
	errs.Note(err)
	s.base.ByPriority = given("sched")
	errs.Note(f.parseVersions(s, given("versions") || nodes != nil))
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
		xs, err := cli.ParseWords("x", f.x, variables())
		if err != nil || len(xs) != 1 {
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

// parseWorkers sets the numbers of workers, or of nodes if the sweep is over these.
func (f *scaleFlags) parseWorkers(s *scaling, nodes []int) (err error) {
	switch {
	case f.oversubscribe != "" && f.workers != "":
		return errors.New("--workers and --oversubscribe exclude each other: give one")
	case f.oversubscribe != "":
		s.cores = topo.Detect().Workers()
		s.workers, err = parseRanges("oversubscribe", f.oversubscribe)
		for i := range s.workers {
			s.workers[i] *= s.cores
		}
	case f.workers != "":
		s.workers, err = cli.ParseInts("workers", f.workers, nil)
	case nodes == nil:
		s.workers = doublings(topo.Detect().Workers())
	}
	if nodes != nil {
		err = errors.Join(err, f.nodes.share(s.workers, slices.Max(nodes)))
		s.workers, s.nodes = nodes, f.nodes
	}
	return err
}

// parseVersions sets the versions of the points: those of --versions, or of the library by numbers of threads.
// others says that --versions or --cluster is given, which --threads excludes.
func (f *scaleFlags) parseVersions(s *scaling, others bool) (err error) {
	switch {
	case f.threads == "":
		s.versions, err = parseVersionSets(f.versions)
	case others:
		err = errors.New("--threads excludes --versions and --cluster")
	default:
		s.versions, s.base.Table, err = threadSets(f.threads)
	}
	return err
}

// placements parses --sched. With distributed matrices owner is one of the words, and the default.
func (f *scaleFlags) placements(given bool) (all []placement, err error) {
	owner := placement{byOwner: true}
	if f.nodes.Distributed && !given {
		return []placement{owner}, nil
	}
	var others []string
	for word := range strings.SplitSeq(f.sched, ",") {
		switch w := strings.ToLower(strings.TrimSpace(word)); {
		case f.nodes.Distributed && w == setup.Owner:
			all = append(all, owner)
			continue
		case f.nodes.Distributed && w == "all":
			all = append(all, owner)
		}
		others = append(others, word)
	}
	if others == nil {
		return all[:1], nil
	}
	kinds, err := cli.ParseWords("sched", strings.Join(others, ","), dispatch.Kinds())
	return slices.Compact(append(all, byPolicies(kinds...)...)), err
}
