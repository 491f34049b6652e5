package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/versions"
)

// opFlags is the command line of an operation.
type opFlags struct {
	op                               bench.Operation
	spec                             bench.Spec
	sched, versions, exclude, matrix string
	profile                          string
	json                             bool
	warmup                           int
	devices, resources               string
	choices                          map[string]*string
	given                            func(flag string) bool
	record                           recordFlags
	cluster                          clusterFlags
}

// newOpCommand returns the command that runs one operation.
func newOpCommand(a *cli.App, op bench.Operation) *cobra.Command {
	var tags bool
	f, cmd := opCommand(op, func(ctx context.Context, f *opFlags) error {
		if tags {
			return setup.TagsInfo(a, f.json)
		}
		if f.cluster.job > 0 {
			ctx, a.Job = untilAgentEnds(ctx), true
		}
		return runOp(ctx, a, f)
	})
	f.record.register(cmd)
	f.cluster.register(cmd.Flags())
	cmd.Flags().IntVar(&f.cluster.job, "job", 0, "be this job of the agent --name: end when standard input ends, too, and tell how far it is")
	_ = cmd.Flags().MarkHidden("job") // it is the agent's
	cmd.Flags().BoolVar(&tags, "tags-info", false, "say which build tags this program has, and what each adds")
	return cmd
}

// opCommand returns a command that does something with an operation, and its flags.
func opCommand(op bench.Operation, run func(context.Context, *opFlags) error) (*opFlags, *cobra.Command) {
	f := &opFlags{op: op, spec: bench.Spec{Op: op.Name}}
	cmd := &cobra.Command{
		Use:   op.Name,
		Short: op.Short,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), f) },
	}
	f.given = cmd.Flags().Changed
	f.register(cmd)
	return f, cmd
}

// register defines the flags on cmd.
func (f *opFlags) register(cmd *cobra.Command) {
	s, op, fl := &f.spec, f.spec.Op, cmd.Flags()
	fl.SortFlags = false
	defaults := bench.Spec{Op: op}.WithDefaults()
	for _, size := range f.op.Sizes {
		switch size {
		case "n":
			what := "order of the matrix"
			if len(f.op.Sizes) > 1 {
				what = "columns"
			}
			fl.IntVarP(&s.N, "n", "n", 0, fmt.Sprintf("%s (default %d)", what, defaults.N))
		case "m":
			usage := "rows (default n)"
			if defaults.M != defaults.N {
				usage = fmt.Sprintf("rows (default n, but at least %d)", defaults.M)
			}
			fl.IntVarP(&s.M, "m", "m", 0, usage)
		case "nrhs":
			fl.IntVar(&s.NRHS, "nrhs", 1, "right-hand sides")
		case "k":
			fl.IntVarP(&s.K, "k", "k", 0, "inner dimension of the product (default n)")
		}
	}
	f.choices = setup.RegisterChoices(cmd, f.op)
	if f.op.Takes("mixed") {
		fl.BoolVar(&s.Mixed, "mixed", false, "factor in f32 and refine in f64: --method cholesky, or else by LU")
	}
	if f.op.Takes("domain") {
		fl.IntVar(&s.Domain, "domain", 0, "tiles in a domain of --tree domains (default one domain per worker)")
	}
	if f.op.Takes("ib") {
		fl.IntVar(&s.IB, "ib", 0, "columns of a block reflector (default chosen)")
	}
	if f.op.Takes("checkpoint") {
		fl.StringVar(&s.Checkpoint.Dir, "checkpoint", "", "keep the state of the factorization in a directory, and go on from there if one is there")
		fl.IntVar(&s.Checkpoint.Every, "every", 0, "with --checkpoint: panels between two states (default an eighth of them)")
		fl.BoolVar(&s.Checkpoint.Resume, "resume", false, "with --checkpoint: fail if there is no state to go on from")
	}
	fl.IntVar(&s.NB, "nb", 0, "tile size (default chosen by op and size)")
	fl.StringVar(&s.Type, "type", "f64", "element type: "+strings.Join(bench.Types(), " or "))
	fl.IntVar(&s.Workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&f.sched, "sched", dispatch.Priority.String(), "scheduling policy: "+cli.Words(dispatch.Kinds()))
	fl.StringVar(&f.versions, "versions", "", "versions that may run, as in openblas,go, and op=version to fix that of one op")
	fl.StringVar(&f.exclude, "exclude", "", "versions that may not run")
	fl.StringVar(&f.devices, "devices", "none", "accelerators beside the workers: "+setup.DeviceWords)
	fl.StringVar(&s.Target.Processor, "processor", "", "declare the processor, as in KNL, for versions that ask for one")
	fl.IntVar(&s.Target.Units, "units", 0, "declare how many cores a task may take, for versions that take several")
	fl.StringVar(&f.resources, "resources", "", "TOML file that declares workers of several kinds, instead of --workers, --processor and --units")
	fl.StringVar(&s.Input, "input", "", "matrix file to read A from: .mtx or .npy, with or without .gz, or .npz, with the name of an array if there are several: a.npz:weights")
	fl.StringVar(&f.matrix, "matrix", "", fmt.Sprintf("kind of matrix to generate (default %s); --matrix help lists them", defaultKind(op)))
	fl.Uint64Var(&s.Seed, "seed", 1, "seed of generated matrices")
	fl.IntVar(&s.Repeat, "repeat", 3, "timed runs")
	fl.IntVar(&f.warmup, "warmup", 1, "runs before them")
	fl.BoolVar(&s.Verify, "verify", true, "check the result")
	fl.BoolVar(&f.json, "json", false, "print one JSON object instead of a report")
	fl.StringVar(&f.profile, "profile", "", "file of what is known of the versions' speed, or none (default tessera/profile.json in the user's cache)")
	cli.Complete(cmd, "type", bench.Types())
	cli.Complete(cmd, "sched", cli.NamesOf(dispatch.Kinds()...))
	cli.Complete(cmd, "matrix", bench.KindsFor(op))
}

