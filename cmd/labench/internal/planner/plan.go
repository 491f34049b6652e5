package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim/machinefile"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/la"
)

// NewPlanCommand returns the command labench plan.
func NewPlanCommand(a *cli.App) *cobra.Command {
	f := &forecastFlags{}
	known := append(Predictable(), spectral()...)
	cmd := &cobra.Command{
		Use:   "plan OPERATION",
		Short: "Say how long a run takes on a machine that need not be there",
		Long: `Say how long a run takes on a machine that need not be there, and why.

The program and the scheduler are those of a run; time is virtual, and nothing
is computed. Of --machine are taken how long the tile operations take, how fast
the nodes are connected, and what tasks and messages cost beside; labench
machine writes such a file for the machine at hand. On several nodes the
matrices are distributed, as with --distributed: of gemm, cholesky, lu, qr and
eigen.

With --cluster nothing has to be measured: of nodes are taken how fast they
compute, how much memory they have, and how fast they get values. Nothing is
started, and only nodes with addresses are asked. The report says what each
node has to keep, to get and to send, and that a run cannot fit.

Every combination of what is listed is a line of a table; lists are as those of
labench scale. One combination gets a report. --best searches instead: for the
tile size, the policy and the grid with which one problem takes the least time,
among those that are listed, if they are.

eigen and svd are one task each, of which all workers take parts. Their time is
that of their stages, of which those that wait for memory need its bandwidth.
Where there are two ways, a star marks the faster one. With --nodes or --cluster
the matrix of eigen is distributed, and reduced in two stages.`,
		Example: `  labench machine here.toml
  labench plan cholesky -n 8192 --machine here.toml
  labench plan cholesky -n 65536 --machine nodes.toml --nodes 1:64:x2
  labench plan cholesky -n 65536 --machine nodes.toml --nodes 16 --best
  labench plan lu -n 100000 --cluster nodes.toml
  labench plan lu -n 16384 --cluster local:4 --gflops 40 --link 1GiB
  labench plan eigen -n 1000,4000 --values --machine here.toml --workers 2,16
  labench plan eigen -n 6000 --cluster local:2
  labench plan lu -n 4096,8192 --nb 128,256,auto --sched all --machine here.toml`,
		ValidArgs: known,
		Args: func(_ *cobra.Command, args []string) error {
			return cli.OneOf(args, known)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.op, f.given = args[0], cmd.Flags().Changed
			if f.op == "eigen" && (f.given("cluster") || f.given("nodes")) {
				return forecast(cmd.Context(), a, f)
			}
			if slices.Contains(spectral(), f.op) {
				return spectralPlan(cmd.Context(), a, f)
			}
			if f.values {
				return cli.Usage(fmt.Errorf("--values is nothing that %s has", f.op))
			}
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
	fl.BoolVar(&f.values, "values", false, "of eigen and svd: values only, no vectors")
	fl.BoolVar(&f.best, "best", false, "search for the fastest combination, and say what it beat")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per combination")
	fl.StringVar(&f.csv, "csv", "", "write a CSV file, too")
	fl.StringVar(&f.plot, "plot", "", "draw a chart of the rates into a file: .png or .svg")
	fl.StringVar(&f.record.Trace, "trace", "", "write the tasks of the one combination to a file: "+record.Endings("trace", ", "))
	f.cluster.register(fl)
	cli.Complete(cmd, "type", bench.Types())
	return cmd
}

// forecast prints the predicted times of runs.
func forecast(ctx context.Context, a *cli.App, f *forecastFlags) error {
	var errs cli.Problems
	switch several := f.given("cluster"); {
	case several && f.machine != "":
		errs.Note(errors.New("--machine and --cluster exclude each other: give one"))
	case several:
		errs = f.cluster.check(f.given)
	case f.machine == "":
		errs.Note(errors.New("--machine names no file; labench machine FILE writes one for this machine"))
	default:
		errs.Note(node.Alone(f.given, "gflops", "link"))
	}
	errs.Target("csv", f.csv)
	f.format = plotting.Picture(&errs, f.plot)
	base, err := f.problem()
	errs.Note(err)
	if base.Op == "eigen" && base.Reduction == la.OneStage {
		errs.Note(fmt.Errorf("--reduction is %v, and a distributed matrix is reduced in two stages", base.Reduction))
	}
	lost, err := f.failures()
	errs.Note(err)
	errs = append(errs, f.record.Check(f.json)...)
	if errs != nil {
		return cli.Usage(cli.JoinLine(errs))
	}
	m, err := f.open(ctx, a)
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
	failed := &sweep.Error{Total: len(all)}
	if f.best {
		err = searches(ctx, a, base, done)
	} else {
		err = forecastAll(ctx, a, base, done, failed)
	}
	if err == nil {
		err = done.write()
	}
	if err == nil {
		err = failed.Err()
	}
	return err
}
