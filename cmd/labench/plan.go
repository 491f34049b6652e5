package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/report"
)

// forecastFlags is the command line of labench plan.
type forecastFlags struct {
	op, machine, typ                      string
	sizes, nb, sched, nodes, grid, worker string
	lose                                  []string
	choices                               map[string]*string
	record                                record.Flags
	csv, plot                             string
	format                                plotting.Format // of the plot, if there is one
	best, json                            bool
}

func newPlanCommand(a *cli.App) *cobra.Command {
	f := &forecastFlags{}
	known := bench.Predictable()
	cmd := &cobra.Command{
		Use:   "plan OPERATION",
		Short: "Say how long a run takes on a machine that need not be there",
		Long: `Say how long a run takes on a machine that need not be there, and why.

The program and the scheduler are those of a run; time is virtual, and nothing
is computed. Of --machine are taken how long the tile operations take, how fast
the nodes are connected, and what tasks and messages cost beside; labench
machine writes such a file for the machine at hand. On several nodes the
matrices are distributed, as with --distributed: of gemm, cholesky, lu and qr.

Every combination of what is listed is a line of a table; lists are as those of
labench scale. One combination gets a report. --best searches instead: for the
tile size, the policy and the grid with which one problem takes the least time,
among those that are listed, if they are.`,
		Example: `  labench machine here.toml
  labench plan cholesky -n 8192 --machine here.toml
  labench plan cholesky -n 65536 --machine nodes.toml --nodes 1:64:x2
  labench plan cholesky -n 65536 --machine nodes.toml --nodes 16 --best
  labench plan lu -n 4096,8192 --nb 128,256,auto --sched all --machine here.toml`,
		ValidArgs: known,
		Args: func(_ *cobra.Command, args []string) error {
			return cli.OneOf(args, known)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.op = args[0]
			return forecast(cmd.Context(), a, f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.machine, "machine", "", "file that describes the machine, or one of\n"+strings.Join(machinefile.Names(), ", "))
	fl.StringVarP(&f.sizes, "n", "n", strconv.Itoa(bench.DefaultN), "orders of the problem")
	fl.StringVar(&f.nb, "nb", "auto", "tile sizes; auto is la's choice")
	fl.StringVar(&f.sched, "sched", "", "scheduling policies: all, owner, "+cli.Words(dispatch.Kinds())+"\n(default priority, and owner between nodes)")
	fl.StringVar(&f.nodes, "nodes", "", "numbers of nodes that compute (default all of the file)")
	fl.StringVar(&f.grid, "grid", "auto", "rows of the grid of nodes, for each number of these")
	fl.StringVar(&f.worker, "workers", "", "tasks at a time on each node (default the file's)")
	fl.StringVar(&f.typ, "type", "f64", "element type: "+strings.Join(bench.Types(), " or "))
	fl.Var(cli.NewWordList(&f.lose), "lose", "nodes that are lost, as 3@0.5s, or 3@0.5s-2s if it comes back")
	f.choices = setup.RegisterChoices(cmd, bench.Operations()...)
	fl.BoolVar(&f.best, "best", false, "search for the fastest combination, and say what it beat")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per combination")
	fl.StringVar(&f.csv, "csv", "", "write a CSV file, too")
	fl.StringVar(&f.plot, "plot", "", "draw a chart of the rates into a file: .png or .svg")
	fl.StringVar(&f.record.Trace, "trace", "", "write the tasks of the one combination to a file: "+record.Endings("trace", ", "))
	cli.Complete(cmd, "type", bench.Types())
	return cmd
}

// wish is one combination of what labench plan varies. Zeros are the choice of la, or what the
// machine's file says.
type wish struct {
	n, nb, nodes, rows, workers int
	sched                       string
}

func (w wish) String() string {
	text := fmt.Sprintf("n=%d", w.n)
	for _, x := range []struct {
		name  string
		value int
	}{{"nb", w.nb}, {"nodes", w.nodes}, {"grid", w.rows}, {"workers", w.workers}} {
		if x.value > 0 {
			text += fmt.Sprintf(" %s=%d", x.name, x.value)
		}
	}
	if w.sched != "" {
		text += " " + w.sched
	}
	return text
}

// wishes reads the lists of the command line, for a machine.
func (f *forecastFlags) wishes(m *sim.Machine) (all []wish, err error) {
	var errs cli.Problems
	list := func(flag, text string, words map[string]int) []int {
		if text == "" {
			return []int{0}
		}
		x, err := cli.ParseInts(flag, text, words)
		errs.Note(err)
		return x
	}
	auto := map[string]int{"auto": 0}
	sizes, nb, nodes := list("n", f.sizes, nil), list("nb", f.nb, auto), list("nodes", f.nodes, nil)
	grid, workers := list("grid", f.grid, auto), list("workers", f.worker, nil)
	sched, err := f.policies(m.Count() > 1 || f.nodes != "")
	errs.Note(err)
	if errs != nil {
		return nil, cli.JoinLine(errs)
	}
	if points := len(sizes) * len(nb) * len(nodes) * len(grid) * len(workers) * len(sched); points > cli.MaxPoints {
		return nil, fmt.Errorf("%d combinations are too many; at most %d can be planned at once", points, cli.MaxPoints)
	}
	for _, n := range sizes {
		for _, s := range sched {
			for _, b := range nb {
				for _, w := range workers {
					for _, k := range nodes {
						for _, r := range grid {
							all = append(all, wish{n, b, k, r, w, s})
						}
					}
				}
			}
		}
	}
	return all, nil
}

// policies returns those that are asked for; "" is the default.
func (f *forecastFlags) policies(several bool) (sched []string, _ error) {
	if f.sched == "" {
		return []string{""}, nil
	}
	known := append([]string{"owner"}, cli.NamesOf(dispatch.Kinds()...)...)
	for s := range strings.SplitSeq(f.sched, ",") {
		s = strings.ToLower(strings.TrimSpace(s))
		named := []string{s}
		switch {
		case s == "all" && several:
			named = known
		case s == "all":
			named = known[1:]
		case !slices.Contains(known, s):
			return nil, &cli.ListError{Flag: "sched", Element: s, Allowed: "all, " + strings.Join(known, ", ")}
		}
		for _, s := range named {
			if !slices.Contains(sched, s) {
				sched = append(sched, s)
			}
		}
	}
	return sched, nil
}

// failures reads --lose.
func (f *forecastFlags) failures() (all []sim.Failure, err error) {
	var errs cli.Problems
	for _, text := range f.lose {
		node, when, _ := strings.Cut(text, "@")
		at, back, returns := strings.Cut(when, "-")
		x := sim.Failure{}
		n, err := strconv.Atoi(node)
		begin, err1 := time.ParseDuration(at)
		end := time.Duration(0)
		if returns {
			var err2 error
			end, err2 = time.ParseDuration(back)
			err1 = errors.Join(err1, err2)
		}
		if err != nil || err1 != nil {
			errs.Note(fmt.Errorf("--lose %s, want the number of a node and a time, as 3@0.5s or 3@0.5s-2s", text))
			continue
		}
		if n < 0 || begin < 0 || returns && end <= begin {
			errs.Note(fmt.Errorf("--lose %s, want a node from 0 that is lost at 0s or later, and comes back after that", text))
			continue
		}
		x.Node, x.At, x.Back = n, begin.Seconds(), end.Seconds()
		all = append(all, x)
	}
	return all, cli.JoinLine(errs)
}

// spec returns what is to be planned, but for what varies.
func (f *forecastFlags) spec() (bench.Spec, error) {
	s := bench.Spec{Op: f.op, Type: f.typ}
	return s, cli.JoinLine(setup.ApplyChoices(&s, f.choices))
}

// options returns the machine and the policies of a combination.
func (w wish) options(m *sim.Machine) (sim.Options, error) {
	x := *m
	x.Kinds, x.Nodes = slices.Clone(m.Kinds), slices.Clone(m.Nodes)
	if w.workers > 0 {
		for i := range x.Kinds {
			x.Kinds[i].Workers = w.workers
		}
	}
	if w.nodes > 0 {
		x.Take(w.nodes)
	}
	o := sim.Options{Machine: &x, Policy: x.Scheduling(dispatch.Priority), Nodes: cluster.Options{Owner: true}}
	if w.sched == "" || w.sched == "owner" {
		if w.sched != "" && x.Count() == 1 {
			return o, errors.New("--sched owner is for several nodes")
		}
		return o, nil
	}
	kind, err := dispatch.Parse(w.sched)
	if err != nil {
		return o, err
	}
	if x.Count() == 1 {
		o.Policy = kind
	} else {
		o.Nodes = cluster.Options{Policy: kind, ByPriority: kind == dispatch.Priority}
	}
	return o, nil
}

// predict says what a combination takes.
func (w wish) predict(ctx context.Context, base bench.Spec, m *sim.Machine, record bool) (bench.Prediction, error) {
	o, err := w.options(m)
	if err != nil {
		return bench.Prediction{}, err
	}
	o.Record = record
	base.N, base.NB = w.n, w.nb
	return bench.Predict(ctx, base, w.rows, o)
}

// forecast prints what runs would take.
func forecast(ctx context.Context, a *cli.App, f *forecastFlags) error {
	var errs cli.Problems
	if f.machine == "" {
		errs.Note(errors.New("--machine names no file; labench machine FILE writes one for this machine"))
	}
	errs.Target("csv", f.csv)
	f.format = plotting.Picture(&errs, f.plot)
	base, err := f.spec()
	errs.Note(err)
	lost, err := f.failures()
	errs.Note(err)
	errs = append(errs, f.record.Check(f.json)...)
	if errs != nil {
		return cli.Usage(cli.JoinLine(errs))
	}
	m, err := machinefile.Open(f.machine)
	if errors.Is(err, fs.ErrNotExist) {
		err = cli.Usage(&cli.UnknownError{What: "machine or file", Word: f.machine, Known: machinefile.Names()})
	}
	if err != nil {
		return err
	}
	m.Failures = append(m.Failures, lost...)
	all, err := f.wishes(m)
	if err == nil && (len(all) > 1 || f.best) && f.record.Trace != "" {
		err = errors.New("--trace is for one combination")
	}
	if err != nil {
		return cli.Usage(err)
	}
	done := &forecasts{f: f, machine: m, all: all}
	failed := &cli.SweepError{Total: len(all)}
	if f.best {
		err = searches(ctx, a, base, done)
	} else {
		err = forecastAll(ctx, a, base, done, failed)
	}
	if err == nil {
		err = done.write()
	}
	if err == nil && failed.Failed != nil {
		err = failed
	}
	return err
}

// forecasts are predictions, printed one by one.
type forecasts struct {
	f       *forecastFlags
	machine *sim.Machine
	all     []wish  // what is listed
	done    []trial // what is predicted: of --best, also what is not listed
	table   forecastTable
}

// add prints what one combination takes.
func (p *forecasts) add(a *cli.App, w wish, x bench.Prediction) (err error) {
	p.done = append(p.done, trial{w, x})
	switch {
	case p.f.json:
		return a.Object(x)
	case len(p.all) == 1 && !p.f.best:
		_, err = io.WriteString(a.Out, forecastText(report.NewPaint(a.Out), p.machine, &x))
		return err
	case len(p.done) == 1:
		p.table = newForecastTable(&x, p.all)
		fmt.Fprint(a.Out, report.NewPaint(a.Out).Faint(forecastHead))
	}
	_, err = io.WriteString(a.Out, p.table.row(&x))
	return err
}

// forecastAll predicts all that are listed. If there are several, some may fail.
func forecastAll(ctx context.Context, a *cli.App, base bench.Spec, p *forecasts, failed *cli.SweepError) error {
	line := report.NewStatus(a.Err)
	defer line.Clear()
	for i, w := range p.all {
		line.Set("%d/%d", i+1, len(p.all))
		// What is recorded takes some hundred bytes for each task: of many, only when it is asked for.
		const many = 100 // tiles in a row
		x, err := w.predict(ctx, base, p.machine, len(p.all) == 1 && (p.f.record.Trace != "" || w.nb == 0 || w.n/w.nb <= many))
		line.Clear()
		if err != nil && len(p.all) > 1 && ctx.Err() == nil {
			failed.Failed = append(failed.Failed, cli.FailedPoint{Point: w.String(), Why: err.Error()})
			continue
		}
		if err == nil {
			err = p.add(a, w, x)
		}
		if err != nil {
			return err
		}
	}
	if len(p.done) > 1 && !p.f.json {
		io.WriteString(a.Out, p.table.fastest(report.NewPaint(a.Out), p.done))
	}
	return nil
}

// write writes the files that were asked for.
func (p *forecasts) write() error {
	f := p.f
	if f.record.Trace != "" {
		if err := f.record.Write(p.done[0].x.Recording); err != nil {
			return err
		}
	}
	if f.plot != "" {
		if err := cli.WriteWhole([]string{f.plot}, func(to []io.Writer) error { return forecastChart(p.machine, p.done).Render(to[0], f.format) }); err != nil {
			return err
		}
	}
	var rows [][]any
	for i := range p.done {
		x := &p.done[i].x
		t := x.Sum()
		rows = append(rows, []any{x.Op, x.Type, x.N, x.NB, x.Count, x.Rows, x.Workers, x.Sched, x.Seconds, x.GFLOPS, t.Busy, t.Starving, t.Throttled, t.Driver, t.Idle, x.Moved, x.Memory})
	}
	return cli.WriteCSV(f.csv, []string{"op", "type", "n", "nb", "nodes", "grid_rows", "workers", "sched", "seconds", "gflops", "seconds_busy", "seconds_starving", "seconds_throttled", "seconds_driver", "seconds_idle", "bytes_moved", "bytes_node"}, rows)
}