// defaultKind returns the name of the kind of matrix that op takes if nothing
// is said.
func defaultKind(op string) string { return bench.Spec{Op: op}.WithDefaults().Matrix.String() }

// parse completes the Spec from the words of the command line. The error
// joins all that is wrong with them.
func (f *opFlags) parse() (bench.Spec, error) {
	s := f.spec
	var errs cli.Problems
	atLeast := func(flag string, value, least int) {
		if value < least {
			errs.Note(fmt.Errorf("%s is %d, want at least %d", cli.Dashed(flag), value, least))
		}
	}
	for _, d := range []struct {
		flag  string
		value int
	}{{"n", s.N}, {"m", s.M}, {"k", s.K}, {"nrhs", s.NRHS}} {
		if f.given(d.flag) {
			atLeast(d.flag, d.value, 1)
		}
	}
	wrongSizes := len(errs) > 0
	atLeast("repeat", s.Repeat, 1)
	atLeast("every", s.Checkpoint.Every, 0)
	if s.Checkpoint.Dir == "" && (f.given("every") || f.given("resume")) {
		errs.Note(errors.New("--every and --resume are for --checkpoint"))
	}
	if s.Checkpoint.Dir != "" { // one factorization, in as many runs of this program as it takes
		if !f.given("repeat") {
			s.Repeat = 1
		}
		if !f.given("warmup") {
			f.warmup = 0
		}
		if s.Checkpoint.Resume && (s.Repeat > 1 || f.warmup > 0) {
			errs.Note(errors.New("--resume is for one run: --repeat 1 --warmup 0"))
		}
	}
	atLeast("units", s.Target.Units, 0)
	atLeast("warmup", f.warmup, 0)
	if s.Warmup = f.warmup; s.Warmup == 0 {
		s.Warmup = -1 // none, where the zero Spec means the default
	}
	var err error
	if f.resources != "" {
		s.Resources, err = setup.ReadResources(f.resources)
		errs.Note(err)
	}
	if s.Sched, err = dispatch.Parse(f.sched); err != nil {
		errs.Note(&cli.ListError{Flag: "sched", Element: f.sched, Allowed: cli.Words(dispatch.Kinds())})
	}
	s.ByPriority = f.given("sched") && s.Sched == dispatch.Priority
	if err = setup.RequestDevices(f.devices); err == nil {
		s.Devices = f.devices
	}
	errs.Note(err)
	s.Only, s.Fixed, err = setup.ParseVersions(f.versions)
	errs.Note(err)
	s.Exclude, err = versions.ParseNames(f.exclude)
	errs.Note(setup.Listed("exclude", err))
	if f.given("matrix") {
		s.Matrix, err = f.kind()
		errs.Note(err)
	}
	errs = append(errs, setup.ApplyChoices(&s, f.choices)...)
	errs = append(errs, f.record.check(f.json)...)
	errs.Note(f.cluster.check(s.Op, f.given))
	if f.record.record != "" && (f.cluster.asked() || f.resources != "" || f.devices != "none") {
		errs.Note(errors.New("--record is of workers on one machine that are alike: not with --cluster, --resources or --devices"))
	}
	if len(errs) == 0 || !wrongSizes {
		errs.Note(f.named(s.Validate())) // which would say of sizes the same again
	}
	return s, errors.Join(errs...)
}

// named returns what is wrong with a Spec, with flags for the names of its fields.
func (f *opFlags) named(err error) error {
	if bad, ok := errors.AsType[*bench.InvalidError](err); ok {
		for i, p := range bad.Problems {
			if flag, _, _ := strings.Cut(p, " "); f.given(flag) {
				bad.Problems[i] = cli.Dashed(flag) + strings.TrimPrefix(p, flag)
			}
		}
	}
	return err
}

