package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/versions"
)

// OpFlags are the flags of an operation on this machine.
type OpFlags struct {
	Op                     bench.Operation
	Spec                   bench.Spec // the flags that are fields of a Spec
	Devices, Resources     string
	JSON                   bool
	Given                  func(flag string) bool
	sched, matrix, profile string
	b                      string
	versions, exclude      string
	warmup                 int
	choices                map[string]*string
}

// Command returns the command of an operation, with the flags defined on it.
func (f *OpFlags) Command(op bench.Operation, run func(context.Context) error) *cobra.Command {
	f.Op, f.Spec = op, bench.Spec{Problem: bench.Problem{Op: op.Name}}
	cmd := &cobra.Command{
		Use:   op.Name,
		Short: op.Short,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
	}
	f.Given = cmd.Flags().Changed
	f.register(cmd)
	return cmd
}

// register defines the flags on cmd.
func (f *OpFlags) register(cmd *cobra.Command) {
	s, op, fl := &f.Spec, f.Spec.Op, cmd.Flags()
	fl.SortFlags = false
	defaults := bench.Spec{Problem: bench.Problem{Op: op}}.WithDefaults()
	for _, size := range f.Op.Sizes {
		switch size {
		case "n":
			what := "order of the matrix"
			if len(f.Op.Sizes) > 1 {
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
	f.choices = RegisterChoices(cmd, f.Op)
	if f.Op.Takes("mixed") {
		fl.BoolVar(&s.Mixed, "mixed", false, "factor in f32 and refine in f64: --method cholesky, or else by LU")
	}
	if f.Op.Takes("values") {
		fl.BoolVar(&s.Values, "values", false, "values only, no vectors")
	}
	if f.Op.Takes("general") {
		fl.BoolVar(&s.General, "general", false, "a matrix that need not be symmetric, and right eigenvectors")
	}
	if f.Op.Takes("b") {
		fl.StringVar(&f.b, "b", "", "solve A·x = λ·B·x with a definite matrix of this kind, as in spd")
		cli.Complete(cmd, "b", bench.DefiniteKinds())
	}
	if f.Op.Takes("domain") {
		fl.IntVar(&s.Domain, "domain", 0, "tiles in a domain of --tree domains (default one domain per worker)")
	}
	if f.Op.Takes("ib") {
		fl.IntVar(&s.IB, "ib", 0, "columns of a block reflector (default chosen)")
	}
	if f.Op.Takes("checkpoint") {
		fl.StringVar(&s.Checkpoint.Dir, "checkpoint", "", "keep the state of the factorization in a directory, and go on from there if one is there")
		fl.IntVar(&s.Checkpoint.Every, "every", 0, "with --checkpoint: panels between two states (default an eighth of them)")
		fl.BoolVar(&s.Checkpoint.Resume, "resume", false, "with --checkpoint: fail if there is no state to go on from")
	}
	fl.IntVar(&s.NB, "nb", 0, "tile size (default chosen by op and size)")
	fl.StringVar(&s.Type, "type", "f64", "element type: "+strings.Join(bench.Types(), " or "))
	fl.IntVar(&s.Workers, "workers", 0, "number of workers (default one per core)")
	fl.StringVar(&f.sched, "sched", dispatch.Priority.String(), "scheduling policy: "+cli.Words(dispatch.Kinds())+"; with --distributed also owner, which is the default there: each task where its tile is")
	fl.StringVar(&f.versions, "versions", "", "versions that may run, as in openblas,go, and op=version to fix that of one op")
	fl.StringVar(&f.exclude, "exclude", "", "versions that may not run")
	fl.StringVar(&f.Devices, "devices", "none", "accelerators beside the workers: "+DeviceWords)
	fl.StringVar(&s.Target.Processor, "processor", "", "declare the processor, as in KNL, for versions that ask for one")
	fl.IntVar(&s.Target.Units, "units", 0, "declare how many cores a task may take, for versions that take several")
	fl.StringVar(&f.Resources, "resources", "", "TOML file that declares workers of several kinds, instead of --workers, --processor and --units")
	fl.StringVar(&s.Input, "input", "", "matrix file to read A from: .mtx or .npy, with or without .gz, or .npz, with the name of an array if there are several: a.npz:weights")
	fl.StringVar(&f.matrix, "matrix", "", fmt.Sprintf("kind of matrix to generate (default %s); --matrix help lists them", defaultKind(op)))
	fl.Uint64Var(&s.Seed, "seed", 1, "seed of generated matrices")
	fl.IntVar(&s.Repeat, "repeat", 3, "timed runs")
	fl.IntVar(&f.warmup, "warmup", 1, "runs before them")
	fl.BoolVar(&s.Verify, "verify", true, "check the result")
	fl.BoolVar(&f.JSON, "json", false, "print one JSON object instead of a report")
	fl.StringVar(&f.profile, "profile", "", "file of what is known of the versions' speed, or none (default tessera/profile.json in the user's cache)")
	cli.Complete(cmd, "type", bench.Types())
	cli.Complete(cmd, "sched", append(cli.NamesOf(dispatch.Kinds()...), Owner))
	cli.Complete(cmd, "matrix", bench.KindsFor(op))
}

// defaultKind returns the name of op's default kind of matrix.
func defaultKind(op string) string {
	return bench.Spec{Problem: bench.Problem{Op: op}}.WithDefaults().Matrix.String()
}

// Owner is the --sched of distributed matrices that is no policy: each task goes to the node that has its tile.
const Owner = "owner"

// ByOwner reports whether the tasks of distributed matrices go to the owners of tiles, as they do unless --sched says
// otherwise.
func (f *OpFlags) ByOwner() bool { return !f.Given("sched") || f.sched == Owner }

// Sched returns the word of --sched.
func (f *OpFlags) Sched() string { return f.sched }

// Parse completes the Spec from the command line. The error joins everything that is wrong with it, and the
// problems in others.
func (f *OpFlags) Parse(others cli.Problems) (bench.Spec, error) {
	s := f.Spec
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
		if f.Given(d.flag) {
			atLeast(d.flag, d.value, 1)
		}
	}
	wrongSizes := len(errs) > 0
	atLeast("repeat", s.Repeat, 1)
	s.Repeat = max(1, s.Repeat) // Validate would say the same again
	atLeast("every", s.Checkpoint.Every, 0)
	if s.Checkpoint.Dir == "" && (f.Given("every") || f.Given("resume")) {
		errs.Note(errors.New("--every and --resume are for --checkpoint"))
	}
	if s.Checkpoint.Dir != "" { // a single factorization, in as many runs of this program as necessary
		if !f.Given("repeat") {
			s.Repeat = 1
		}
		if !f.Given("warmup") {
			f.warmup = 0
		}
		if s.Checkpoint.Resume && (s.Repeat > 1 || f.warmup > 0) {
			errs.Note(errors.New("--resume is for one run: --repeat 1 --warmup 0"))
		}
	}
	atLeast("units", s.Target.Units, 0)
	atLeast("warmup", f.warmup, 0)
	if s.Warmup = f.warmup; s.Warmup == 0 {
		s.Warmup = -1 // none; 0 would mean the default
	}
	var err error
	if f.Resources != "" {
		s.Resources, err = ReadResources(f.Resources)
		errs.Note(err)
	}
	if f.sched != Owner { // for several nodes only: see node.ClusterFlags.Check
		if s.Sched, err = dispatch.Parse(f.sched); err != nil {
			errs.Note(&cli.ListError{Flag: "sched", Element: f.sched, Allowed: cli.Words(dispatch.Kinds())})
		}
	}
	s.ByPriority = f.Given("sched") && f.sched != Owner && s.Sched == dispatch.Priority
	if err = RequestDevices(f.Devices); err == nil {
		s.Devices = f.Devices
	}
	errs.Note(err)
	s.Only, s.Fixed, err = ParseVersions(f.versions)
	errs.Note(err)
	s.Exclude, err = versions.ParseNames(f.exclude)
	errs.Note(Listed("exclude", err))
	if f.Given("matrix") {
		s.Matrix, err = f.kind()
		errs.Note(err)
	}
	if f.b != "" {
		if s.B, err = matgen.ParseKind(f.b); err != nil || s.B == matgen.Random {
			errs.Note(&cli.ListError{Flag: "b", Element: f.b, Allowed: strings.Join(bench.DefiniteKinds(), ", ")})
		}
	}
	errs = append(errs, ApplyChoices(&s.Problem, f.choices)...)
	errs = append(errs, others...)
	if len(errs) == 0 || !wrongSizes {
		errs.Note(f.named(s.Validate())) // Validate would report the same sizes again
	}
	return s, errors.Join(errs...)
}

// named restates the errors of a Spec with the names of flags instead of fields.
func (f *OpFlags) named(err error) error {
	if bad, ok := errors.AsType[*bench.InvalidError](err); ok {
		for i, p := range bad.Problems {
			if flag, _, _ := strings.Cut(p, " "); f.Given(flag) {
				bad.Problems[i] = cli.Dashed(flag) + strings.TrimPrefix(p, flag)
			}
		}
	}
	return err
}

// kind returns the kind of matrix that the flags name.
func (f *OpFlags) kind() (matgen.Kind, error) {
	kind, err := matgen.ParseKind(f.matrix)
	if err != nil {
		return kind, &cli.ListError{Flag: "matrix", Element: f.matrix, Allowed: strings.Join(bench.KindsFor(f.Op.Name), ", ")}
	}
	if f.Spec.Input != "" {
		return kind, errors.New("--matrix and --input exclude each other: give one")
	}
	// In a Spec, Random means the default of the op.
	if w := f.choices["method"]; kind == matgen.Random && w != nil && *w == bench.ByCholesky.String() {
		return kind, errors.New("a random matrix is not symmetric, and --method cholesky needs one that is")
	}
	if why := f.Op.NotRandom(); kind == matgen.Random && why != "" && !f.Spec.General {
		return kind, fmt.Errorf("%s; for %s there are: %s", why, f.Op.Name, strings.Join(bench.KindsFor(f.Op.Name), ", "))
	}
	return kind, nil
}

// Open calls Parse and opens the profile.
func (f *OpFlags) Open(a *cli.App, others cli.Problems) (s bench.Spec, p *Profile, err error) {
	if s, err = f.Parse(others); err != nil {
		return s, nil, cli.Usage(err)
	}
	s.NoPeak = a.NoPeak
	s.Warn = func(w file.Warning) { a.Warn(w.String()) }
	WarnNoDevice(a, f.Devices)
	if p, err = OpenProfile(a, f.profile); err != nil {
		return s, nil, err
	}
	s.Profile = p.Profile
	a.WarnCrowded(s.Workers)
	return s, p, nil
}

// Progress makes s show its progress in a bar, on a terminal.
func (f *OpFlags) Progress(a *cli.App, s *bench.Spec, title string) *report.Progress {
	if f.JSON || !report.Terminal(a.Err) {
		return nil
	}
	bar := report.NewProgress(a.Err, title)
	s.Progress = bar.Update
	return bar
}

// Local returns the flags about workers.
func (f *OpFlags) Local() *LocalFlags {
	return &LocalFlags{Workers: f.Spec.Workers, Resources: f.Resources, Devices: f.Devices, Versions: f.versions, Profile: f.profile}
}

// Help lists the kinds of matrices of the operation, if the command line has --matrix help. asked reports
// whether it has.
func (f *OpFlags) Help(a *cli.App) (asked bool, err error) {
	if f.matrix != "help" {
		return false, nil
	}
	op := f.Op.Name
	return true, report.FprintWrapped(a.Out, "kinds of matrices for "+op+": ", strings.Join(bench.KindsFor(op), ", "))
}