// kind returns the kind of matrix that the command line names.
func (f *opFlags) kind() (matgen.Kind, error) {
	kind, err := matgen.ParseKind(f.matrix)
	if err != nil {
		return kind, &cli.ListError{Flag: "matrix", Element: f.matrix, Allowed: strings.Join(bench.KindsFor(f.op.Name), ", ")}
	}
	if f.spec.Input != "" {
		return kind, errors.New("--matrix and --input exclude each other: give one")
	}
	// In a Spec, Random stands for the default of the op.
	if w := f.choices["method"]; kind == matgen.Random && w != nil && *w == bench.ByCholesky.String() {
		return kind, errors.New("a random matrix is not symmetric, and --method cholesky needs one that is")
	}
	if why := f.op.NotRandom(); kind == matgen.Random && why != "" {
		return kind, fmt.Errorf("%s; for %s there are: %s", why, f.op.Name, strings.Join(bench.KindsFor(f.op.Name), ", "))
	}
	return kind, nil
}

// prepare parses the command line and opens the profile.
func prepare(a *cli.App, f *opFlags) (s bench.Spec, p *setup.Profile, err error) {
	if s, err = f.parse(); err != nil {
		return s, nil, cli.Usage(err)
	}
	s.NoPeak = a.NoPeak
	s.Warn = func(w file.Warning) { a.Warn(w.String()) }
	setup.WarnNoDevice(a, f.devices)
	if p, err = setup.OpenProfile(a, f.profile); err != nil {
		return s, nil, err
	}
	s.Profile = p.Profile
	a.WarnCrowded(s.Workers)
	return s, p, nil
}

// progress has s shown in a bar, where it can be seen.
func progress(a *cli.App, f *opFlags, s *bench.Spec, title string) *report.Progress {
	if f.cluster.job > 0 {
		s.Progress = teller(a.Out)
	}
	if f.json || !report.Terminal(a.Err) {
		return nil
	}
	bar := report.NewProgress(a.Err, title)
	s.Progress = bar.Update
	return bar
}

// runOp runs one operation and prints the outcome.
func runOp(ctx context.Context, a *cli.App, f *opFlags) error {
	if f.matrix == "help" {
		return kindsHelp(a, f.spec.Op)
	}
	check := func() error {
		_, err := f.parse()
		return cli.Usage(err)
	}
	return f.cluster.onRanks(ctx, a, f.local(), check, func() error { return measureOp(ctx, a, f) })
}

// local returns what a rank of MPI computes with.
func (f *opFlags) local() *setup.LocalFlags {
	l := &setup.LocalFlags{Workers: f.spec.Workers, Resources: f.resources, Devices: f.devices, Versions: f.versions, Profile: "none"}
	if f.given("profile") {
		l.Profile = f.profile
	}
	return l
}

// measureOp is runOp where this process drives.
func measureOp(ctx context.Context, a *cli.App, f *opFlags) error {
	s, profile, err := prepare(a, f)
	if err != nil {
		return err
	}
	recorded, err := f.record.begin(a, &s, f.cluster.watch())
	if err != nil {
		return err
	}
	defer recorded.end()
	f.cluster.trace = s.Trace
	d, leave, err := f.cluster.drive(ctx, a, s.Workers, s.Resources, s.Sched, s.ByPriority)
	if err != nil {
		return err
	}
	defer leave()
	if d != nil {
		s.Devices = "" // each node has its own
		s.Runtime, s.Distributed, s.Output = d, f.cluster.distributed, f.cluster.output
		s.Speeds = func() []float64 { return f.cluster.speeds(d) }
		s.Nodes, s.Idle = func() []bench.Node { return usageOf(d) }, f.cluster.idle
		s.NoPeak = s.NoPeak || f.cluster.local == 0 // of this machine
	}
	bar := progress(a, f, &s, s.Op)
	if bar != nil && d != nil {
		bar.Nodes = &report.Census{There: func() []string { return f.cluster.computing(d) }}
	}
	r, err := bench.Run(ctx, s)
	bar.End()
	if r.Cluster != nil {
		newNodesAccount(s, r).explain(r.Cluster)
	}
	if ctx.Err() == nil {
		profile.Keep(a)
	}
	if err != nil {
		return err
	}
	defer a.Asides().Hold()() // until all of the report is there
	if f.json {
		if f.cluster.job > 0 {
			err = reportForPeople(a, s.WithDefaults(), r)
		}
		err = errors.Join(err, a.Object(r))
	} else {
		err = printReport(a, s.WithDefaults(), r)
	}
	if err == nil {
		err = recorded.show(a, f.json)
	}
	if err == nil {
		err = recorded.keep(a, f.json, s.WithDefaults(), &r)
	}
	if err == nil {
		err = wrong(r)
	}
	return err
}

// wrong returns a *wrongError for a result that did not pass.
func wrong(r bench.Result) error {
	if r.Passed {
		return nil
	}
	return &wrongError{r.Failure, !r.Residual.Finite(), r.Growth*r.Limit > r.Residual}
}

// kindsHelp lists the kinds of matrices that op takes.
func kindsHelp(a *cli.App, op string) error {
	return report.FprintWrapped(a.Out, "kinds of matrices for "+op+": ", strings.Join(bench.KindsFor(op), ", "))
}
